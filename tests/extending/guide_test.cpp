// docs/extending.md shows the files of this folder, word for word, and the clamp op does what it says there.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/paths.h"

namespace millrace {
namespace {

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(ExtendingGuide, ShowsTheseFiles) {
  const std::string folder = test::source_dir();
  const std::string guide = read(folder + "/docs/extending.md");
  for (const std::string name : {"softsign.cpp", "softsign_test.cpp", "every.cpp", "every_test.cpp", "clamp.cpp"}) {
    const std::string source = read(folder + "/tests/extending/" + name);
    ASSERT_FALSE(source.empty()) << name;
    EXPECT_NE(guide.find("```cpp\n" + source + "```"), std::string::npos) << name << " differs from the guide";
  }
}

TEST(ExtendingGuide, ItsKindsTrainTogether) {
  Trainer trainer =
      Trainer::from_spec(parse_yaml("seed: 3\ndevice: cpu\nthreads: 2\ninput:\n"
                                    "  - synthetic: {task: sum, features: 8, rows: 300}\n"
                                    "  - clamp: {field: features, min: -1, max: 1}\n"
                                    "  - every: {rows: 3}\n"
                                    "  - batch: {batch_size: 10}\n"
                                    "model:\n  - dense: {units: 5}\n  - softsign\n  - dense: {units: 1}\n"
                                    "loss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.1}}\n",
                                    "t.yaml"));
  const TrainResult result = trainer.run();
  EXPECT_EQ(result.rows, 100u);
  EXPECT_EQ(result.steps, 10);
  ASSERT_EQ(result.input.dropped.size(), 1u);
  EXPECT_EQ(result.input.dropped[0].cause, "every");
  EXPECT_EQ(result.input.dropped[0].rows, 200u);
}

}  // namespace
}  // namespace millrace
