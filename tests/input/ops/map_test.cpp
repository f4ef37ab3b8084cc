#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::MemoryFiles;

class MapTest : public ::testing::Test {
 protected:
  MapTest() { files_.files["t.csv"] = "1,2,7\n-0.5,nan,-3\n"; }
  GraphCheck graph(const std::string& ops) {
    return {files_,
            "- filename_queue: {files: t.csv, epochs: 1}\n- csv_reader: {chunk_bytes: 3}\n"
            "- decode_csv: {fields: {x: {columns: 0-1}, n: {columns: 2, type: int32}}}\n" +
                ops + "- batch: {batch_size: 10, allow_smaller_final_batch: true}\n"};
  }
  std::string refused(const std::string& options) {
    return error_of([&] { graph(cat("- map: {", options, "}\n")).graph(); });
  }
  MemoryFiles files_;
};

TEST_F(MapTest, ScalesAndShiftsInPlace) {
  EXPECT_EQ(graph("- map: {field: x, scale: 2, offset: 0.25}\n").check(),
            (Lines{"t.csv:1 x=2.25,4.25 n=7", "t.csv:2 x=-0.75,nan n=-3"}));
  EXPECT_EQ(graph("- map: {field: n, offset: -1}\n").check(), (Lines{"t.csv:1 x=1,2 n=6", "t.csv:2 x=-0.5,nan n=-4"}));
  EXPECT_EQ(graph("- map: {field: n}\n").check(), (Lines{"t.csv:1 x=1,2 n=7", "t.csv:2 x=-0.5,nan n=-3"}));
}

TEST_F(MapTest, MakesANewField) {
  EXPECT_EQ(
      graph("- map: {field: x, scale: -1, as: minus}\n- map: {name: m, field: n, scale: 3, as: triple}\n").check(),
      (Lines{"t.csv:1 x=1,2 n=7 minus=-1,-2 triple=21", "t.csv:2 x=-0.5,nan n=-3 minus=0.5,nan triple=-9"}));
}

TEST_F(MapTest, RoundsOnce) {
  files_.files["t.csv"] = "16777216,0,0\n";
  EXPECT_EQ(graph("- map: {field: x, scale: 3, offset: 1}\n").check(), Lines{"t.csv:1 x=50331648,1 n=0"});
}

TEST_F(MapTest, AnIntegerThatOverflowsIsAnErrorOfItsRow) {
  files_.files["t.csv"] = "1,2,7\n1,2,2147483647\n";
  EXPECT_EQ(graph("- map: {field: n, offset: 1}\n").check(),
            Lines{"error t.csv:2: the field n holds 2147483647, whose result is out of the range of int32"});
}

TEST_F(MapTest, OnlyTheResultOfIntegersMustFit) {
  files_.files["t.csv"] = "-9223372036854775808\n4611686018427387904\n";
  const std::string int64 =
      "- filename_queue: {files: t.csv, epochs: 1}\n- csv_reader\n"
      "- decode_csv: {fields: {n: {columns: 0, type: int64}}}\n";
  const std::string batch = "- batch: {batch_size: 2}\n";
  EXPECT_EQ(GraphCheck(files_, int64 + "- map: {field: n, scale: -1, offset: -1}\n" + batch).check(),
            (Lines{"t.csv:1 n=9223372036854775807", "t.csv:2 n=-4611686018427387905"}));
  EXPECT_EQ(GraphCheck(files_, int64 + "- skip: {rows: 1}\n- map: {field: n, scale: 2}\n" + batch).check(),
            Lines{"error t.csv:2: the field n holds 4611686018427387904, whose result is out of the range of int64"});
}

TEST_F(MapTest, KeepsBytes) {
  files_.files["t.csv"] = "7\n250\n";
  const auto bytes = [this](const std::string& options) {
    return GraphCheck(files_, cat("- filename_queue: {files: t.csv, epochs: 1}\n- csv_reader\n"
                                  "- decode_csv: {fields: {n: {columns: 0, type: uint8}}}\n- map: {field: n, ",
                                  options, "}\n- batch: {batch_size: 2}\n"));
  };
  EXPECT_EQ(bytes("scale: -1, offset: 255").check(), (Lines{"t.csv:1 n=248", "t.csv:2 n=5"}));
  EXPECT_EQ(bytes("offset: 5").graph().output().rows.text(), "n: uint8 (1)");
  EXPECT_EQ(bytes("offset: 6").check(),
            Lines{"error t.csv:2: the field n holds 250, whose result is out of the range of uint8"});
  EXPECT_EQ(
      error_of([&] { bytes("scale: 0.5").graph(); }),
      "input.yaml:4:3: [3]: scale: expected a whole number for the field n of uint8 (1), got 0.5; normalize makes "
      "float32 numbers of a uint8 field");
}

TEST_F(MapTest, RefusesWhatItCannotCompute) {
  EXPECT_EQ(refused("field: n, scale: 0.5"),
            "input.yaml:4:3: [3]: scale: expected a whole number for the field n of int32 (1), got 0.5; read the field "
            "as float32 to scale it like that");
  EXPECT_EQ(
      refused("field: x, as: n"),
      "input.yaml:4:3: [3]: there is a field \"n\" already: x: float32 (2), n: int32 (1); give the new one another "
      "name");
  EXPECT_NE(refused("field: z").find("there is no field \"z\""), std::string::npos);
}

}  // namespace
}  // namespace millrace
