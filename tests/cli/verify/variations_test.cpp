#include "millrace/cli/verify/variations.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "millrace/trainer/config/config.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/input/build_input.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

class VariationsTest : public ::testing::Test {
 protected:
  VariationsTest() {
    config_ = parse_yaml(
        "input:\n"
        "  - filename_queue: {files: \"" +
            folder_.write("a.csv", "1,2,0\n3,4,1\n") +
            "\", epochs: 9}\n"
            "  - csv_reader\n"
            "  - decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2}}}\n"
            "  - shuffle_batch: {batch_size: 2, min_after_dequeue: 5, threads: 1}\n"
            "model: [{dense: {units: 1}}]\n"
            "loss: mse\n"
            "optimizer: {sgd: {learning_rate: 0.1}}\n",
        "c.yaml");
  }

  const TempFolder folder_;
  Spec config_;
};

TEST_F(VariationsTest, AreOfKeysThatChangeNoResult) {
  std::map<std::string, std::vector<int64_t>> found;
  const Variations variations(config_, Catalog::builtin(), 2);
  for (const auto& knob : variations.knobs()) found[knob.key] = knob.values;
  const std::map<std::string, std::vector<int64_t>> expected = {
      {"input[1].chunk_bytes", {1000, 16384, 262144, 1048576}},
      {"input[3].capacity", {7, 9, 24}},
      {"input[3].threads", {1, 2, 4}}};
  EXPECT_EQ(found, expected);
}

TEST_F(VariationsTest, AreAllowedAndDifferFromEachOther) {
  const Variations variations(config_, Catalog::builtin(), 2);
  Draws draws(3, "variations");
  std::set<int> threads;
  std::set<std::string> deliveries, texts;
  for (int i = 0; i < 100; ++i) {
    const Variation one = variations.draw(draws);
    threads.insert(one.threads);
    deliveries.insert(one.delivery);
    texts.insert(one.text());
    Spec changed = config_;
    apply_overrides(changed, one.settings);
    const Config config = read_config(changed, Catalog::builtin());
    EXPECT_EQ(config.threads, one.threads);
    build_input(config, Catalog::builtin());
  }
  EXPECT_EQ(threads, (std::set<int>{1, 2, 3, 4}));
  EXPECT_EQ(deliveries, (std::set<std::string>{"feed", "native", "queue", "staging"}));
  EXPECT_GT(texts.size(), 50u);
}

TEST_F(VariationsTest, AreTheSameForTheSameSeed) {
  const Variations variations(config_, Catalog::builtin(), 2);
  Draws one(3, "variations"), same(3, "variations"), other(4, "variations");
  int differences = 0;
  for (int i = 0; i < 10; ++i) {
    const std::string text = variations.draw(one).text();
    EXPECT_EQ(variations.draw(same).text(), text);
    differences += variations.draw(other).text() == text ? 0 : 1;
  }
  EXPECT_GT(differences, 5);
}

}  // namespace
}  // namespace millrace::cli
