// Streams, events and graphs of the emulated devices.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/emulated_gpu/emulated_gpu.h"

namespace millrace::emulation {

class EmulatedStream;
using Work = std::function<void()>;

// Held by every function of the runtime, and while work runs.
std::recursive_mutex& device_lock();

// A point in a stream, reached when everything before it has run.
struct Mark {
  std::weak_ptr<EmulatedStream> stream;
  bool reached = false;
};

// What was captured, or put together of other graphs: each piece of work runs behind those that it names.
struct EmulatedGraph {
  struct Node {
    Work work;
    std::vector<size_t> behind;
  };
  // Another graph's copy: what stands behind it waits for these nodes.
  struct Child {
    std::vector<size_t> ends;
  };
  std::vector<Node> nodes;
  std::vector<std::unique_ptr<const Child>> children;

  // Adds a copy of `other`, all of which runs behind the children that are named.
  const Child& add(const EmulatedGraph& other, const std::vector<const Child*>& behind);

  // Runs everything, in an order that is allowed and as far from the captured one as can be.
  void run() const;
};

// Streams that are being captured into one graph.
struct Capture {
  EmulatedGraph graph;
  std::vector<std::weak_ptr<EmulatedStream>> streams;  // the first is the origin
  bool broken = false;

  // Whether all work leads to what `last` stands behind.
  bool joined(const std::vector<size_t>& last) const;
};

class EmulatedStream : public std::enable_shared_from_this<EmulatedStream> {
 public:
  explicit EmulatedStream(int device) : device_(device) {}

  int device() const { return device_; }
  bool idle() const { return work_.empty(); }

  void give(Work work);
  void record(const std::shared_ptr<Mark>& mark);
  void wait(const std::shared_ptr<Mark>& mark);
  // Runs the oldest piece of work, and before it what it waits for.
  void step();
  void finish();
  void finish(const Mark& mark);

  // Null when it is not captured.
  const std::shared_ptr<Capture>& capture() const { return capture_; }
  const std::vector<size_t>& captured_behind() const { return behind_; }
  void join(const std::shared_ptr<Capture>& capture, const std::vector<size_t>& behind);
  void leave_capture();

 private:
  struct Piece {
    Work work = {};
    std::shared_ptr<Mark> reaches = {}, waits = {};
  };
  void push(Piece piece);

  const int device_;
  std::deque<Piece> work_;
  std::shared_ptr<Capture> capture_;
  std::vector<size_t> behind_;  // the last captured nodes
};

// The streams that have work.
std::vector<std::shared_ptr<EmulatedStream>> busy_streams();
// Does some of the waiting work, as MILLRACE_EMULATED_ORDER says; called where a real device would have gone on.
void let_time_pass();

}  // namespace millrace::emulation
