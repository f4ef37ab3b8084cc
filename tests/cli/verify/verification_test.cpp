// Tests that run no process of the program; verify_resume_command_test.cpp has the others.
#include "millrace/cli/verify/verification.h"

#include <gtest/gtest.h>

#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

TEST(KillCounts, AreJoined) {
  const KillCounts counts{
      .starting = 1, .early = 2, .in_steps = 3, .in_validations = 4, .calls = {{"sync", 5}, {"link", 6}}};
  EXPECT_EQ(counts.writing(), 11);
  EXPECT_EQ(counts.all(), 21);
}

std::string refusal(const std::vector<std::string>& settings) {
  Spec config = parse_yaml(millrace::testing::endless_config(), "c.yaml");
  apply_overrides(config, settings);
  return error_of<ConfigError>([&] { verify_resume(config, Catalog::builtin(), {.words = {}}); });
}

TEST(Verification, NeedsATrainingThatEnds) {
  EXPECT_EQ(refusal({}),
            "c.yaml:5:3: input: the rows of synthetic never end, so this training has no end to compare; give it one: "
            "--set train.steps=1000");
}

TEST(Verification, NeedsADeliveryThatGoesOn) {
  EXPECT_EQ(refusal({"train.steps=5", "delivery=constant"}),
            "--set delivery=constant: delivery: delivery constant trains on one batch, for measuring: nothing goes on "
            "with it; leave it out, or set another one");
}

TEST(Verification, NeedsAConfigurationThatIsRight) {
  EXPECT_NE(refusal({"input=null"}).find("input"), std::string::npos);
  EXPECT_NE(refusal({"train.stepz=5"}).find("stepz"), std::string::npos);
}

}  // namespace
}  // namespace millrace::cli
