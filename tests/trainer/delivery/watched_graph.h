// A graph for tests of deliveries: rows of `synthetic` in batches, and a body of the test's own that sees each batch,
// or each chunk of rows before it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/files/yaml.h"

namespace millrace::testing {

using Watch = std::function<void(Chunk&)>;

class WatchedOp final : public Transform {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  WatchedOp(Watch watch, PortType port) : watch_(std::move(watch)), port_(port) {}
  std::vector<PortType> inputs() const override { return {port_}; }
  Port bind(const BindArgs& args) override { return args.inputs[0]; }
  void apply(Chunk& chunk) const override { watch_(chunk); }

 private:
  const Watch watch_;
  const PortType port_;
};

inline InputGraph watched_graph(const char* list, const Watch& watch, PortType port) {
  OpRegistry ops = builtin_ops();
  ops.add("watch", {.doc = "calls the test",
                    .describe = describe_options<WatchedOp::Options>,
                    .make = [watch, port](const Spec&, Spec* resolved) -> std::unique_ptr<Op> {
                      if (resolved != nullptr) *resolved = Spec::map(Place{});
                      return std::make_unique<WatchedOp>(watch, port);
                    }});
  return InputGraph::build(parse_yaml(list, "test.yaml"), ops, {.seed = 4});
}

// `watch` sees each of ten batches of 4 rows; one task at a time.
inline InputGraph batches_watched(const Watch& watch) {
  return watched_graph("- synthetic: {features: 3, rows: 40}\n- batch: {batch_size: 4}\n- watch\n", watch,
                       PortType::batches);
}

// `watch` sees each chunk of 100000 rows.
inline InputGraph chunks_watched(const Watch& watch) {
  return watched_graph("- synthetic: {features: 30, rows: 100000}\n- watch\n- batch: {batch_size: 500}\n", watch,
                       PortType::rows);
}

}  // namespace millrace::testing
