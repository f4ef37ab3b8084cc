// A pipeline whose rows workers decode, for tests of the trainer's side.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/input/workers.h"
#include "tests/input/op_testing.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/remote/remote_testing.h"

namespace millrace::testing_support {

using Lines = std::vector<std::string>;

// The current folder is one with data.
class WorkersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_ZMQ();
    before_ = std::filesystem::current_path();
    write_data(folder_, 2000);
    std::filesystem::current_path(folder_.path());
  }
  void TearDown() override {
    if (!before_.empty()) std::filesystem::current_path(before_);
  }
  static void write_data(const TempFolder& folder, int rows) {
    std::string text;
    for (int i = 0; i < rows; ++i) text += cat(i, ",0.5,", i % 3, '\n');
    folder.write("a.csv", text);
    folder.write("b.csv", text.substr(0, text.find("1000,")));
  }
  static std::string list(const std::string& options = {}) {
    return cat("- filename_queue: {files: '?.csv', epochs: 2}\n- csv_reader: {chunk_bytes: 500}\n",
               "- decode_csv: {fields: {x: {columns: 0-1}, y: {columns: 2, type: int32}}", options,
               "}\n- shuffle_batch: {batch_size: 23, capacity: 200, min_after_dequeue: 100}\n");
  }
  static std::shared_ptr<Workers> workers(std::vector<std::string> connect, WorkerFallback fallback) {
    WorkerOptions options;
    options.connect = std::move(connect);
    options.ahead = 4;
    options.fallback = fallback;
    return make_workers(options);
  }
  InputGraph graph(const std::shared_ptr<Workers>& pool, const std::string& ops = list()) {
    std::shared_ptr<Workers> own = pool ? pool->for_another_graph() : nullptr;
    return InputGraph::build(parse_yaml(ops, "input.yaml"), builtin_ops(), {.seed = 23, .workers = std::move(own)});
  }
  Lines lines(InputGraph built, const std::function<void(int)>& after_batch = {}) {
    Pipeline pipeline(std::move(built), {.executor = &executor_,
                                         .on_print = [this](std::string_view line) { news_.emplace_back(line); }});
    RowBlock slot = pipeline.make_slot();
    Lines out;
    try {
      for (int batch = 0; pipeline.next(slot) > 0; ++batch) {
        for (int64_t row = 0; row < slot.size(); ++row) {
          out.push_back(cat(pipeline.place(slot.id(row)).text(), ' ', row_text(slot, row)));
        }
        if (after_batch) after_batch(batch);
      }
    } catch (const Error& error) {
      out.push_back(cat("error ", error.what()));
    }
    return out;
  }

  TempFolder folder_;
  std::filesystem::path before_;
  Executor executor_{2};
  Lines news_;
};

}  // namespace millrace::testing_support
