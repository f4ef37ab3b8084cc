// A training at batch 256 on text.
#pragma once

#include <string>
#include <string_view>

namespace millrace::bench {

// The layers before the last one that make the 1024 -> 1024 -> 1 network.
inline constexpr std::string_view kWideLayer = "  - dense: {units: 1024, activation: relu}\n";

// Seconds of wall time for a step, without the first few steps, with `layers` before the last layer.
double step_seconds(const std::string& file, int threads, std::string_view layers = kWideLayer);

}  // namespace millrace::bench
