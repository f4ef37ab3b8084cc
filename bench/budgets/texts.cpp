#include "bench/budgets/texts.h"

#include <charconv>
#include <random>

namespace millrace::bench {

namespace {

template <class T>
void append(std::string& out, T number) {
  char buffer[64];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
}

}  // namespace

std::string random_rows(int rows, Digits digits, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::string out;
  for (int row = 0; row < rows; ++row) {
    double sum = 0;
    for (int feature = 0; feature < kFeatures; ++feature) {
      const double number = normal(random);
      sum += number;
      if (digits == Digits::f32) {
        append(out, static_cast<float>(number));
      } else {
        append(out, number);
      }
      out += ',';
    }
    out += sum > 0 ? "1\n" : "0\n";
  }
  return out;
}

}  // namespace millrace::bench
