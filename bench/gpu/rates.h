// What a GPU can do at best, measured: the floors that a step's time is compared with. And a stopwatch on the device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/tensor.h"
#include "millrace/core/threads/executor.h"

namespace millrace::bench {

// Microseconds that the context takes for what `work` gives it: between two CUDA events, else on the wall's clock.
double microseconds(Context& context, FunctionRef<void()> work);

struct Rate {
  std::string name;
  double value = 0;  // the best of several tries
  std::string unit;
  std::string failed = {};  // why there is no value
};

// Adds what `run` gives, or why it gives nothing.
void measure(std::vector<Rate>& rates, std::string name, std::string unit, FunctionRef<double()> run);

// The best of several tries, in microseconds.
double fastest(Context& context, FunctionRef<void()> work);

// Numbers from -1 to 1 in the device's memory: products of zeros take less power, so a GPU is faster at them.
Memory drawn_floats(Context& context, int64_t count);

struct RateSizes {
  size_t copied_bytes = size_t{1} << 30;
  int64_t product = 8192;  // rows and columns of a square one
  int nodes = 1000;        // of a graph of small kernels
};

// REQUIRES: a CUDA device.
std::vector<Rate> measure_rates(Context& context, const RateSizes& sizes);

}  // namespace millrace::bench
