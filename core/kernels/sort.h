// Keys in ascending order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/core/context.h"

namespace millrace {

// Bytes of scratch for sort_keys() of `count` keys.
size_t sort_scratch(Device device, int64_t count);

// `to` receives the keys of `from` in ascending order. On a GPU it only enqueues. REQUIRES: both have `count` keys on
// the device, apart from each other; scratch has sort_scratch() bytes there.
void sort_keys(Context& context, const uint64_t* from, uint64_t* to, int64_t count, void* scratch);

}  // namespace millrace
