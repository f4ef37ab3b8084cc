// Threads of a grid, one after the other. A thread that comes to a barrier waits on a stack of its own until all of its
// block are there; who meets none needs no stack of its own, so most kernels run on a single one.
#include <ucontext.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <vector>

#include "tests/emulated_gpu/emulated_gpu.h"
#include "tests/emulated_gpu/sanitizers.h"

namespace millrace::emulation {

Place place;

namespace {

constexpr size_t kStackBytes = 256 * 1024;

class Grid {
 public:
  Grid(dim3 blocks, dim3 threads, const std::function<void()>& body)
      : blocks_(blocks), threads_(threads), body_(body), block_count_(blocks.x) {}

  void run();
  void synchronize_threads();

 private:
  struct Fiber {
    ucontext_t context{};
    std::unique_ptr<std::byte[]> stack{new std::byte[kStackBytes]};
    FiberMark mark;
    unsigned thread = 0;
    bool waits = false;
  };

  static void enter();
  void run_threads();
  bool take_thread(Fiber& fiber);
  void leave(Fiber& fiber, bool ended);
  void resume(Fiber& fiber);
  Fiber& fresh_fiber();
  void pass_barrier();

  const dim3 blocks_, threads_;
  const std::function<void()>& body_;
  const uint64_t block_count_;
  uint64_t block_ = 0;
  unsigned next_thread_ = 0;  // of the block
  unsigned unfinished_ = 0;   // threads of the block that have begun

  std::vector<std::unique_ptr<Fiber>> waiting_;
  static std::vector<std::unique_ptr<Fiber>> free_;  // kept from grid to grid
  Fiber* running_ = nullptr;
  ucontext_t scheduler_{};
  FiberMark scheduler_mark_;
};

std::vector<std::unique_ptr<Grid::Fiber>> Grid::free_;

Grid* current = nullptr;

void Grid::run() {
  place.threads = {threads_.x, threads_.y, threads_.z};
  place.blocks = {blocks_.x, blocks_.y, blocks_.z};
  while (block_ < block_count_) {
    if (!waiting_.empty() && next_thread_ == threads_.x) {
      pass_barrier();
    } else {
      resume(fresh_fiber());
    }
  }
}

void Grid::pass_barrier() {
  if (waiting_.size() != threads_.x) violation("__syncthreads() that not all threads of a block come to");
  std::vector<std::unique_ptr<Fiber>> passing;
  passing.swap(waiting_);
  // From the last thread on, the other way round than before the barrier.
  while (!passing.empty()) {
    std::unique_ptr<Fiber> fiber = std::move(passing.back());
    passing.pop_back();
    Fiber& at = *fiber;
    free_.push_back(std::move(fiber));
    resume(at);
  }
  // They have lined up in the opposite order.
  for (size_t i = 0; i < waiting_.size() / 2; ++i) std::swap(waiting_[i], waiting_[waiting_.size() - 1 - i]);
}

Grid::Fiber& Grid::fresh_fiber() {
  if (free_.empty()) free_.push_back(std::make_unique<Fiber>());
  Fiber& fiber = *free_.back();
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size = kStackBytes;
  fiber.context.uc_link = nullptr;
  fiber.waits = false;
  fiber.mark.create();
  makecontext(&fiber.context, &Grid::enter, 0);
  return fiber;
}

// Runs a fiber of free_ until it waits, when it moves to waiting_, or has nothing left to do.
void Grid::resume(Fiber& fiber) {
  running_ = &fiber;
  fiber.waits = false;
  place.thread.x = fiber.thread;
  scheduler_mark_.leave_for(fiber.mark, fiber.stack.get(), kStackBytes);
  swapcontext(&scheduler_, &fiber.context);
  scheduler_mark_.arrived();
  running_ = nullptr;
  if (!fiber.waits) {
    fiber.mark.destroy();
    return;
  }
  for (auto& owned : free_) {
    if (owned.get() != &fiber) continue;
    waiting_.push_back(std::move(owned));
    std::swap(owned, free_.back());
    free_.pop_back();
    return;
  }
}

void Grid::enter() {
  current->running_->mark.arrived();
  current->run_threads();
  std::abort();  // leave() does not come back
}

void Grid::run_threads() {
  Fiber& fiber = *running_;
  while (take_thread(fiber)) {
    body_();
    --unfinished_;
    if (unfinished_ > 0 || next_thread_ < threads_.x) continue;
    ++block_;
    next_thread_ = 0;
  }
  leave(fiber, true);
}

// The next thread that has not begun, of the block.
bool Grid::take_thread(Fiber& fiber) {
  if (next_thread_ == threads_.x || block_ == block_count_) return false;
  fiber.thread = next_thread_++;
  ++unfinished_;
  place.thread.x = fiber.thread;
  place.block.x = static_cast<unsigned>(block_);
  return true;
}

void Grid::leave(Fiber& fiber, bool ended) {
  fiber.mark.leave_for(scheduler_mark_, nullptr, 0, ended);
  swapcontext(&fiber.context, &scheduler_);
  fiber.mark.arrived();
}

void Grid::synchronize_threads() {
  Fiber& fiber = *running_;
  fiber.waits = true;
  leave(fiber, false);
}

}  // namespace

void synchronize_threads() { current->synchronize_threads(); }

void run_grid(dim3 blocks, dim3 threads, const std::function<void()>& body) {
  if (blocks.y != 1 || blocks.z != 1 || threads.y != 1 || threads.z != 1) violation("grids of one dimension only");
  Grid grid(blocks, threads, body);
  current = &grid;
  grid.run();
  current = nullptr;
}

}  // namespace millrace::emulation
