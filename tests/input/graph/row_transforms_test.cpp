#include "millrace/input/graph/row_transforms.h"

#include <gtest/gtest.h>

#include <thread>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/csv/given_text.h"
#include "millrace/input/source.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

RowBlock numbered(int64_t count, int32_t first = 0) {
  RowBlock rows;
  rows.configure({{{"x", DType::f32, Shape{2}}, {"class", DType::i32, Shape{1}}}}, std::max<int64_t>(count, 1));
  rows.resize(count);
  for (int64_t row = 0; row < count; ++row) {
    rows.row<float>(0, row)[0] = static_cast<float>(row);
    rows.row<float>(0, row)[1] = 10;
    *rows.row<int32_t>(1, row) = first + static_cast<int32_t>(row);
  }
  return rows;
}

RowTransforms transforms(const std::string& ops) {
  OpRegistry registry = builtin_ops();
  registry.add("given", memory_op(std::make_shared<const RowBlock>(numbered(0))));
  return RowTransforms(InputGraph::build(
      parse_yaml(cat("- given: {epochs: 1}\n", ops, "- batch: {batch_size: 4}\n"), "list"), registry, {}));
}

constexpr auto kNormalize = "- normalize: {fields: x, mean: 1, std: 2}\n";

TEST(RowTransforms, DoesWhatTheGraphDoes) {
  const RowTransforms both = transforms(cat(kNormalize, "- one_hot: {field: class, classes: 3, as: hot}\n"));
  EXPECT_EQ(both.input(), numbered(1).spec());
  EXPECT_EQ(both.output().text(), "x: float32 (2), class: int32 (1), hot: float32 (3)");
  RowBlock rows = numbered(3);
  RowTransforms::Memory memory;
  both.apply(rows, 0, memory);
  EXPECT_EQ(rows.spec(), both.output());
  ASSERT_EQ(rows.size(), 3);
  EXPECT_EQ(rows.row<float>(0, 2)[0], 0.5f);
  EXPECT_EQ(rows.row<float>(0, 2)[1], 4.5f);
  EXPECT_EQ(rows.row<float>(2, 1)[0], 0.0f);
  EXPECT_EQ(rows.row<float>(2, 1)[1], 1.0f);
}

TEST(RowTransforms, CountTheWidestRow) {
  const size_t given = numbered(1).spec().row_bytes();
  EXPECT_EQ(transforms("").row_bytes(), given + sizeof(RowId));
  const RowTransforms wide = transforms("- one_hot: {field: class, classes: 1000, as: hot}\n");
  EXPECT_EQ(wide.row_bytes(), 2 * (wide.output().row_bytes() + sizeof(RowId)));
  EXPECT_GT(wide.output().row_bytes(), given + 4000);
}

TEST(RowTransforms, OfNoneLeavesRowsAsTheyAre) {
  const RowTransforms none = transforms("");
  RowBlock rows = numbered(2);
  RowTransforms::Memory memory;
  none.apply(rows, 0, memory);
  EXPECT_EQ(rows.size(), 2);
  EXPECT_EQ(rows.row<float>(0, 1)[0], 1.0f);
}

TEST(RowTransforms, NamesTheFirstRowThatIsRefused) {
  RowTransforms::Memory memory;
  const auto error = [&](const std::string& ops, RowBlock rows, uint64_t first) {
    const RowTransforms all = transforms(ops);
    return error_of<DataError>([&] { all.apply(rows, first, memory); });
  };
  const std::string hot = "- one_hot: {field: class, classes: 3, as: hot}\n";
  EXPECT_NE(error(hot, numbered(5), 0).find("row 3: "), std::string::npos) << error(hot, numbered(5), 0);
  EXPECT_NE(error(hot, numbered(5), 100).find("row 103: "), std::string::npos);
  const std::string few = "- filter: {field: class, op: \"<\", value: 2}\n";
  EXPECT_EQ(error(few, numbered(5), 7),
            "row 9 was left out by filter; every row that is given has an output, so leave such rows out before");
  // Whichever comes first.
  EXPECT_NE(error(few + hot, numbered(5), 0).find("row 2 was left out by filter"), std::string::npos);
  const std::string late = "- filter: {field: class, op: \"!=\", value: 4}\n";
  EXPECT_NE(error(late + hot, numbered(5), 0).find("row 3: "), std::string::npos);
  // It works again afterwards.
  RowBlock good = numbered(2);
  transforms(hot).apply(good, 0, memory);
  EXPECT_EQ(good.size(), 2);
}

TEST(RowTransforms, ServesManyThreads) {
  const RowTransforms shared = transforms(kNormalize);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      RowTransforms::Memory memory;
      for (int i = 0; i < 200; ++i) {
        RowBlock rows = numbered(1 + (i + static_cast<int>(t)) % 5);
        shared.apply(rows, 0, memory);
        for (int64_t row = 0; row < rows.size(); ++row) {
          if (rows.row<float>(0, row)[0] != (static_cast<float>(row) - 1) / 2) ++wrong[t];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

RowTransforms of_text(const std::string& ops) {
  OpRegistry registry = builtin_ops();
  registry.add("given", given_text_op(given_text_dialect({"x", "name"}, "")));
  const std::string decode = "- decode_csv: {fields: {x: {columns: x}, name: {columns: name, type: string}}}\n";
  return RowTransforms(
      InputGraph::build(parse_yaml(cat("- given\n", decode, ops, "- batch: {batch_size: 4}\n"), "list"), registry, {}));
}

// Rows whose texts may have line ends.
struct Texts {
  explicit Texts(std::vector<std::string> rows) {
    for (const std::string& row : rows) {
      begins.push_back(100 + text.size());  // they follow other rows
      text += row + '\n';
    }
  }
  RowTexts texts() const { return {.text = text, .begins = begins}; }

  std::string text;
  std::vector<uint64_t> begins;
};

TEST(RowTransforms, DecodeTexts) {
  const RowTransforms decoder = of_text("- normalize: {fields: x, mean: 1, std: 2}\n");
  RowTransforms::Memory memory;
  RowBlock rows;
  for (int count : {1, 3, 200}) {
    decoder.decode(Texts(std::vector<std::string>(static_cast<size_t>(count), "5,\"a\n\"\"b\"")).texts(), 0, rows,
                   memory);
    ASSERT_EQ(rows.size(), count);
    EXPECT_EQ(rows.spec(), decoder.output());
    EXPECT_EQ(rows.row<float>(0, count - 1)[0], 2.0f);
    EXPECT_EQ(rows.varying(1, count - 1).text(0), "a\n\"b");
  }
}

TEST(RowTransforms, NameTheTextThatIsWrong) {
  const RowTransforms decoder =
      of_text("- vocabulary: {field: name, texts: [a], as: code}\n- filter: {field: x, op: \">\", value: 0}\n");
  RowTransforms::Memory memory;
  RowBlock rows;
  const auto says = [&](std::vector<std::string> texts) {
    const Texts all(std::move(texts));
    return error_of<DataError>([&] { decoder.decode(all.texts(), 40, rows, memory); });
  };
  EXPECT_EQ(says({"1,\"a\"", "one,a"}), "row 41: column \"x\" (x): expected float32, got \"one\"");
  EXPECT_EQ(says({"1,a", "1,\"a\"", "1,\"\n\""}).substr(0, 24), "row 42: the field name h");
  EXPECT_EQ(says({"1,a", "0,a", "1,b"}).substr(0, 29), "row 41 was left out by filter");
  EXPECT_EQ(says({"1,a", "1"}).substr(0, 7), "row 41:");
}

}  // namespace
}  // namespace millrace
