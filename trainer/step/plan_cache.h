// PlanCache: plans for a few batch sizes. The one that was not wanted for longest is dropped first, but never the one
// in use.
//
//   PlanCache<Plan> plans(context, 2);
//   Plan& plan = plans.get(rows, [&] { return make_plan(rows); });
//   plans.use(plan);
//
// A Plan has `int64_t rows` and `size_t bytes`. Used by one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "millrace/core/context.h"

namespace millrace {

template <class Plan>
class PlanCache {
 public:
  // REQUIRES: most >= 2.
  PlanCache(Context& context, size_t most) : context_(context), most_(most) {}

  // The plan for `rows` rows; if there is none, the one that `make` gives, a std::unique_ptr<Plan>.
  template <class Make>
  Plan& get(int64_t rows, const Make& make) {
    const auto found = std::find_if(plans_.begin(), plans_.end(), [&](const auto& plan) { return plan->rows == rows; });
    if (found != plans_.end()) {
      plans_.splice(plans_.begin(), plans_, found);
    } else {
      if (plans_.size() == most_) drop_one();
      plans_.push_front(make());
    }
    return *plans_.front();
  }
  // Keeps the plan until another one is used.
  void use(Plan& plan) { used_ = &plan; }
  bool contains(int64_t rows) const {
    return std::any_of(plans_.begin(), plans_.end(), [&](const auto& plan) { return plan->rows == rows; });
  }
  // Null before the first use().
  const Plan* used() const { return used_; }

  size_t bytes() const {
    size_t total = 0;
    for (const auto& plan : plans_) total += plan->bytes;
    return total;
  }

 private:
  void drop_one() {
    context_.synchronize();  // the device may be using the plan
    auto oldest = std::prev(plans_.end());
    if (oldest->get() == used_) --oldest;
    plans_.erase(oldest);
  }

  Context& context_;
  size_t most_;
  std::list<std::unique_ptr<Plan>> plans_;  // most recently wanted first
  Plan* used_ = nullptr;
};

}  // namespace millrace
