// Runs bodies that share a row (core/parallel.h) as a GPU's block of threads does: threads of the host that wait for
// each other.
#pragma once

#include <barrier>
#include <cstddef>
#include <thread>
#include <vector>

#include "millrace/core/parallel.h"

namespace millrace::test {

struct HostBlock {
  int number, threads;
  std::barrier<>* all;
  std::vector<SumPair>* places;

  int rank() const { return number; }
  int width() const { return threads; }
  template <class V, class Add>
  V join(const V& own, const Add& add) const {
    static_assert(sizeof(V) <= sizeof(SumPair));
    const auto place = [this](int of) -> V& { return reinterpret_cast<V&>((*places)[static_cast<size_t>(of)]); };
    place(number) = own;
    all->arrive_and_wait();
    V joined = place(0);
    for (int i = 1; i < threads; ++i) joined = add(joined, place(i));
    all->arrive_and_wait();
    return joined;
  }
};

// body(lanes) on each of `width` threads.
template <class Body>
void run_block(int width, const Body& body) {
  std::vector<SumPair> places(static_cast<size_t>(width));
  std::barrier<> all(width);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < width; ++rank) {
    threads.emplace_back([&, rank] {
      const HostBlock block{rank, width, &all, &places};
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
