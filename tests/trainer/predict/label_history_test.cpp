#include "millrace/trainer/predict/label_history.h"

#include <gtest/gtest.h>

#include "millrace/core/text.h"
#include "millrace/trainer/files/yaml.h"

namespace millrace {
namespace {

FieldHistory history_of(const std::string& ops, const std::string& loss = "mse") {
  const Config config = read_config(
      parse_yaml(cat("input:\n  - filename_queue: {files: none.csv}\n  - csv_reader\n  - decode_csv: {fields: {label: "
                     "{columns: 0}}}\n",
                     ops, "  - batch: {batch_size: 1}\nmodel: [{dense: {units: 1}}]\nloss: ", loss,
                     "\noptimizer: {sgd: {learning_rate: 1}}\n"),
                 "c.yaml"),
      Catalog::builtin());
  return label_history(config, Catalog::builtin().ops);
}

TEST(LabelHistory, UndoesNormalizeAndMapFromTheLastToTheFirst) {
  const FieldHistory plain = history_of("");
  EXPECT_EQ(plain.field, "label");
  EXPECT_EQ(plain.scale, std::vector<double>{1});
  const FieldHistory once = history_of("  - normalize: {fields: label, mean: 10, std: 4}\n");
  EXPECT_EQ(once.scale, std::vector<double>{4});
  EXPECT_EQ(once.offset, std::vector<double>{10});
  // (2 x + 1 - 10) / 4 = y, so x = (4 y + 10 - 1) / 2
  const FieldHistory both = history_of(
      "  - map: {field: price, scale: 2, offset: 1, as: label}\n  - normalize: {fields: label, mean: 10, std: 4}\n");
  EXPECT_EQ(both.field, "price");
  EXPECT_EQ(both.scale, std::vector<double>{2});
  EXPECT_EQ(both.offset, std::vector<double>{4.5});
  const FieldHistory columns = history_of("  - normalize: {fields: label, mean: [1, 2], std: 3}\n");
  EXPECT_EQ(columns.scale, (std::vector<double>{3, 3}));
  EXPECT_EQ(columns.offset, (std::vector<double>{1, 2}));
}

TEST(LabelHistory, SaysWhereItIsNotKnown) {
  EXPECT_FALSE(history_of("  - normalize: {fields: [x, label], mean: [1, 2], std: 3}\n").complete);
  EXPECT_TRUE(history_of("  - normalize: {fields: [x, label], mean: 1, std: 3}\n").complete);
  EXPECT_FALSE(history_of("  - map: {field: label, scale: 0}\n").complete);
}

TEST(LabelHistory, FindsTheTextsOfClasses) {
  const FieldHistory history =
      history_of("  - vocabulary: {field: kind, texts: [a, b], as: label}\n", "softmax_cross_entropy");
  EXPECT_EQ(history.texts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(history.field, "kind");
}

}  // namespace
}  // namespace millrace
