#include "millrace/trainer/predict/given_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/core/text.h"
#include "millrace/trainer/predict/model_reader.h"
#include "millrace/trainer/predict/network.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/paths.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class GivenTextsTest : public ::testing::Test {
 protected:
  // For a model that these ops trained, on a.csv.
  GivenTexts texts(const std::string& ops) {
    train(ops);
    const ModelFile file = ModelFile::read(model_);
    const Config config = read_saved_config(file, {}, Catalog::builtin());
    return given_texts(file, config, Catalog::builtin(), uint64_t{1} << 30);
  }
  std::vector<std::vector<std::string>> columns(const std::string& ops) {
    train(ops);
    return Network::load(model_).columns();
  }
  void train(const std::string& ops) const {
    Trainer::from_string(
        cat("device: cpu\ninput:\n", ops, "- batch: {batch_size: 2}\nmodel:\n- dense: {units: 1}\n",
            "loss: mse\noptimizer: {sgd: {learning_rate: 0.1}}\ntrain: {steps: 1}\nsave: ", model_, '\n'),
        "t.yaml")
        .run();
  }
  std::string csv(const std::string& options) const {
    return cat("- filename_queue: {files: ", quote(folder_.path("a.csv"), 4096), "}\n- csv_reader: {header: true}\n",
               "- decode_csv: {", options, "}\n");
  }
  static std::vector<std::string> names(const GivenTexts& texts) {
    std::vector<std::string> out;
    for (const GivenKey& key : texts.keys)
      out.push_back(key.list ? cat(key.name, " of ", key.columns.size()) : key.name);
    return out;
  }

  void SetUp() override { folder_.write("a.csv", "id,age,fare,sold\n1,2,3,0\n2,3,4,1\n3,3,3,1\n"); }

  TempFolder folder_;
  std::string model_ = folder_.path("m.safetensors");
};

TEST_F(GivenTextsTest, KnowTheNamesOfColumns) {
  const GivenTexts by_name = texts(csv("fields: {features: {columns: [age, fare]}, label: {columns: sold}}"));
  EXPECT_THAT(names(by_name), ElementsAre("age", "fare", "features of 2"));
  EXPECT_THAT(by_name.unread, ElementsAre("sold"));
  const GivenTexts by_index =
      texts(csv("fields: {features: {columns: 1-2}, label: {columns: 3}}, names: {1: age, 2: fare, 3: sold}"));
  EXPECT_THAT(names(by_index), ElementsAre("age", "fare", "features of 2"));
  EXPECT_THAT(by_index.unread, ElementsAre("sold"));
  EXPECT_THAT(by_index.dialect.header, ElementsAre("age", "fare"));
}

TEST_F(GivenTextsTest, KnowTheHeaderOfTheTraining) {
  const GivenTexts by_index = texts(csv("fields: {features: {columns: 1-2}, label: {columns: 3}}"));
  EXPECT_THAT(names(by_index), ElementsAre("age", "fare", "features of 2"));
  EXPECT_THAT(by_index.unread, ElementsAre("sold"));
  folder_.write("a.csv", "id,\xe9ge,fare,sold\n1,2,3,0\n2,3,4,1\n");
  const GivenTexts not_utf8 = texts(csv("fields: {features: {columns: 1-2}, label: {columns: 3}}"));
  EXPECT_THAT(names(not_utf8), ElementsAre("1", "fare", "features of 2"));
}

TEST_F(GivenTextsTest, NumberColumnsWithoutNames) {
  folder_.write("a.csv", "1,2,3,0\n2,3,4,1\n3,3,3,1\n");
  std::string nameless_csv = csv("fields: {features: {columns: 1-2}, label: {columns: 3}}");
  nameless_csv.replace(nameless_csv.find(": {header: true}"), 16, "");
  const GivenTexts nameless = texts(nameless_csv);
  EXPECT_THAT(names(nameless), ElementsAre("1", "2", "features of 2"));
  EXPECT_THAT(nameless.unread, ElementsAre("3"));
}

TEST_F(GivenTextsTest, TakeTheFieldsOfOtherRows) {
  const GivenTexts made = texts("- synthetic: {features: 3, rows: 10}\n");
  EXPECT_THAT(names(made), ElementsAre("features of 3"));
  EXPECT_THAT(made.dialect.header, ElementsAre("features[0]", "features[1]", "features[2]"));
  EXPECT_THAT(made.unread, ElementsAre("label"));
}

TEST_F(GivenTextsTest, FieldsKnowTheirColumns) {
  const std::string label = ", label: {columns: 3}}";
  EXPECT_THAT(columns(csv("fields: {features: {columns: [age, fare]}" + label)),
              ElementsAre(ElementsAre("age", "fare")));
  EXPECT_THAT(columns(csv("fields: {features: {columns: 1-2}" + label)), ElementsAre(ElementsAre("age", "fare")));
  folder_.write("a.csv", "id,age,fare,sold\n1,2,3 4,0\n2,3,4,1\n");
  EXPECT_THAT(columns(csv("fields: {features: {columns: 2, split: \" \"}" + label) + "- pad: {length: 2}\n"),
              ElementsAre(ElementsAre("fare")));
}

TEST_F(GivenTextsTest, FieldsWithoutNamesHaveNone) {
  const std::string list = csv("fields: {features: {columns: 1-2}, label: {columns: 3}}");
  folder_.write("a.csv", "id,\xe9ge,fare,sold\n1,2,3,0\n2,3,4,1\n");
  EXPECT_THAT(columns(list), ElementsAre(IsEmpty()));
  EXPECT_THAT(columns("- synthetic: {features: 3, rows: 10}\n"), ElementsAre(IsEmpty()));
}

TEST_F(GivenTextsTest, FieldsOfParquetKnowTheirColumns) {
  const std::string file = test::source_dir() + "/tests/data/formats/parquet/pyarrow-none.parquet";
  EXPECT_THAT(columns(cat("- filename_queue: {files: ", quote(file, 4096), "}\n- parquet_reader: {fields: ",
                          "{features: {columns: [x, y]}, label: {columns: flag}}}\n")),
              ElementsAre(ElementsAre("x", "y")));
}

}  // namespace
}  // namespace millrace
