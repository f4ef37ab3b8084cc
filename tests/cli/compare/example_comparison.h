// A comparison with round numbers, for tests of how it is shown.
#pragma once

#include <string>

#include "millrace/cli/compare/comparison.h"

namespace millrace::cli {

inline Comparison example_comparison() {
  const auto delivery = [](DeliveryKind kind, double ms, double make, double wait, double copy, double bound) {
    ComparedDelivery out;
    out.name = OptionType<DeliveryKind>::write(kind).as_string();
    out.kind = kind;
    out.batch_size = 256;
    out.step_seconds = {.median = ms / 1e3, .min = ms * 0.9 / 1e3, .max = ms * 1.2 / 1e3};
    out.rows_per_second = 256e3 / ms;
    out.make_seconds = make / 1e3;
    out.wait_seconds = wait / 1e3;
    out.copy_seconds = copy / 1e3;
    out.input_wait = (make + wait + copy) / ms;
    out.bound_seconds = bound / 1e3;
    out.weights = std::string(kind == DeliveryKind::constant ? "c0ffee" : "94e520") + std::string(58, '0');
    out.same_training = kind != DeliveryKind::constant;
    return out;
  };
  Comparison out;
  out.device = "cpu";
  out.processor = "Example <1>";
  out.version = "0.1.0";
  out.threads = out.processors = 2;
  out.batch_size = out.input_rows = 256;
  out.steps = 100;
  out.warm_up = 10;
  out.rounds = 5;
  out.noise = 0.02;
  out.noise_of = "native";
  out.input_seconds = 4e-3;
  out.deliveries = {delivery(DeliveryKind::feed, 10, 4, 0, 0.5, 9.5),
                    delivery(DeliveryKind::queue, 8.1, 0, 0.1, 0.2, 7),
                    delivery(DeliveryKind::native, 8, 0.2, 0.3, 0, 7), delivery(DeliveryKind::constant, 5, 0, 0, 0, 5)};
  out.deliveries[1].mean_queued = 3.5;
  out.deliveries[1].capacity = 5;
  out.deliveries[1].queued = {2, 5, 4, 3};
  return out;
}

}  // namespace millrace::cli
