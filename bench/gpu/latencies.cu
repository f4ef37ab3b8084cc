#include "bench/gpu/latencies.h"

#include <chrono>
#include <string>

#include "millrace/core/errors.h"
#include "millrace/core/event.h"
#include "millrace/core/parallel.h"
#include "millrace/core/replay.h"
#include "millrace/core/text.h"

namespace millrace::bench {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kKernels = 4;  // in a graph, as in a step of the perceptron
constexpr size_t kScoreBytes = 16;

struct Increment {
  float* value;
  MILLRACE_HD void operator()(int64_t) const { *value += 1; }
};

double copied_gb_per_s(Context& context, size_t bytes, bool to_device) {
  const Memory there(context.device(), bytes), here = Memory::pinned(context.device(), bytes);
  const Memory& from = to_device ? here : there;
  const Memory& to = to_device ? there : here;
  const double us = fastest(context, [&] { context.copy_async(to.data(), from.data(), bytes); });
  context.synchronize();
  return 1e-3 * static_cast<double>(bytes) / us;
}

// A graph of a few small kernels and a copy of 16 bytes to the host, which is a part of the chain or, with `forked`,
// runs next to it.
class SmallGraph {
 public:
  SmallGraph(Context& context, bool forked)
      : context_(context),
        side_(context.device(), context.executor()),
        value_(context.device(), kScoreBytes),
        host_(Memory::pinned(context.device(), kScoreBytes)),
        scored_(context.device()),
        copied_(context.device()),
        forked_(forked) {
    for (int i = 0; i < 3; ++i) launch();
    context.synchronize();
    if (!replay_.recorded()) throw DeviceError("no graph could be recorded");
  }
  ~SmallGraph() {
    side_.drain();
    context_.drain();
  }

  void launch() {
    replay_.run(context_, [this] {
      for (int i = 0; i < kKernels; ++i) {
        for_each_index(context_, 1, Increment{static_cast<float*>(value_.data())});
        if (i == 1) copy();
      }
      if (forked_) context_.wait_for(copied_);
    });
  }

 private:
  void copy() {
    Context& on = forked_ ? side_ : context_;
    if (forked_) {
      context_.record(scored_);
      side_.wait_for(scored_);
    }
    on.copy_async(host_.data(), value_.data(), kScoreBytes);
    if (forked_) side_.record(copied_);
  }

  Context& context_;
  Context side_;
  Memory value_, host_;
  Event scored_, copied_;
  bool forked_;
  Replay replay_;
};

double graph_us(Context& context, int launches, bool forked) {
  SmallGraph graph(context, forked);
  const double us = fastest(context, [&] {
    for (int i = 0; i < launches; ++i) graph.launch();
  });
  return us / launches;
}

double copy_node_us(Context& context, int nodes) {
  const Memory value(context.device(), kScoreBytes), host = Memory::pinned(context.device(), kScoreBytes);
  Replay replay;
  const auto give = [&] {
    replay.run(context, [&] {
      for (int i = 0; i < nodes; ++i) context.copy_async(host.data(), value.data(), kScoreBytes);
    });
  };
  for (int i = 0; i < 2; ++i) give();
  const double us = fastest(context, give) / nodes;
  context.synchronize();
  return us;
}

// The host's microseconds to give `work` to the device `times` times.
double host_us(Context& context, int times, FunctionRef<void()> work) {
  work();
  context.synchronize();
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < times; ++i) work();
  const double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  context.synchronize();
  return us / times;
}

double graph_on_host_us(Context& context, int times) {
  SmallGraph graph(context, true);
  return host_us(context, times, [&] { graph.launch(); });
}

double event_on_host_us(Context& context, int times) {
  Context other(context.device(), context.executor());
  Event event(context.device());
  const double us = host_us(context, times, [&] {
    context.record(event);
    other.wait_for(event);
  });
  other.synchronize();
  return us;
}

}  // namespace

std::vector<Rate> measure_latencies(Context& context, bool small) {
  std::vector<Rate> out;
  const int times = small ? 10 : 100;
  for (const size_t mebibytes : {1u, 2u, 64u}) {
    const size_t bytes = small ? mebibytes << 10 : mebibytes << 20;
    measure(out, cat("to_device_", mebibytes), "GB/s", [&] { return copied_gb_per_s(context, bytes, true); });
    measure(out, cat("to_host_", mebibytes), "GB/s", [&] { return copied_gb_per_s(context, bytes, false); });
  }
  measure(out, "copy_node", "us", [&] { return copy_node_us(context, times); });
  measure(out, "graph_straight", "us", [&] { return graph_us(context, times, false); });
  measure(out, "graph_forked", "us", [&] { return graph_us(context, times, true); });
  measure(out, "graph_on_host", "us", [&] { return graph_on_host_us(context, times); });
  measure(out, "event_on_host", "us", [&] { return event_on_host_us(context, times); });
  return out;
}

}  // namespace millrace::bench
