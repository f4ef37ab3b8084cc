// ByteBudget: how many bytes all requests of a server may hold together, whoever sends them. BudgetShare: what one of
// them holds; it gives it back at its end.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace millrace::cli {

// Any thread may use it.
class ByteBudget {
 public:
  explicit ByteBudget(size_t most) : most_(most) {}

  bool take(size_t bytes) {
    if (held_.fetch_add(bytes) + bytes <= most_) return true;
    give(bytes);
    return false;
  }
  void give(size_t bytes) { held_.fetch_sub(bytes); }
  size_t held() const { return held_.load(); }

 private:
  const size_t most_;
  std::atomic<size_t> held_{0};
};

// One thread at a time. The budget outlives it.
class BudgetShare {
 public:
  BudgetShare() = default;
  explicit BudgetShare(ByteBudget* budget) : budget_(budget) {}
  BudgetShare(BudgetShare&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  BudgetShare& operator=(BudgetShare&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~BudgetShare() {
    if (budget_ != nullptr) budget_->give(bytes_);
  }

  // Whether the budget has room for `bytes` more, which are held then.
  [[nodiscard]] bool add(size_t bytes) {
    if (!budget_->take(bytes)) return false;
    bytes_ += bytes;
    return true;
  }
  // REQUIRES: as many bytes are held.
  void give(size_t bytes) {
    budget_->give(bytes);
    bytes_ -= bytes;
  }

 private:
  ByteBudget* budget_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace millrace::cli
