#include <gtest/gtest.h>

#include "millrace/input/graph/pipeline.h"
#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::list_of;
using testing_support::MemoryFiles;
using testing_support::row_text;

// Columns a, b (float32), c (float64) and d (int32) of t.csv, then normalize with `options`, in batches of 2.
class NormalizeTest : public ::testing::Test {
 protected:
  NormalizeTest() { files_.files["t.csv"] = "1,2,3,4\n-1,nan,1e300,5\n0.5,inf,16777217,6\n"; }
  InputGraph graph(const Spec& options) {
    const auto columns = [](const char* text, const char* type) {
      return Spec::map().set("columns", text).set("type", type);
    };
    Spec fields = Spec::map();
    fields.set("ab", columns("0-1", "float32")).set("c", columns("2", "float64")).set("d", columns("3", "int32"));
    Spec list = Spec::list();
    list.append(Spec::map().set("filename_queue", Spec::map().set("files", "t.csv").set("epochs", 1)));
    list.append(Spec::of("csv_reader"));
    list.append(Spec::map().set("decode_csv", Spec::map().set("fields", fields)));
    list.append(Spec::map().set("normalize", options));
    list.append(Spec::map().set("batch", Spec::map().set("batch_size", 2).set("allow_smaller_final_batch", true)));
    return InputGraph::build(list, builtin_ops(), {.files = &files_});
  }
  std::vector<std::string> rows(const Spec& options) {
    Pipeline pipeline(graph(options), {});
    RowBlock slot = pipeline.make_slot();
    std::vector<std::string> out;
    while (pipeline.next(slot) > 0) {
      for (int64_t row = 0; row < slot.size(); ++row) out.push_back(row_text(slot, row));
    }
    return out;
  }

  MemoryFiles files_;
};

TEST_F(NormalizeTest, TakesTheMeanAwayAndDivides) {
  const Spec options = Spec::map().set("fields", "ab").set("mean", 1).set("std", 0.5);
  EXPECT_EQ(rows(options),
            (std::vector<std::string>{"ab=0,2 c=3 d=4", "ab=-4,nan c=1e+300 d=5", "ab=-1,inf c=16777217 d=6"}));
}

TEST_F(NormalizeTest, HasNumbersForEachColumnOfItsFields) {
  Spec options = Spec::map();
  options.set("fields", list_of({"ab", "c"}));
  options.set("mean", list_of(std::vector<double>{1, 2, 16777217}))
      .set("std", list_of(std::vector<double>{2, 4, 0.25}));
  EXPECT_EQ(rows(options),
            (std::vector<std::string>{"ab=0,0 c=-67108856 d=4", "ab=-1,nan c=4e+300 d=5", "ab=-0.25,inf c=0 d=6"}));
}

TEST_F(NormalizeTest, ChangesNothingByDefault) {
  EXPECT_EQ(rows(Spec::map().set("fields", list_of({"c", "ab"})))[2], "ab=0.5,inf c=16777217 d=6");
}

// Beside fields that it changes in place, and fields that it leaves alone.
TEST_F(NormalizeTest, MakesFloat32OfBytes) {
  files_.files["t.csv"] = "0,255,7,ann,0.5\n100,51,8,bob,1.5\n";
  const auto reading = [&](const char* type, const char* after) {
    return GraphCheck(files_, cat("- filename_queue: {files: t.csv, epochs: 1}\n- csv_reader\n- decode_csv: {fields: "
                                  "{x: {columns: 0-1, type: ",
                                  type, "}, n: {columns: 2, type: int32}, s: {columns: 3, type: string}, y: {columns: ",
                                  "4}}}\n", after, "- batch: {batch_size: 2}\n"));
  };
  constexpr auto kNormalize = "- normalize: {fields: [y, x], mean: [0.5, 0, 51], std: [0.5, 4, 51]}\n";
  const GraphCheck bytes = reading("uint8", kNormalize);
  EXPECT_EQ(reading("uint8", "").graph().output().rows.fields[0].type_text(), "uint8 (2)");
  EXPECT_EQ(bytes.graph().output().rows.text(), "x: float32 (2), n: int32 (1), s: string (1), y: float32 (1)");
  EXPECT_EQ(bytes.check(), (Lines{"t.csv:1 x=0,4 n=7 s=\"ann\" y=0", "t.csv:2 x=25,0 n=8 s=\"bob\" y=2"}));
  constexpr auto kUneven = "- normalize: {fields: x, mean: 33.1, std: 78.57}\n";
  EXPECT_EQ(reading("uint8", kUneven).check(), reading("float32", kUneven).check());
}

TEST_F(NormalizeTest, RefusesWhatDoesNotFit) {
  const auto error = [this](const Spec& options) { return error_of([&] { graph(options); }); };
  const auto ends = [](const std::string& text, const std::string& end) { return text.ends_with(end) ? end : text; };
  const auto expect = [&](const Spec& options, const std::string& text) {
    EXPECT_EQ(ends(error(options), text), text);
  };
  expect(Spec::map().set("fields", "d"), "normalize changes float32, float64 and uint8 fields, d is int32 (1)");
  expect(Spec::map().set("fields", "e"), "there is no field \"e\" in ab: float32 (2), c: float64 (1), d: int32 (1)");
  expect(Spec::map().set("fields", list_of({"c", "ab", "c"})), "the field \"c\" is named twice");
  expect(Spec::map().set("fields", "ab").set("mean", list_of(std::vector<double>{1, 2, 3})),
         "mean: expected one number or 2, one for each column, got 3");
  expect(Spec::map().set("fields", "ab").set("std", list_of(std::vector<double>{1, 0})),
         "std[1]: expected more than 0, got 0");
  expect(Spec::map().set("mean", 1),
         "the key fields is required (text or list); fields: the fields to change, of type float32, float64 or uint8, "
         "which becomes float32");
}

}  // namespace
}  // namespace millrace
