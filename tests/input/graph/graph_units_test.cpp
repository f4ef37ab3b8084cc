#include "millrace/input/graph/graph_units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/input/graph/graph_list.h"
#include "millrace/input/rows/row_codec.h"
#include "millrace/input/run/unit_decoder.h"
#include "tests/input/formats.h"
#include "tests/input/graph_check.h"

namespace millrace::testing_support {
namespace {

using ::testing::HasSubstr;

// Decodes in another graph of the same list, and carries the rows as bytes.
class OtherGraph final : public Workers {
 public:
  explicit OtherGraph(InputGraph graph) : units_(std::move(graph)) {}

  std::shared_ptr<Workers> for_another_graph() override { return nullptr; }  // nobody asks
  FileSystem* files() override { return nullptr; }
  int most_units() const override { return 3; }
  void stop() noexcept override {}
  std::vector<std::string> take_news() override { return {}; }
  std::unique_ptr<UnitDecoder> decoder(const GraphImpl& graph, const TransformChain& chain, Executor&) override {
    EXPECT_EQ(difference(view_of(graph), units_.view()), "");
    return std::make_unique<Decoder>(*this, chain);
  }

  const GraphUnits& units() const { return units_; }
  std::atomic<int> elsewhere{0}, here{0};

 private:
  class Decoder final : public UnitDecoder {
   public:
    Decoder(OtherGraph& other, const TransformChain& chain)
        : other_(other), chain_(chain), rows_(std::make_shared<RowSpec>(chain.links().back().output.rows)) {}
    Executor& executor() override { return other_.waiting_; }
    void wake() noexcept override {}
    std::exception_ptr apply(Chunk& chunk, TaskMemory& memory, const std::atomic<bool>&) noexcept override {
      const std::optional<UnitNumbers> unit = numbers_of(chunk.unit);
      ++(unit ? other_.elsewhere : other_.here);
      if (!unit) return chain_.apply(chunk, memory);
      try {
        return other_.units_.decode(*unit, [&](const Chunk& made, TaskMemory&) {
          std::string bytes;
          RowCodec::encode(made, bytes);
          RowCodec::decode(bytes, rows_, chunk);
        });
      } catch (const DataError&) {  // after an error a unit may begin before its time, and nobody needs it
        return chain_.apply(chunk, memory);
      }
    }

   private:
    OtherGraph& other_;
    const TransformChain& chain_;
    const SharedRowSpec rows_;
  };

  GraphUnits units_;
  Executor waiting_{4};
};

class GraphUnitsTest : public ::testing::Test {
 protected:
  InputGraph graph(const std::string& list, std::shared_ptr<Workers> workers = nullptr) {
    return InputGraph::build(parse_yaml(list, "input.yaml"), builtin_ops(),
                             {.seed = 23, .files = &files_, .workers = std::move(workers)});
  }
  Lines lines(InputGraph built) {
    Pipeline pipeline(std::move(built), {.executor = &executor_});
    RowBlock slot = pipeline.make_slot();
    Lines out;
    try {
      while (pipeline.next(slot) > 0) {
        for (int64_t row = 0; row < slot.size(); ++row) {
          out.push_back(cat(pipeline.place(slot.id(row)).text(), ' ', row_text(slot, row)));
        }
      }
    } catch (const Error& error) {
      out.push_back(cat("error ", error.what()));
    }
    for (const Dropped& one : pipeline.summary().dropped) out.push_back(cat(one.cause, ' ', one.rows));
    out.push_back(cat("bad rows: ", pipeline.summary().bad_rows));
    return out;
  }
  // Gives the same with the other graph's units as without.
  std::shared_ptr<OtherGraph> expect_same(const std::string& list) {
    auto other = std::make_shared<OtherGraph>(graph(list));
    const Lines expected = lines(graph(list));
    EXPECT_EQ(lines(graph(list, other)), expected) << list;
    EXPECT_GT(expected.size(), 2u) << list;
    return other;
  }

  MemoryFiles files_;
  Executor executor_{2};
};

TEST_F(GraphUnitsTest, RowsOfEveryFormatAreTheSameElsewhere) {
  for (const bool small : {false, true}) {
    const FormatRows rows(small);
    for (const Format& format : FormatTable(rows).formats) {
      format.put(files_);
      const auto other = expect_same(
          cat(format.list("epochs: 2"),
              "- hold_out: {share: 0.3}\n- shuffle_batch: {batch_size: 7, capacity: 20, min_after_dequeue: 10}\n"));
      EXPECT_GT(other->elsewhere.load(), 0) << format.name;
    }
  }
}

TEST_F(GraphUnitsTest, ErrorsBadRowsAndGuessesAreTheSameElsewhere) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += cat(i, ",\"a\n", i, "\"\n");
  files_.files["quoted.csv"] = text;
  const std::string read =
      "- filename_queue: {files: quoted.csv, epochs: 2, shuffle: false}\n- csv_reader: {chunk_bytes: 29}\n"
      "- decode_csv: {fields: {x: {columns: 0, type: int32}, t: {columns: 1, type: string}}";
  expect_same(read + "}\n- filter: {field: x, op: '>=', value: 20}\n- batch: {batch_size: 7}\n");
  files_.files["quoted.csv"].replace(text.find("150,"), 3, "abc");
  expect_same(read + "}\n- batch: {batch_size: 7}\n");
  expect_same(read + ", on_bad_row: skip, max_bad_rows: 1}\n- batch: {batch_size: 7}\n");
  expect_same(
      "- filename_queue: {files: quoted.csv, epochs: 1, shuffle: false}\n"
      "- csv_reader: {chunk_bytes: 29, readers: 2}\n- decode_csv: {fields: {x: {columns: 0}}}\n"
      "- batch: {batch_size: 7}\n");
  expect_same("- synthetic: {features: 3, rows: 100}\n- repeat: {epochs: 3}\n- batch: {batch_size: 7}\n");
}

TEST_F(GraphUnitsTest, RefusesUnitsThatThereAreNot) {
  files_.files["a.csv"] = "1,1\n2,2\n";
  const GraphUnits units(graph(reading("a.csv").substr(0) + "- batch: {batch_size: 2}\n"));
  const auto refuses = [&](const UnitNumbers& unit) {
    return error_of([&] { units.decode(unit, [](const Chunk&, TaskMemory&) {}); });
  };
  EXPECT_THAT(refuses({.source = 1, .file = 0}), HasSubstr("the source is unknown"));
  EXPECT_THAT(refuses({.file = 1, .end = 2}), HasSubstr("the file is unknown"));
  EXPECT_THAT(refuses({.file = 0, .end = 9}), HasSubstr("the file is shorter"));
  EXPECT_THAT(refuses({.file = 0, .begin = 3, .end = 2}), HasSubstr("the end lies before the beginning"));
  EXPECT_THAT(refuses({.end = uint64_t{1} << 40}), HasSubstr("too many rows"));
  EXPECT_THAT(refuses({.file = 0, .end = 2, .pass = uint64_t{1} << 32}), HasSubstr("pass"));
  EXPECT_THAT(refuses({.file = 0, .end = 2, .part_begin = 4, .part_end = 9}), HasSubstr("part"));
}

TEST_F(GraphUnitsTest, SaysWhatDiffers) {
  files_.files["a.csv"] = "1,2\n";
  const std::string list = reading("a.csv") + "- batch: {batch_size: 1}\n";
  const State view = GraphUnits(graph(list)).view();
  EXPECT_EQ(difference(view, GraphUnits(graph(list)).view()), "");
  files_.files["a.csv"] = "1,3\n";
  EXPECT_EQ(difference(view, GraphUnits(graph(list)).view()), "a.csv begins with other bytes there than here");
  files_.files["a.csv"] = "1,33\n";
  EXPECT_EQ(difference(view, GraphUnits(graph(list)).view(), "at x", "at y"), "a.csv has 4 bytes at x and 5 at y");
  EXPECT_THAT(
      difference(view, GraphUnits(graph("- synthetic: {features: 3, rows: 9}\n- batch: {batch_size: 1}\n")).view()),
      HasSubstr("gives rows of"));
}

}  // namespace
}  // namespace millrace::testing_support
