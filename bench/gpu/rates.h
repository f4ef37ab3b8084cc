// Measures the best rates of a GPU, from which the least time of a step follows. Also a stopwatch on the device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/tensor.h"
#include "millrace/core/threads/executor.h"

namespace millrace::bench {

// Microseconds that the context takes for the work that `work` gives it: between two CUDA events, or on the CPU by the
// wall clock.
double microseconds(Context& context, FunctionRef<void()> work);

struct Rate {
  std::string name;
  double value = 0;  // the best of several tries
  std::string unit;
  std::string failed = {};  // why there is no value
};

// Adds the value of `run`, or why there is none.
void measure(std::vector<Rate>& rates, std::string name, std::string unit, FunctionRef<double()> run);

// The best of several tries, in microseconds.
double fastest(Context& context, FunctionRef<void()> work);

// Numbers from -1 to 1 in the device's memory: products of zeros take less power, so a GPU is faster at them.
Memory drawn_floats(Context& context, int64_t count);

struct RateSizes {
  size_t copied_bytes = size_t{1} << 30;
  int64_t product = 8192;  // rows and columns of a square product
  int nodes = 1000;        // in a graph of small kernels
};

// REQUIRES: a CUDA device.
std::vector<Rate> measure_rates(Context& context, const RateSizes& sizes);

}  // namespace millrace::bench
