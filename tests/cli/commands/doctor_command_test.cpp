#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::run_trainer;

TEST(DoctorCommandTest, LooksAtThisMachine) {
  const auto result = run_trainer({"doctor"});
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_NE(result.out.find("\nok       trial on cpu     64 steps"), std::string::npos) << result.out;
  const auto json = run_trainer({"doctor", "--json"});
  EXPECT_EQ(json.exit_code, 0);
  EXPECT_NE(nlohmann::json::parse(json.out)["health"], "error");
}

// Trainings need none of what is missing here.
TEST(DoctorCommandTest, WhatTheTrialPassesIsNoError) {
  const auto result = run_trainer({"doctor"}, {.environment = {"TMPDIR=/nowhere"}});
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_NE(result.out.find("warning  temporary        /nowhere cannot be written"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace millrace::cli
