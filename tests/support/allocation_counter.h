// Counts allocations and the bytes that are held, and makes allocations fail: linking allocation_counter.cpp replaces
// malloc and its family, and with them operator new.
#pragma once

#include <cstdint>

namespace millrace::testing {

struct AllocationCounts {
  int64_t own = 0;      // outside LibraryCall marks
  int64_t library = 0;  // inside
};

// Counting is off until the first call. All threads are counted.
void start_counting();
AllocationCounts stop_counting();

// Bytes allocated now, and the most that were since begin_peak().
int64_t held_bytes();
int64_t peak_bytes();
void begin_peak();

// Makes one of the calling thread's next allocations fail, counted from 0.
void fail_allocation(int64_t number);
// Whether the allocation failed. Afterwards none fails any more.
bool allocation_failed();

// The same for the next allocations of all threads together, outside LibraryCall marks: libraries are not tested
// without memory.
void fail_any_allocation(int64_t number);
bool any_allocation_failed();

}  // namespace millrace::testing
