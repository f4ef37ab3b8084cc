// Checkpoints from C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "millrace/c.h"
#include "millrace/core/text.h"
#include "tests/api/c_calls.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// What a program is told, as a line each; it may do something at a step.
struct Told {
  millrace_trainer* trainer = nullptr;
  std::function<void(int64_t step)> at_step;
  std::vector<std::string> lines;

  static Told& of(void* user) { return *static_cast<Told*>(user); }
  millrace_callbacks callbacks() {
    millrace_callbacks out = {};
    out.size = sizeof out;
    out.user = this;
    out.on_step = [](void* user, const millrace_step* step) {
      if (of(user).at_step) of(user).at_step(step->step);
    };
    out.on_log = [](void* user, const char* text) { of(user).lines.emplace_back(text); };
    out.on_resume = [](void* user, const millrace_resume* resume) {
      of(user).lines.push_back(cat("resume ", resume->step, " from ", resume->file));
      for (size_t i = 0; i < resume->note_count; ++i) of(user).lines.push_back(cat("note ", resume->notes[i]));
      for (size_t i = 0; i < resume->warning_count; ++i) of(user).lines.push_back(cat("warn ", resume->warnings[i]));
    };
    out.on_checkpoint = [](void* user, const millrace_checkpoint* checkpoint) {
      of(user).lines.push_back(cat("checkpoint ", checkpoint->step, " in ", checkpoint->file));
    };
    return out;
  }
};

class CCheckpoints : public ::testing::Test {
 protected:
  CCheckpoints() { result_.size = sizeof result_; }
  ~CCheckpoints() override { millrace_trainer_free(trainer_); }

  // 30 steps.
  void make(const std::vector<std::string>& settings = {}) {
    millrace_trainer_free(std::exchange(trainer_, nullptr));
    const std::string text =
        cat("seed: 3\ndevice: cpu\nthreads: 2\ninput: [{synthetic: {features: 4, rows: 300}}, {batch: {batch_size: "
            "10}}]\nmodel: [{dense: {units: 1}}]\nloss: sigmoid_cross_entropy\noptimizer: {adam: {learning_rate: "
            "0.1}}\ntrain: {log_every: 1}\ncheckpoint: {every: 1000, dir: ",
            quote(dir_, 4096), "}\n");
    std::vector<const char*> given;
    for (const std::string& setting : settings) given.push_back(setting.c_str());
    EXPECT_DONE(
        millrace_trainer_from_string(text.c_str(), "c.yaml", given.data(), given.size(), nullptr, &trainer_, &error));
    told_.trainer = trainer_;
    told_.lines.clear();
  }
  void run() {
    const millrace_callbacks callbacks = told_.callbacks();
    EXPECT_DONE(millrace_trainer_run(trainer_, &callbacks, &result_, &error));
  }
  std::string path(int step) const {
    return cat(dir_, "/checkpoint-0000000", step < 10 ? "0" : "", step, ".safetensors");
  }

  const TempFolder folder_;
  const std::string dir_ = folder_.path("checkpoints");
  millrace_trainer* trainer_ = nullptr;
  millrace_result result_ = {};
  Told told_;
};

TEST_F(CCheckpoints, ATrainingGoesOn) {
  make();
  told_.at_step = [&](int64_t step) {
    if (step == 12) millrace_trainer_stop(trainer_);
  };
  int64_t step = 7;
  EXPECT_DONE(millrace_trainer_resume(trainer_, nullptr, &step, &error));
  EXPECT_EQ(step, -1) << "there is none";
  run();
  EXPECT_THAT(told_.lines, ElementsAre(cat("checkpoint 12 in ", path(12))));
  EXPECT_EQ(result_.resumed, -1);
  EXPECT_EQ(result_.checkpoints, 1);
  EXPECT_EQ(result_.late_checkpoints, 0);
  EXPECT_EQ(result_.failed_checkpoints, 0);
  EXPECT_STREQ(millrace_trainer_checkpoint_failure(trainer_), "");

  told_.at_step = nullptr;
  make({"train.steps=30", "threads=1"});
  EXPECT_DONE(millrace_trainer_resume(trainer_, nullptr, &step, &error));
  EXPECT_EQ(step, 12);
  EXPECT_EQ(millrace_trainer_steps(trainer_), 12);
  run();
  EXPECT_THAT(told_.lines,
              ElementsAre(cat("resume 12 from ", path(12)), AllOf(StartsWith("note train.steps"), HasSubstr("30")),
                          StartsWith("note: train.steps"), cat("checkpoint 30 in ", path(30))));
  EXPECT_EQ(result_.resumed, 12);
  EXPECT_EQ(result_.steps, 30);
  EXPECT_EQ(result_.rows, 300u);
  const std::string weights = result_.weights;

  // From a file, and of a program that was built when there were no such members.
  make();
  EXPECT_DONE(millrace_trainer_resume(trainer_, path(12).c_str(), nullptr, &error));
  millrace_callbacks callbacks = told_.callbacks();
  callbacks.size = offsetof(millrace_callbacks, on_resume);
  result_.size = offsetof(millrace_result, resumed);
  result_.resumed = 77;
  EXPECT_DONE(millrace_trainer_run(trainer_, &callbacks, &result_, &error));
  EXPECT_THAT(told_.lines, ElementsAre(AllOf(StartsWith("note: " + path(30)), HasSubstr(".abandoned"))));
  EXPECT_EQ(result_.resumed, 77);
  EXPECT_STREQ(result_.reason, "end of data");
  EXPECT_EQ(result_.weights, weights);
}

TEST_F(CCheckpoints, ADamagedOneIsPassedOver) {
  for (const int last : {3, 8}) {
    make();
    told_.at_step = [&](int64_t step) {
      if (step == last) millrace_trainer_stop(trainer_);
    };
    EXPECT_DONE(millrace_trainer_resume(trainer_, nullptr, nullptr, &error));
    run();
  }
  std::filesystem::resize_file(path(8), 300);
  make();
  told_.at_step = nullptr;
  EXPECT_DONE(millrace_trainer_resume(trainer_, nullptr, nullptr, &error));
  run();
  EXPECT_THAT(told_.lines, ElementsAre(cat("resume 3 from ", path(3)), StartsWith("note " + path(8)),
                                       AllOf(StartsWith("warn "), HasSubstr(path(8))),
                                       AllOf(StartsWith("warning: "), HasSubstr(path(8))),
                                       StartsWith("note: " + path(8)), cat("checkpoint 30 in ", path(30))));
}

TEST_F(CCheckpoints, AnyThreadMayAskForOne) {
  make();
  told_.at_step = [&](int64_t step) {
    if (step == 5) std::thread([&] { millrace_trainer_checkpoint(trainer_); }).join();
  };
  run();
  EXPECT_THAT(told_.lines, ElementsAre(cat("checkpoint 5 in ", path(5)), cat("checkpoint 30 in ", path(30))));
  EXPECT_EQ(result_.checkpoints, 2);
  millrace_trainer_checkpoint(nullptr);
}

TEST_F(CCheckpoints, AFileIsCutToWhatIsOnRecord) {
  const std::string log = folder_.path("log");
  for (const int last : {4, 9}) {
    make();
    EXPECT_DONE(millrace_trainer_appends_to(trainer_, log.c_str(), &error));
    EXPECT_DONE(millrace_trainer_resume(trainer_, nullptr, nullptr, &error));
    std::FILE* const file = std::fopen(log.c_str(), "a");
    ASSERT_NE(file, nullptr);
    told_.at_step = [&](int64_t step) {
      std::fprintf(file, "%d\n", static_cast<int>(step));
      std::fflush(file);
      if (step == last) millrace_trainer_stop(trainer_);
    };
    run();
    std::fprintf(file, "lost\n");
    std::fclose(file);
  }
  EXPECT_EQ(TempFolder::read(log), "1\n2\n3\n4\n5\n6\n7\n8\n9\nlost\n");
}

TEST_F(CCheckpoints, HaveTheBestModelToo) {
  make(
      {"validation={input: [{synthetic: {features: 4, rows: 40}}, {batch: {batch_size: 10}}], every: 5, "
       "keep_best: {mode: max}}"});  // the worst one, which is an early one
  run();
  millrace_network *last = nullptr, *best = nullptr, *kept = nullptr;
  EXPECT_DONE(millrace_network_load(path(30).c_str(), 1, nullptr, &last, &error));
  EXPECT_DONE(millrace_network_load_best(path(30).c_str(), 1, nullptr, &best, &error));
  EXPECT_DONE(millrace_trainer_network(trainer_, &kept, &error));
  const auto output = [](millrace_network* network) {
    const std::array<float, 4> row = {1, -2, 3, 0.5f};
    const void* const values = row.data();
    float out = 0;
    EXPECT_DONE(millrace_network_predict(network, &values, 1, &out, &error));
    millrace_network_free(network);
    return out;
  };
  const float expected = output(kept);
  EXPECT_EQ(output(best), expected);
  EXPECT_NE(output(last), expected);
}

TEST_F(CCheckpoints, WhatFailedIsSaid) {
  make();
  told_.at_step = [&](int64_t step) {
    if (step != 10) return;
    std::filesystem::remove_all(dir_);
    folder_.write("checkpoints", "no folder");
  };
  run();
  EXPECT_EQ(result_.steps, 30);
  EXPECT_EQ(result_.checkpoints, 0);
  EXPECT_EQ(result_.failed_checkpoints, 1);
  EXPECT_THAT(millrace_trainer_checkpoint_failure(trainer_), HasSubstr("Not a directory"));
  EXPECT_STREQ(millrace_trainer_checkpoint_failure(nullptr), "");
}

TEST_F(CCheckpoints, ErrorsHaveAStatus) {
  make();
  run();
  millrace_error* error = nullptr;
  make();
  EXPECT_EQ(millrace_trainer_run(trainer_, nullptr, nullptr, &error), MILLRACE_ERROR_CONFIG);
  EXPECT_THAT(text_of(error), AllOf(HasSubstr("c.yaml:"), HasSubstr("resume")));
  make({"input.batch.batch_size=5"});
  int64_t step = 7;
  EXPECT_EQ(millrace_trainer_resume(trainer_, nullptr, &step, &error), MILLRACE_ERROR_CONFIG);
  EXPECT_THAT(text_of(error), HasSubstr("batch_size"));
  EXPECT_EQ(step, 7);
  make();
  EXPECT_EQ(millrace_trainer_resume(trainer_, folder_.path("none").c_str(), nullptr, &error), MILLRACE_ERROR_MISSING);
  EXPECT_THAT(text_of(error), HasSubstr("none"));
  std::filesystem::resize_file(path(30), 300);
  make();
  EXPECT_EQ(millrace_trainer_resume(trainer_, nullptr, nullptr, &error), MILLRACE_ERROR_DATA);
  EXPECT_THAT(text_of(error), HasSubstr(path(30)));

  const auto refused = [&](millrace_status status, const std::string& text) {
    EXPECT_EQ(status, MILLRACE_ERROR_ARGUMENT);
    EXPECT_EQ(text_of(error), text);
  };
  refused(millrace_trainer_resume(nullptr, nullptr, nullptr, &error), "trainer is NULL");
  refused(millrace_trainer_resume(trainer_, "", nullptr, &error),
          "file is empty; NULL stands for the newest checkpoint");
  refused(millrace_trainer_appends_to(nullptr, "log", &error), "trainer is NULL");
  refused(millrace_trainer_appends_to(trainer_, nullptr, &error), "path is NULL");
}

}  // namespace
}  // namespace millrace
