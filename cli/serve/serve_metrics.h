// ServeMetrics: what a server has counted and timed, as Prometheus reads it. Any thread may use it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/core/threads/mutex.h"

namespace millrace::cli {

// What is true now.
struct ServeGauges {
  int64_t connections = 0;
  size_t held_bytes = 0;
};

class ServeMetrics {
 public:
  // An answered request. `path` is one of few, whatever clients ask for.
  void add_request(std::string_view path, unsigned status, double seconds);
  void add_rows(size_t rows);
  // Rows of so many requests that went through the model together.
  void add_batch(size_t rows, size_t requests);
  void add_load(bool good);

  std::string text(const ServeGauges& now) const;

 private:
  // How many values were at most as large as each of its bounds.
  template <size_t N>
  struct Histogram {
    std::array<uint64_t, N + 1> counts{};
    double sum = 0;
    void add(std::span<const double, N> bounds, double value);
    void write(std::string& out, std::string_view name, std::span<const double, N> bounds) const;
  };
  static constexpr std::array<double, 13> kSeconds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                                      0.025,  0.05,    0.1,    0.25,  0.5,    1};
  static constexpr std::array<double, 9> kSizes = {1, 2, 4, 8, 16, 32, 64, 128, 256};

  mutable Mutex mutex_;
  std::map<std::pair<std::string, unsigned>, uint64_t> requests_ MILLRACE_GUARDED_BY(mutex_);
  uint64_t rows_ MILLRACE_GUARDED_BY(mutex_) = 0;
  uint64_t good_loads_ MILLRACE_GUARDED_BY(mutex_) = 0, failed_loads_ MILLRACE_GUARDED_BY(mutex_) = 0;
  Histogram<kSeconds.size()> seconds_ MILLRACE_GUARDED_BY(mutex_);
  Histogram<kSizes.size()> batch_rows_ MILLRACE_GUARDED_BY(mutex_), batch_requests_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::cli
