// The kinds of delivery, each in its own file. A new one is declared here, and named in delivery_options.h,
// delivery.cpp and config/compare_options.cpp.
#pragma once

#include <memory>

#include "millrace/trainer/delivery/delivery.h"

namespace millrace {

std::unique_ptr<Delivery> make_native(InputGraph graph, DeliveryArgs args);
std::unique_ptr<Delivery> make_feed(InputGraph graph, DeliveryArgs args);
// Also `staging`.
std::unique_ptr<Delivery> make_queue(const DeliveryOptions& options, InputGraph graph, DeliveryArgs args);
std::unique_ptr<Delivery> make_constant(InputGraph graph, DeliveryArgs args);

}  // namespace millrace
