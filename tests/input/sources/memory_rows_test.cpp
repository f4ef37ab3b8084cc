#include "millrace/input/source.h"

#include <gtest/gtest.h>

#include <utility>

#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::Lines;
using testing_support::row_text;

// Rows 0, 1, ... of a number, a text and a list.
std::shared_ptr<const RowBlock> some_rows(int64_t count, float first = 0) {
  RowSpec spec = {{{"x", DType::f32, Shape{2}}, {"name", DType::u8, Shape{1}}, {"list", DType::i64, Shape{1}}}};
  spec.fields[1].text = true;
  spec.fields[2].split = ' ';
  RowBlock rows;
  rows.configure(spec, count);
  rows.resize(count);
  for (int64_t row = 0; row < count; ++row) {
    rows.row<float>(0, row)[0] = first + static_cast<float>(row);
    rows.row<float>(0, row)[1] = 0.5f;
    rows.varying(1, row).add_text(cat("r", row));
    for (int64_t i = 0; i < row % 3; ++i) rows.varying(2, row).add_number(i);
  }
  return std::make_shared<const RowBlock>(std::move(rows));
}

InputGraph graph(const std::string& list, std::shared_ptr<const RowBlock> rows) {
  OpRegistry ops = builtin_ops();
  ops.add("memory", memory_op(std::move(rows)));
  return InputGraph::build(parse_yaml(list, "input.yaml"), ops, {.seed = 23});
}

// A line for each row, "--" behind each batch.
Lines rest_of(Pipeline& pipeline, int most = 1000) {
  Lines lines;
  RowBlock slot = pipeline.make_slot();
  for (int batch = 0; batch < most && pipeline.next(slot) > 0; ++batch) {
    for (int64_t row = 0; row < slot.size(); ++row) {
      lines.push_back(cat(pipeline.place(slot.id(row)).text(), ' ', row_text(slot, row)));
    }
    lines.emplace_back("--");
  }
  return lines;
}

Lines lines_of(const std::string& list, const std::shared_ptr<const RowBlock>& rows, Executor* executor = nullptr) {
  Pipeline pipeline(graph(list, rows), {.executor = executor});
  return rest_of(pipeline);
}

const std::string kBatches = "- batch: {batch_size: 2, allow_smaller_final_batch: true}\n";

TEST(MemoryRows, GivesTheRowsInOrder) {
  EXPECT_EQ(lines_of("- memory: {epochs: 1}\n" + kBatches, some_rows(3)),
            (Lines{"memory:1 x=0,0.5 name=\"r0\" list=", "memory:2 x=1,0.5 name=\"r1\" list=0", "--",
                   "memory:3 x=2,0.5 name=\"r2\" list=0,1", "--"}));
  EXPECT_EQ(lines_of("- memory: {epochs: 2}\n- batch: {batch_size: 1}\n", some_rows(3)).size(), 12u);
  EXPECT_EQ(lines_of("- memory\n- take: {rows: 7}\n- batch: {batch_size: 1}\n", some_rows(3)).size(), 14u);
  EXPECT_EQ(lines_of("- memory: {epochs: 5}\n" + kBatches, some_rows(0)).size(), 0u);
}

TEST(MemoryRows, AreTheSameForEveryNumberOfThreadsAndFromEveryState) {
  const auto rows = some_rows(3000);
  const std::string list =
      "- memory: {epochs: 2}\n- shuffle_batch: {batch_size: 700, capacity: 1500, min_after_dequeue: "
      "800, allow_smaller_final_batch: true}\n";
  const Lines expected = lines_of(list, rows);
  EXPECT_EQ(expected.size(), 6000u + 9u);
  for (const int threads : {1, 2, 3, 8}) {
    Executor executor(threads);
    EXPECT_EQ(lines_of(list, rows, &executor), expected) << threads << " threads";
    Pipeline pipeline(graph(list, rows), {.executor = &executor});
    Lines lines = rest_of(pipeline, threads);
    Pipeline other(graph(list, rows), {});
    other.restore(State::decode(pipeline.save().encode()));
    for (std::string& line : rest_of(other)) lines.push_back(std::move(line));
    EXPECT_EQ(lines, expected) << "from batch " << threads << " on";
  }
}

TEST(MemoryRows, AStateIsOfTheSameRows) {
  const std::string list = "- memory: {epochs: 2}\n" + kBatches;
  const auto restore = [&](const std::shared_ptr<const RowBlock>& rows) {
    const Pipeline saved(graph(list, some_rows(3)), {});
    return error_of([&] { Pipeline(graph(list, rows), {}).restore(saved.save()); });
  };
  EXPECT_EQ(restore(some_rows(3)), "no error");
  EXPECT_NE(restore(some_rows(4)).find("the saved state is of 3 rows, now there are 4 rows"), std::string::npos);
  EXPECT_NE(restore(some_rows(3, 1)).find("the rows in memory differ from the rows of the saved state"),
            std::string::npos);
}

TEST(MemoryRows, AreCheckedBeforeTheGraphIsThere) {
  EXPECT_NE(error_of([] { memory_op(nullptr); }).find("rows in memory need a block"), std::string::npos);
  RowBlock twice;
  twice.configure({{{"x", DType::f32, Shape{1}}, {"y", DType::f32, Shape{1}}, {"x", DType::i64, Shape{2}}}}, 1);
  EXPECT_NE(error_of([&] {
              graph("- memory\n" + kBatches, std::make_shared<const RowBlock>(std::move(twice)));
            }).find("memory gives two fields that are called \"x\"; each needs a name of its own"),
            std::string::npos);
}

TEST(MemoryRows, OptionsAreChecked) {
  EXPECT_NE(error_of([] { graph("- memory: {epoch: 1}\n" + kBatches, some_rows(1)); }).find("did you mean epochs?"),
            std::string::npos);
  EXPECT_NE(error_of([] { graph("- memory: {epochs: 0}\n" + kBatches, some_rows(1)); }).find("expected at least 1"),
            std::string::npos);
}

TEST(MemoryRows, TextsThatAreNotSetAreEmpty) {
  RowSpec spec = {{{"name", DType::f32, Shape{2}}}};
  spec.fields[0].text = true;
  RowBlock rows;
  rows.configure(spec, 2);
  rows.resize(2);
  rows.set_text(0, 1, "a");
  rows.add_text(0, 1, "b");
  const auto given = std::make_shared<const RowBlock>(std::move(rows));
  const std::string list =
      "- memory: {epochs: 1}\n- vocabulary: {field: name, texts: [a, \"\", b], as: n}\n" + kBatches;
  EXPECT_EQ(lines_of(list, given), (Lines{"memory:1 name=\"\",\"\" n=1,1", "memory:2 name=\"a\",\"b\" n=0,2", "--"}));
}

TEST(MemoryRows, HaveAsManyTextsAsTheirFieldsHaveColumns) {
  RowSpec spec = {{{"name", DType::f32, Shape{2}}}};
  spec.fields[0].text = true;
  RowBlock rows;
  rows.configure(spec, 3);
  rows.resize(3);
  rows.set_text(0, 2, "a");
  EXPECT_EQ(error_of([&] { memory_op(std::make_shared<const RowBlock>(std::move(rows))); }),
            "row 2 has 1 text in the field name, which is string (2)");
}

}  // namespace
}  // namespace millrace
