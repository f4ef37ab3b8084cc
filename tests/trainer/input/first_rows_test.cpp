#include "millrace/trainer/input/first_rows.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

// Passes rows on, whatever its option says.
class Keep final : public RowBuffer {
 public:
  struct Options {
    int64_t rows = 1;
    void declare(OptionReader& o) {
      o.optional("rows", rows, "how many");
      o.stands_alone("rows");
    }
  };
  static constexpr std::string_view kDoc = "passes rows on";
  explicit Keep(const Options&) {}
  RowSpan pull(int64_t at_most) override { return input().pull(at_most); }
  void save(State&) const override {}
  void restore(const State&) override {}
};

class FirstRowsTest : public ::testing::Test {
 protected:
  FirstRowsTest() {
    folder_.write("a.csv", "1,0,1\n2,1,1\n3,0,1\n");
    folder_.write("b.csv", "4,1,1\n");
  }

  FirstRows check(const std::string& source, const std::string& more = {}) {
    const Trainer trainer = Trainer::from_spec(
        parse_yaml("input:\n" + source + "model: [{dense: {units: 1}}]\noptimizer: {sgd: {learning_rate: 0.1}}\n" +
                       (more.empty() ? "loss: sigmoid_cross_entropy\n" : more),
                   "config.yaml"),
        catalog_);
    return check_first_rows(trainer.config(), catalog_.ops, const_cast<Trainer&>(trainer).model(), executor_);
  }
  std::string files(const std::string& options = {}, const std::string& decode = {}) const {
    return "  - filename_queue: {files: \"" + folder_.path("*.csv") + "\"" + options +
           "}\n  - csv_reader\n  - decode_csv: {fields: {features: {columns: 0}, label: {columns: 1}, w: {columns: "
           "2}}" +
           decode + "}\n  - shuffle_batch: {batch_size: 2, capacity: 4, min_after_dequeue: 2}\n";
  }

  TempFolder folder_;
  Catalog catalog_ = Catalog::builtin();
  Executor executor_{2};
};

TEST_F(FirstRowsTest, ReadsABatchFromTheStart) {
  const FirstRows first = check(files());
  EXPECT_EQ(first.rows, 2);
  EXPECT_EQ(first.warning, "");
}

TEST_F(FirstRowsTest, LooksAtTheFirstFileHoweverTheTrainingMixesThem) {
  folder_.write("a.csv", "1,0,1\n2,9,1\n");
  for (const char* seed : {"1", "2", "3", "4", "5"}) {
    EXPECT_EQ(error_of<DataError>([&] {
                check(files(", shuffle: true"), std::string("loss: sigmoid_cross_entropy\nseed: ") + seed + "\n");
              }).substr(0, folder_.path("a.csv:2: ").size()),
              folder_.path("a.csv:2: "));
  }
}

TEST_F(FirstRowsTest, LooksAtWeights) {
  const std::string weighted = "loss: {sigmoid_cross_entropy: {weight: w}}\n";
  EXPECT_EQ(check(files(), weighted).rows, 2);
  folder_.write("a.csv", "1,0,-1\n");
  EXPECT_THROW(check(files(), weighted), DataError);
}

TEST_F(FirstRowsTest, BadRowsThatATrainingLeavesOutAreAWarning) {
  folder_.write("a.csv", "1,0,1\nx,1,1\n");
  EXPECT_THROW(check(files()), DataError);
  const FirstRows first = check(files({}, ", on_bad_row: skip"));
  EXPECT_EQ(first.rows, 0);
  EXPECT_TRUE(first.warning.starts_with(folder_.path("a.csv:2:1: "))) << first.warning;
}

TEST_F(FirstRowsTest, OpsMayHaveAValueInPlaceOfOptions) {
  catalog_.ops.add<Keep>("keep");
  const std::string keeping = files().insert(files().find("  - shuffle_batch"), "  - keep: 3\n");
  EXPECT_EQ(check(keeping).rows, 2);
  folder_.write("a.csv", "x,0,1\n");
  EXPECT_THROW(check(keeping), DataError);
}

TEST_F(FirstRowsTest, SaysWhereThereAreNone) {
  folder_.write("a.csv", "");
  folder_.write("b.csv", "");
  EXPECT_EQ(check(files()).warning, "the files have no rows");
  const FirstRows made = check("  - synthetic: {rows: 10, features: 3}\n  - batch: {batch_size: 2}\n");
  EXPECT_EQ(made.rows, 0);
  EXPECT_EQ(made.warning, "");
}

}  // namespace
}  // namespace millrace
