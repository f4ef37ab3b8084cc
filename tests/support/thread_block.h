// Runs bodies of core/lanes.h as a GPU's block of threads does: threads of the host that wait for each other.
#pragma once

#include <barrier>
#include <cstddef>
#include <thread>
#include <vector>

#include "millrace/core/lanes.h"

namespace millrace::test {

struct HostBlock {
  int number, threads;
  std::barrier<>* all;
  void* memory;

  int rank() const { return number; }
  int width() const { return threads; }
  void sync() const { all->arrive_and_wait(); }
  void* shared() const { return memory; }
};

// body(lanes) on each of `width` threads.
template <class Body>
void run_block(int width, const Body& body) {
  alignas(SumPair) std::byte memory[kLanesShared];
  std::barrier<> all(width);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < width; ++rank) {
    threads.emplace_back([&, rank] {
      const HostBlock block{rank, width, &all, memory};
      body(BlockLanes<HostBlock>(block));
    });
  }
}

// body(row, lanes) for every row, as launch_rows() does.
template <class Body>
void run_rows(int width, int64_t rows, const Body& body) {
  run_block(width, [&](const auto& lanes) {
    for (int64_t row = 0; row < rows; ++row) body(row, lanes);
  });
}

}  // namespace millrace::test
