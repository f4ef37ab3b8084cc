// Rows of random normal numbers as text: 1,024 of them, and a label that is 0 or 1.
#pragma once

#include <cstdint>
#include <string>

namespace millrace::bench {

inline constexpr int kFeatures = 1024;

// As the shortest text that reads back: of floats 10.9 bytes on average, of doubles 19.6.
enum class Digits { f32, f64 };
std::string random_rows(int rows, Digits digits, uint64_t seed = 1);

}  // namespace millrace::bench
