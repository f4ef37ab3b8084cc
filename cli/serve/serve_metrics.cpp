#include "millrace/cli/serve/serve_metrics.h"

#include <algorithm>

#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

void begin_metric(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  out += cat("# HELP millrace_", name, ' ', help, "\n# TYPE millrace_", name, ' ', type, '\n');
}

template <class T>
void write_metric(std::string& out, std::string_view name, T value) {
  out += cat("millrace_", name, ' ', value, '\n');
}

}  // namespace

template <size_t N>
void ServeMetrics::Histogram<N>::add(std::span<const double, N> bounds, double value) {
  ++counts[static_cast<size_t>(std::ranges::lower_bound(bounds, value) - bounds.begin())];
  sum += value;
}

template <size_t N>
void ServeMetrics::Histogram<N>::write(std::string& out, std::string_view name,
                                       std::span<const double, N> bounds) const {
  uint64_t total = 0;
  for (size_t i = 0; i <= N; ++i) {
    total += counts[i];
    const std::string bound = i < N ? cat(bounds[i]) : "+Inf";
    write_metric(out, cat(name, "_bucket{le=\"", bound, "\"}"), total);
  }
  write_metric(out, cat(name, "_sum"), sum);
  write_metric(out, cat(name, "_count"), total);
}

void ServeMetrics::add_request(std::string_view path, unsigned status, double seconds) {
  const MutexLock lock(mutex_);
  ++requests_[{std::string(path), status}];
  if (path == "/predict") seconds_.add(kSeconds, seconds);
}

void ServeMetrics::add_rows(size_t rows) {
  const MutexLock lock(mutex_);
  rows_ += rows;
}

void ServeMetrics::add_batch(size_t rows, size_t requests) {
  const MutexLock lock(mutex_);
  batch_rows_.add(kSizes, static_cast<double>(rows));
  batch_requests_.add(kSizes, static_cast<double>(requests));
}

void ServeMetrics::add_load(bool good) {
  const MutexLock lock(mutex_);
  ++(good ? good_loads_ : failed_loads_);
}

std::string ServeMetrics::text(const ServeGauges& now) const {
  const MutexLock lock(mutex_);
  std::string out;
  begin_metric(out, "requests_total", "counter", "Requests that were answered.");
  for (const auto& [key, count] : requests_) {
    write_metric(out, cat("requests_total{path=\"", key.first, "\",code=\"", key.second, "\"}"), count);
  }
  begin_metric(out, "rows_total", "counter", "Rows that were answered.");
  write_metric(out, "rows_total", rows_);
  begin_metric(out, "request_seconds", "histogram", "Time from the head of a request to /predict to its answer.");
  seconds_.write(out, "request_seconds", kSeconds);
  begin_metric(out, "batch_rows", "histogram", "Rows that went through the model together.");
  batch_rows_.write(out, "batch_rows", kSizes);
  begin_metric(out, "batch_requests", "histogram", "Requests whose rows went through the model together.");
  batch_requests_.write(out, "batch_requests", kSizes);
  begin_metric(out, "model_loads_total", "counter", "How often the model file was read.");
  write_metric(out, "model_loads_total{result=\"ok\"}", good_loads_);
  write_metric(out, "model_loads_total{result=\"failed\"}", failed_loads_);
  begin_metric(out, "connections", "gauge", "Open connections.");
  write_metric(out, "connections", now.connections);
  begin_metric(out, "held_bytes", "gauge", "Bytes of requests and answers in memory.");
  write_metric(out, "held_bytes", now.held_bytes);
  return out;
}

}  // namespace millrace::cli
