// What a training's trace shows.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/trace.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trace_reader.h"

namespace millrace {
namespace {

using millrace::testing::TracedRange;
using millrace::testing::TraceFile;

constexpr int64_t kFiles = 4, kRowsOfFile = 100, kRows = kFiles * kRowsOfFile, kBatch = 16, kSteps = kRows / kBatch;

class TracedTraining : public ::testing::Test {
 protected:
  TracedTraining() {
    for (int64_t file = 0; file < kFiles; ++file) {
      std::string text;
      for (int64_t row = 0; row < kRowsOfFile; ++row) text += cat(row, ',', file - row, ".5,", row % 2, '\n');
      folder_.write(cat("part-", file, ".csv"), text);
    }
  }

  Spec config(const std::vector<std::string>& overrides) const {
    Spec spec = parse_yaml(
        cat("seed: 5\ndevice: cpu\nthreads: 2\ninput:\n"
            "  - filename_queue: {files: \"",
            folder_.path("part-*.csv"),
            "\", epochs: 1}\n"
            "  - csv_reader: {header: false}\n"
            "  - decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2}}}\n"
            "  - filter: {field: label, op: \">=\", value: 0}\n"
            "  - shuffle_batch: {batch_size: 16, capacity: 100, min_after_dequeue: 50}\n"
            "model:\n  - dense: {units: 300, activation: relu}\n  - dropout: {rate: 0.5}\n"
            "  - dense: {units: 1, name: last}\n"
            "loss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.001}}\ntrain: {log_every: 10}\n"),
        "t.yaml");
    apply_overrides(spec, overrides);
    return spec;
  }
  // Trains with a trace, and without one, with the same result.
  TraceFile traced(const std::vector<std::string>& overrides, const TrainCallbacks& callbacks = {}) const {
    Trace trace;
    const TrainResult result = Trainer::from_spec(config(overrides), Catalog::builtin(), &trace).run(callbacks);
    EXPECT_EQ(result.steps, kSteps);
    EXPECT_EQ(result.weights, Trainer::from_spec(config(overrides)).run(callbacks).weights);
    return TraceFile(trace);
  }

  const TempFolder folder_;
};

std::set<std::string> names_of(const TraceFile& file, std::string_view category) {
  std::set<std::string> names;
  for (const TracedRange& range : file.ranges) {
    if (range.category == category) names.insert(range.name);
  }
  return names;
}

int64_t sum_of(const std::vector<TracedRange>& ranges, const char* key) {
  int64_t sum = 0;
  for (const TracedRange& range : ranges) sum += range.args.at(key).get<int64_t>();
  return sum;
}

// The range that `inner` lies in.
bool inside(const TracedRange& inner, const TracedRange& outer) {
  return inner.thread == outer.thread && outer.start <= inner.start && inner.end <= outer.end;
}

class TracedDelivery : public TracedTraining, public ::testing::WithParamInterface<const char*> {};

TEST_P(TracedDelivery, ShowsOpsLayersAndSteps) {
  const TraceFile file = traced({cat("delivery=", GetParam())});
  EXPECT_EQ(file.json["otherData"]["dropped"], 0);
  EXPECT_EQ(file.threads.at(1), "training");
  for (const auto& [thread, name] : file.threads) {
    EXPECT_TRUE(thread == 1 || (thread == 2 && name == "executor 1")) << thread << ' ' << name;
  }

  EXPECT_EQ(names_of(file, "input"), (std::set<std::string>{"csv_reader", "decode_csv", "filter", "shuffle_batch"}));
  for (const char* op : {"csv_reader", "decode_csv", "filter"}) {
    for (const TracedRange& range : file.named(op, "input")) {
      EXPECT_TRUE(range.args.at("file").get<std::string>().starts_with(folder_.path("part-"))) << range.args;
    }
  }
  EXPECT_GE(sum_of(file.named("decode_csv", "input"), "rows"), kRows);
  EXPECT_GT(sum_of(file.named("csv_reader", "input"), "bytes"), kRows);
  EXPECT_EQ(sum_of(file.named("shuffle_batch", "input"), "rows"), kRows);
  EXPECT_FALSE(file.counters.at("decoded rows that wait").empty());

  const std::vector<TracedRange> steps = file.named("step", "step");
  ASSERT_EQ(steps.size(), static_cast<size_t>(kSteps));
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].args, (nlohmann::json{{"step", i + 1}, {"rows", kBatch}}));
    EXPECT_EQ(file.threads.at(steps[i].thread), "training");
  }
  EXPECT_EQ(names_of(file, "forward"), (std::set<std::string>{"dense", "dropout", "last"}));
  EXPECT_EQ(names_of(file, "backward"), (std::set<std::string>{"dense", "dropout", "last"}));
  for (const char* phase : {"load", "forward", "loss", "backward and update"}) {
    const std::vector<TracedRange> ranges = file.named(phase, "step");
    ASSERT_EQ(ranges.size(), steps.size()) << phase;
    for (size_t i = 0; i < steps.size(); ++i) EXPECT_TRUE(inside(ranges[i], steps[i])) << phase;
  }
  const std::vector<TracedRange> layers = file.named("dense", "backward"), phases = file.named("forward", "step");
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_TRUE(inside(layers.at(i), steps[i]));
    EXPECT_LE(phases[i].end, layers[i].start);
  }

  // The batch of a step comes before it.
  const std::vector<TracedRange> batches = file.named("next batch", "delivery");
  ASSERT_EQ(batches.size(), steps.size() + 1) << "the last finds the end";
  for (size_t i = 0; i < steps.size(); ++i) EXPECT_LE(batches[i].end, steps[i].start);
}

INSTANTIATE_TEST_SUITE_P(Kinds, TracedDelivery, ::testing::Values("native", "queue", "feed"));

TEST_F(TracedTraining, ShowsWhatIsBetweenInputAndStep) {
  const TraceFile native = traced({"delivery=native"});
  EXPECT_TRUE(native.named("copy", "delivery").empty());
  EXPECT_FALSE(native.counters.contains("batches queued"));

  const TraceFile feed = traced({"delivery=feed"});
  EXPECT_EQ(sum_of(feed.named("copy", "delivery"), "rows"), kRows);
  for (const TracedRange& range : feed.ranges) {
    EXPECT_TRUE(range.category != "input" || feed.threads.at(range.thread) == "training") << range.name;
  }

  const TraceFile queue = traced({"delivery={kind: queue, capacity: 3}"});
  EXPECT_EQ(sum_of(queue.named("copy", "delivery"), "rows"), kRows);
  EXPECT_EQ(queue.named("wait for batch", "wait").size(), static_cast<size_t>(kSteps) + 1);
  const std::vector<int64_t>& queued = queue.counters.at("batches queued");
  EXPECT_EQ(queued.size(), static_cast<size_t>(kSteps) + 1);
  EXPECT_LE(*std::max_element(queued.begin(), queued.end()), 3);
}

// Where gradients are gathered, the update is a range of its own.
TEST_F(TracedTraining, ShowsUpdatesOfTheirOwn) {
  const TraceFile file = traced({"train.accumulate=2"});
  EXPECT_EQ(file.named("backward", "step").size(), static_cast<size_t>(kSteps));
  EXPECT_EQ(file.named("update", "step").size(), static_cast<size_t>(kSteps) / 2 + 1);
  EXPECT_TRUE(file.named("backward and update", "step").empty());
}

TEST_F(TracedTraining, ShowsReportsValidationsAndTheModelSaved) {
  const TraceFile file = traced({cat("validation={files: \"", folder_.path("part-0.csv"), "\", every: 10}"),
                                 cat("save=", folder_.path("m.safetensors"))},
                                {.on_step = [](const StepReport&) {}});
  EXPECT_EQ(file.named("report", "step").size(), 2u);
  const std::vector<TracedRange> validations = file.named("validation", "step");
  ASSERT_EQ(validations.size(), 3u);
  const std::vector<TracedRange> layers = file.named("dense", "forward");
  EXPECT_GT(layers.size(), static_cast<size_t>(kSteps)) << "those of validations, too";
  EXPECT_GT(sum_of(file.named("decode_csv", "input"), "rows"), kRows);
  EXPECT_EQ(file.named("save", "step").size(), 1u);
}

// Several trainers in one process, each with its own trace or none.
TEST_F(TracedTraining, TrainersDoNotMix) {
  constexpr size_t kTrainers = 3;
  std::vector<std::unique_ptr<Trace>> traces;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kTrainers; ++i) {
    Trace* trace = traces.emplace_back(std::make_unique<Trace>()).get();
    threads.emplace_back([this, i, trace] {
      Trainer::from_spec(config({cat("train.steps=", 5 + i)}), Catalog::builtin(), i == 1 ? nullptr : trace).run();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(TraceFile(*traces[0]).named("step", "step").size(), 5u);
  EXPECT_TRUE(TraceFile(*traces[1]).ranges.empty());
  EXPECT_EQ(TraceFile(*traces[2]).named("step", "step").size(), 7u);
}

TEST_F(TracedTraining, AFailureLeavesWhatWasBefore) {
  folder_.write("part-3.csv", "1,2,0\n1,x,0\n");
  Trace trace;
  Trainer trainer = Trainer::from_spec(config({"input.filename_queue.shuffle=false"}), Catalog::builtin(), &trace);
  EXPECT_THROW(trainer.run(), DataError);
  const TraceFile file(trace);
  EXPECT_GT(trainer.steps(), 0);
  EXPECT_EQ(std::ssize(file.named("step", "step")), trainer.steps());
  EXPECT_EQ(std::ssize(file.named("next batch", "delivery")), trainer.steps() + 1) << "the one that failed, too";
}

TEST(WrittenTrace, HoldsTheTrace) {
  const TempFolder folder;
  Trace trace;
  // More than one piece.
  for (int i = 0; i < 3000; ++i) const TraceRange range(&trace, "step", "step");
  write_trace(trace, folder.path("trace.json"));
  EXPECT_EQ(TraceFile(TempFolder::read(folder.path("trace.json"))).ranges.size(), 3000u);
}

TEST(WrittenTrace, SaysWhyThereIsNone) {
  const TempFolder folder;
  const std::string path = folder.path("missing/trace.json");
  const std::string error = error_of<IoError>([&] { write_trace(Trace(), path); });
  EXPECT_NE(error.find(path), std::string::npos) << error;
  EXPECT_NE(error.find("No such file or directory"), std::string::npos) << error;
}

}  // namespace
}  // namespace millrace
