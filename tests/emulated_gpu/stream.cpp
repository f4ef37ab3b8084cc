#include "tests/emulated_gpu/stream.h"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string_view>
#include <utility>

#include "tests/emulated_gpu/memory.h"

namespace millrace::emulation {

namespace {

enum class Order : uint8_t { late, early, drawn };

struct Schedule {
  Order order = Order::late;
  std::minstd_rand draws;

  Schedule() {
    const char* const text = std::getenv("MILLRACE_EMULATED_ORDER");
    const std::string_view wanted = text != nullptr ? text : "late";
    if (wanted == "late") return;
    order = wanted == "early" ? Order::early : Order::drawn;
    if (order == Order::drawn) draws.seed(static_cast<unsigned>(std::atoi(text)) + 1);
  }
};

Schedule& schedule() {
  static Schedule value;
  return value;
}

// All that have ever been given work and may have some; those that are gone drop out.
std::vector<std::shared_ptr<EmulatedStream>>& streams_with_work() {
  static std::vector<std::shared_ptr<EmulatedStream>> streams;
  return streams;
}

}  // namespace

std::recursive_mutex& device_lock() {
  static std::recursive_mutex lock;
  return lock;
}

const EmulatedGraph::Child& EmulatedGraph::add(const EmulatedGraph& other, const std::vector<const Child*>& behind) {
  std::vector<size_t> before;
  for (const Child* child : behind) before.insert(before.end(), child->ends.begin(), child->ends.end());
  const size_t first = nodes.size();
  std::vector<bool> ends(other.nodes.size(), true);
  for (const Node& node : other.nodes) {
    std::vector<size_t> moved = node.behind.empty() ? before : std::vector<size_t>();
    for (const size_t one : node.behind) {
      moved.push_back(first + one);
      ends[one] = false;
    }
    nodes.push_back({node.work, std::move(moved)});
  }
  auto child = std::make_unique<Child>();
  for (size_t i = 0; i < ends.size(); ++i) {
    if (ends[i]) child->ends.push_back(first + i);
  }
  if (other.nodes.empty()) child->ends = std::move(before);
  return *children.emplace_back(std::move(child));
}

void EmulatedGraph::run() const {
  std::vector<bool> ran(nodes.size());
  for (size_t done = 0; done < nodes.size(); ++done) {
    // Of those that may run, the one that was captured last.
    size_t next = nodes.size();
    while (next-- > 0) {
      const auto& behind = nodes[next].behind;
      if (!ran[next] && std::all_of(behind.begin(), behind.end(), [&](size_t before) { return ran[before]; })) break;
    }
    ran[next] = true;
    nodes[next].work();
  }
}

void EmulatedStream::push(Piece piece) {
  if (work_.empty()) streams_with_work().push_back(shared_from_this());
  work_.push_back(std::move(piece));
  let_time_pass();
}

void EmulatedStream::give(Work work) {
  if (!capture_) {
    push({.work = std::move(work)});
    return;
  }
  capture_->graph.nodes.push_back({std::move(work), behind_});
  behind_ = {capture_->graph.nodes.size() - 1};
}

void EmulatedStream::record(const std::shared_ptr<Mark>& mark) {
  mark->stream = weak_from_this();
  push({.reaches = mark});
}

void EmulatedStream::wait(const std::shared_ptr<Mark>& mark) { push({.waits = mark}); }

void EmulatedStream::step() {
  const MemoryOpen open;
  Piece piece = std::move(work_.front());
  work_.pop_front();
  if (piece.waits) {
    if (const auto other = piece.waits->stream.lock()) other->finish(*piece.waits);
  }
  if (piece.work) piece.work();
  if (piece.reaches) piece.reaches->reached = true;
  auto& streams = streams_with_work();
  if (work_.empty()) streams.erase(std::remove(streams.begin(), streams.end(), shared_from_this()), streams.end());
}

void EmulatedStream::finish() {
  const auto self = shared_from_this();
  const MemoryOpen open;
  while (!work_.empty()) step();
}

void EmulatedStream::finish(const Mark& mark) {
  const auto self = shared_from_this();
  const MemoryOpen open;
  while (!mark.reached && !work_.empty()) step();
}

void EmulatedStream::join(const std::shared_ptr<Capture>& capture, const std::vector<size_t>& behind) {
  if (!capture_) {
    capture_ = capture;
    capture->streams.push_back(weak_from_this());
  }
  for (const size_t node : behind) {
    if (std::find(behind_.begin(), behind_.end(), node) == behind_.end()) behind_.push_back(node);
  }
}

void EmulatedStream::leave_capture() {
  capture_.reset();
  behind_.clear();
}

bool Capture::joined(const std::vector<size_t>& last) const {
  std::vector<bool> leads(graph.nodes.size());
  for (const size_t node : last) leads[node] = true;
  for (size_t node = graph.nodes.size(); node-- > 0;) {
    if (!leads[node]) return false;
    for (const size_t before : graph.nodes[node].behind) leads[before] = true;
  }
  return true;
}

std::vector<std::shared_ptr<EmulatedStream>> busy_streams() { return streams_with_work(); }

void let_time_pass() {
  static int depth = 0;
  if (schedule().order == Order::late || depth > 0) return;
  ++depth;
  const auto streams = busy_streams();
  if (schedule().order == Order::early) {
    for (const auto& stream : streams) stream->finish();
  } else {
    auto& draws = schedule().draws;
    for (size_t steps = draws() % 4; steps > 0 && !streams.empty(); --steps) {
      const auto& stream = streams[draws() % streams.size()];
      if (!stream->idle()) stream->step();
    }
  }
  --depth;
}

}  // namespace millrace::emulation
