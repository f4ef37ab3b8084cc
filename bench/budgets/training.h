// A training at batch 256 on text.
#pragma once

#include <string>
#include <string_view>

namespace millrace::bench {

// What makes the 1024 -> 1024 -> 1 network.
inline constexpr std::string_view kWideLayer = "  - dense: {units: 1024, activation: relu}\n";

// Seconds of a step on the clock on the wall, the first few left out, with these layers before the last.
double step_seconds(const std::string& file, int threads, std::string_view layers = kWideLayer);

}  // namespace millrace::bench
