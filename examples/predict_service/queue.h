// Queue: hands items from thread to thread. A thread that puts an item in waits for room.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

template <class T>
class Queue {
 public:
  explicit Queue(size_t capacity) : capacity_(capacity) {}

  void push(T item) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return items_.size() < capacity_; });
    items_.push_back(std::move(item));
    filled_.notify_one();
  }
  // Takes the items that are there, at most so many; waits for the first one. None: the queue is closed and empty.
  std::vector<T> take(size_t most) {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [&] { return !items_.empty() || closed_; });
    const auto end = items_.begin() + static_cast<std::ptrdiff_t>(std::min(most, items_.size()));
    std::vector<T> taken(std::make_move_iterator(items_.begin()), std::make_move_iterator(end));
    items_.erase(items_.begin(), end);
    room_.notify_all();
    return taken;
  }
  // Says that no more items will come.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    filled_.notify_all();
  }

 private:
  const size_t capacity_;
  std::mutex mutex_;
  std::condition_variable room_, filled_;
  std::deque<T> items_;  // guarded by mutex_, as is closed_
  bool closed_ = false;
};
