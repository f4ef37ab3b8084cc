// tests/trainer/predict/network_test.cpp predicts with such lists.
#include "millrace/trainer/predict/given_rows.h"

#include <gtest/gtest.h>

#include <optional>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/files/saved_model.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "millrace/trainer/predict/model_reader.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

class GivenRowsTest : public ::testing::Test {
 protected:
  // Saves a model that was trained with this input list, and reads it again.
  void save(const std::string& input) {
    const std::string path = folder_.path("m.safetensors");
    Trainer::from_string(cat("device: cpu\ninput:\n", input, "- batch: {batch_size: 2}\nmodel: [{dense: {units: 1}}]\n",
                             "loss: mse\noptimizer: {sgd: {learning_rate: 0.1}}\n"),
                         "t.yaml")
        .save(path);
    file_.emplace(ModelFile::read(path));
    config_ = read_saved_config(*file_, {}, Catalog::builtin());
  }
  // A reader of three features and a label, with this name.
  std::string reader(const std::string& name, const std::string& more = {}) {
    return cat("- filename_queue: {name: f", name, ", files: ", quote(folder_.write("a.csv", "1,2,3,1\n"), 4096),
               ", epochs: 1}\n- csv_reader: {name: r", name, "}\n- decode_csv: {name: ", name,
               ", fields: {features: {columns: 0-2", more, "}, label: {columns: 3}}}\n");
  }
  GivenRows given(uint64_t max_bytes = 1000) const {
    return given_rows(*file_, config_, Catalog::builtin(), max_bytes);
  }
  // The kinds of the list, in order.
  static std::vector<std::string> kinds(const std::vector<Spec>& ops) {
    std::vector<std::string> out;
    for (const Spec& op : ops) out.push_back(kind_and_options(op, "an op").kind);
    return out;
  }
  using Kinds = std::vector<std::string>;

  TempFolder folder_;
  std::optional<ModelFile> file_;
  Config config_;
};

TEST_F(GivenRowsTest, TakeThePlaceOfWhatReadsAndDecodes) {
  save(reader("a", ", default: 7") + "- normalize: {fields: features, mean: 1, std: 2}\n" +
       "- normalize: {fields: label, mean: 0, std: 4}\n");
  const GivenRows rows = given();
  EXPECT_EQ(kinds(rows.list.items()), (Kinds{"given rows", "given values", "normalize", "batch"}));
  EXPECT_EQ(kinds(rows.transforms()), (Kinds{"given values", "normalize"})) << "the label is not read";
  EXPECT_EQ(to_yaml(rows.list).find("from:"), std::string::npos);
  EXPECT_EQ(InputGraph::build(rows.list, rows.registry, {}).output().rows.text(), "features: float32 (3)");
  const FieldHistory label = label_of_given_rows(config_, Catalog::builtin());
  EXPECT_EQ(label.scale, std::vector<double>{4});
  EXPECT_TRUE(label.complete);
}

TEST_F(GivenRowsTest, ComeAfterTheLastJoin) {
  save(reader("a") + reader("b") + "- normalize: {name: n, fields: label, mean: 0, std: 4}\n" +
       "- mix: {name: both, from: [a, n]}\n- normalize: {from: both, fields: features, mean: 1, std: 2}\n");
  EXPECT_EQ(kinds(given().list.items()), (Kinds{"given rows", "normalize", "batch"}));
  EXPECT_FALSE(label_of_given_rows(config_, Catalog::builtin()).complete) << "one of the inputs changes it";
}

TEST_F(GivenRowsTest, AreOfABoundedSize) {
  save(reader("a"));
  EXPECT_EQ(kinds(given().list.items()), (Kinds{"given rows", "batch"})) << "no value has a default";
  EXPECT_EQ(error_of<DataError>([&] { given(8); }),
            cat(file_->path(), ": a row would take ", saved_rows(*file_).row_bytes(), " bytes, at most 8 are allowed"));
}

}  // namespace
}  // namespace millrace
