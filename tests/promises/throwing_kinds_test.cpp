// P3: whatever a function of a kind throws, or if it returns null, arrives as an Error with the kind's name and its
// place in the configuration. tests/cli/throwing_plugin_test.cpp says the same of the program.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <sstream>

#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/input/pass_input.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"
#include "tests/support/throwing_functions.h"
#include "tests/support/throwing_kinds.h"
#include "tests/trainer/checkpoint/open_training.h"

namespace millrace::testing {
namespace {

class ThrowingKinds : public ::testing::Test {
 protected:
  ThrowingKinds() {
    throwing::add_throwing_kinds(catalog_);
    files_ = folder_.write("rows.bin", throwing_records());
  }
  ~ThrowingKinds() override { ::unsetenv("MILLRACE_TEST_THROWS_IN"); }

  // A text that messages call `name`.
  std::string text(const std::string& name, const std::string& yaml) { return texts_[name] = yaml; }

  std::string of_files() const {
    return cat("  - throwing_names: {files: ", quote(files_, 4096), "}\n  - throwing_records\n");
  }
  static std::string changed() { return "  - throwing_transform\n  - throwing_buffer\n"; }
  static std::string trained() {
    return "model:\n  - throwing_layer\n  - dense: {units: 1}\nloss:\n  throwing_loss\nmetrics:\n  - throwing_metric\n"
           "optimizer:\n  throwing_optimizer\n";
  }

  void train(const std::string& name, const std::string& input, const std::string& more) {
    const std::string yaml =
        cat("device: cpu\nthreads: 2\ndelivery: ", delivery_, "\ninput:\n", input, trained(), more);
    Trainer trainer = Trainer::from_string(text(name, yaml), name, {}, catalog_);
    trainer.input().check_files();
    trainer.input().reads_once();
    trainer.memory_bound();
    trainer.run();
    trainer.save(folder_.path("m.safetensors"));
    trainer.network();
  }

  void predict() {
    Predictor predictor({.model = folder_.path("m.safetensors"), .data = {files_}, .judge = true}, catalog_);
    while (predictor.next() != nullptr) {
    }
    predictor.metrics();
  }

  // Goes on from a saved state.
  void save_and_restore(const std::string& name, const std::string& input, const std::string& batches) {
    const std::string yaml = cat(input, changed(), batches);
    const Spec list = parse_yaml(text(name, yaml), name);
    const auto make = [&] { return InputGraph::build(list, catalog_.ops, {.seed = 1}); };
    State state;
    {
      Pipeline pipeline(make(), {});
      RowBlock batch = pipeline.make_slot();
      pipeline.next(batch);
      pipeline.place(batch.id(0));
      pipeline.share();
      pipeline.next(batch);
      state = pipeline.save();
    }
    Pipeline pipeline(make(), {});
    pipeline.restore(state);
    RowBlock batch = pipeline.make_slot();
    while (pipeline.next(batch) > 0) {
    }
    pass_input({.input = list, .registry = catalog_.ops});
  }

  // Goes on from a saved training.
  void save_and_restore_training(const std::string& name) {
    const Spec spec = parse_yaml(text(name, cat("device: cpu\nthreads: 2\ninput:\n", of_files(), changed(),
                                                "  - throwing_batches\n", trained(), "train: {steps: 2}\n")),
                                 name);
    OpenTraining first(spec, catalog_);
    const std::vector<SavedTraining> saved = save_at_borders(first);
    OpenTraining second(spec, catalog_);
    second.restore(saved.at(1));
    second.run();
  }

  void use_everything() {
    const std::string judged = cat("validation: {files: ", quote(files_, 4096),
                                   ", every: 2, keep_best: {metric: throwing_metric}}\ntrain: {log_every: 1}\n");
    const std::string own = "  - throwing_batches\n";
    // A window, whose rows are read again.
    const std::string window =
        "  - repeat: {epochs: 2}\n"
        "  - shuffle_batch: {batch_size: 3, min_after_dequeue: 5, allow_smaller_final_batch: true}\n";
    // Only a saved state with bad rows calls resume_reports(), but bad rows are errors in a validation.
    if (throwing::setting("MILLRACE_TEST_THROWS_IN") != "transform.resume_reports") {
      train("files.yaml", cat(of_files(), changed(), own), judged);
      predict();
      train("rows.yaml",
            cat("  - throwing_rows\n", changed(), "  - cache\n  - take: {rows: 6}\n  - repeat: {epochs: 2}\n", own),
            "train: {accumulate: 2}\n");
    }
    save_and_restore("files_window.yaml", of_files(), window);
    save_and_restore("rows_window.yaml", "  - throwing_rows\n", window);
    save_and_restore("rows_batches.yaml", "  - throwing_rows\n", own);
    save_and_restore_training("training.yaml");
  }

  // The line of a text, counted from 1.
  std::string line_of(const std::string& name, int64_t number) {
    std::istringstream lines(texts_[name]);
    std::string line;
    for (int64_t i = 0; i < number; ++i) std::getline(lines, line);
    return line;
  }

  void expect_attributed(const ThrowingFunction& function, const char* what) {
    SCOPED_TRACE(cat(function.name, ": ", what));
    ::setenv("MILLRACE_TEST_THROWS_IN", function.name, 1);
    ::setenv("MILLRACE_TEST_THROWS", what, 1);
    try {
      use_everything();
      ADD_FAILURE() << "it was not called";
    } catch (const Error& error) {
      const bool own = std::string_view(what) == "error";
      EXPECT_EQ(error.kind(), own ? ErrorKind::config : ErrorKind::internal) << error.what();
      EXPECT_TRUE(own || error.message().find(function.kind) != std::string::npos) << error.what();
      // The configuration of a model file is written anew.
      const bool saved = error.place().file.ends_with(":config");
      EXPECT_TRUE(saved || line_of(error.place().file, error.place().line).find(function.kind) != std::string::npos)
          << error.what();
      EXPECT_GT(error.place().line, 0) << error.what();
    } catch (const std::exception& other) {
      ADD_FAILURE() << "as it is: " << other.what();
    } catch (int) {
      ADD_FAILURE() << "as it is";
    }
  }

  TempFolder folder_;
  Catalog catalog_ = Catalog::builtin();
  std::string files_;
  std::string delivery_ = "native";
  std::map<std::string, std::string> texts_;
};

TEST_F(ThrowingKinds, WorkIfNoneThrows) { EXPECT_NO_THROW(use_everything()); }

TEST_F(ThrowingKinds, AreToldWithNameAndPlace) {
  for (const ThrowingFunction& function : kThrowingFunctions) {
    if (function.command != nullptr) continue;
    for (const auto& [what, delivery] : {std::pair("number", "queue"), {"exception", "native"}, {"error", "feed"}}) {
      delivery_ = delivery;
      expect_attributed(function, what);
    }
  }
}

TEST_F(ThrowingKinds, ThatReturnNullAreToldWithNameAndPlace) {
  for (const ThrowingFunction& function : kThrowingFunctions) {
    if (function.returns_pointer) expect_attributed(function, "null");
  }
}

}  // namespace
}  // namespace millrace::testing
