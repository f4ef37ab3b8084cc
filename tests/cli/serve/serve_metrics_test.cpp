#include "millrace/cli/serve/serve_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

using ::testing::HasSubstr;

TEST(ServeMetrics, AreTextForPrometheus) {
  ServeMetrics metrics;
  metrics.add_request("/predict", 200, 0.0002);
  metrics.add_request("/predict", 200, 2);
  metrics.add_request("/metrics", 200, 2);
  metrics.add_rows(7);
  metrics.add_batch(5, 2);
  metrics.add_load(true);
  metrics.add_load(false);
  const std::string text = metrics.text({.connections = 3, .held_bytes = 10});
  EXPECT_THAT(text, HasSubstr("# TYPE millrace_requests_total counter\n"));
  EXPECT_THAT(text, HasSubstr("millrace_requests_total{path=\"/predict\",code=\"200\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("millrace_rows_total 7\n"));
  EXPECT_THAT(text, HasSubstr("millrace_request_seconds_bucket{le=\"1e-04\"} 0\n"
                              "millrace_request_seconds_bucket{le=\"0.00025\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("millrace_request_seconds_bucket{le=\"1\"} 1\n"
                              "millrace_request_seconds_bucket{le=\"+Inf\"} 2\n"
                              "millrace_request_seconds_sum 2.0002\nmillrace_request_seconds_count 2\n"));
  EXPECT_THAT(text, HasSubstr("millrace_batch_rows_bucket{le=\"4\"} 0\nmillrace_batch_rows_bucket{le=\"8\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("millrace_batch_requests_bucket{le=\"1\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("millrace_model_loads_total{result=\"ok\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("millrace_model_loads_total{result=\"failed\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("millrace_connections 3\n"));
  EXPECT_THAT(text, HasSubstr("millrace_held_bytes 10\n"));
}

}  // namespace
}  // namespace millrace::cli
