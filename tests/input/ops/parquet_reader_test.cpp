#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/input/graph_check.h"
#include "tests/input/parquet/parquet_bytes.h"
#include "tests/support/paths.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::bytes_of_numbers;
using testing_support::ChunkParts;
using testing_support::data_page;
using testing_support::error_of;
using testing_support::FileParts;
using testing_support::GraphCheck;
using testing_support::kFloat;
using testing_support::kInt32;
using testing_support::kInt64;
using testing_support::Lines;
using testing_support::MemoryFiles;
using testing_support::packed_run;
using testing_support::plain_chunk;
using testing_support::row_text;
using testing_support::sized;
using testing_support::Thrift;

class ParquetReaderTest : public ::testing::Test {
 protected:
  // Column x of float32 and y of int64, whose numbers are missing where `y` has 0; groups of 3 rows.
  static std::string file_of(const std::vector<float>& x, const std::vector<int64_t>& y, bool with_bounds = false) {
    FileParts file{.schema = {{.name = "x", .type = kFloat}, {.name = "y", .type = kInt64, .repetition = 1}}};
    for (size_t at = 0; at < x.size(); at += 3) {
      const size_t end = std::min(at + 3, x.size());
      const std::vector<float> some(x.begin() + static_cast<ptrdiff_t>(at), x.begin() + static_cast<ptrdiff_t>(end));
      std::vector<uint64_t> levels;
      std::vector<int64_t> there;
      for (size_t i = at; i < end; ++i) {
        levels.push_back(y[i] != 0 ? 1 : 0);
        if (y[i] != 0) there.push_back(y[i]);
      }
      ChunkParts numbers{.type = kInt64, .values = static_cast<int64_t>(end - at)};
      numbers.pages =
          data_page({.entries = numbers.values, .body = sized(packed_run(levels, 1)) + bytes_of_numbers(there)});
      ChunkParts floats = plain_chunk(kFloat, some, 2);
      if (with_bounds) {
        const auto [least, greatest] = std::ranges::minmax(some);
        floats.statistics = Thrift().number(3, 0).text(5, bytes_of_numbers<float>({greatest}));
        floats.statistics->text(6, bytes_of_numbers<float>({least}));
      }
      file.groups.push_back({.rows = numbers.values, .chunks = {floats, numbers}});
    }
    return file.bytes();
  }
  // Makes the page that begins with x = `first` one of another version than its header describes.
  static void damage(std::string& bytes, float first) {
    const size_t body = bytes.find(bytes_of_numbers<float>({first}));
    bytes[bytes.rfind(std::string("\x16\0\x16", 3), body) + 1] = '\x06';
  }
  GraphCheck graph(const std::string& options, const std::string& ops = {}) {
    return {files_, cat("- filename_queue: {files: '*.parquet', shuffle: false, epochs: 2}\n- parquet_reader: {",
                        options, "}\n", ops, "- batch: {batch_size: 4, allow_smaller_final_batch: true}\n")};
  }
  Lines rows(const std::string& options, const std::string& ops = {}) {
    Lines out = graph(options, ops).check();
    std::erase(out, "--");
    return out;
  }
  std::string refused(const std::string& options) {
    return error_of([&] { graph(options).graph(); });
  }

  MemoryFiles files_;
};

TEST_F(ParquetReaderTest, ReadsRowsInOrderWithTheirPlacesInChunksOfAnySize) {
  files_.files["a.parquet"] = file_of({1, 2, 3, 4, 5, 6, 7}, {10, 20, 30, 40, 50, 60, 70});
  files_.files["b.parquet"] = file_of({-1}, {-10});
  Lines expected;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int i = 0; i < 7; ++i) {
      expected.push_back(cat("a.parquet:", i / 3 + 1, '/', i % 3 + 1, " x=", i + 1, " y=", 10 * (i + 1)));
    }
    expected.emplace_back("b.parquet:1/1 x=-1 y=-10");
  }
  for (const char* bytes : {"1", "300", "1048576"}) {
    EXPECT_EQ(rows(cat("chunk_bytes: ", bytes, ", fields: {x: {columns: x}, y: {columns: y, type: int32}}")), expected);
  }
}

TEST_F(ParquetReaderTest, LeavesBadRowsOutOrStopsThere) {
  files_.files["a.parquet"] = file_of({1, 2, 3, 4}, {10, 0, 3000000000, 40});
  const std::string fields = "fields: {x: {columns: x}, y: {columns: y, type: int32}}";
  for (const char* bytes : {", chunk_bytes: 1", ""}) {
    EXPECT_THAT(rows(fields + bytes),
                ElementsAre("error a.parquet:1/2: column 1 \"y\" (y): the value is missing; give y a default"));
    EXPECT_THAT(rows(fields + bytes + ", on_bad_row: skip"),
                ElementsAre("a.parquet:1/1 x=1 y=10", "a.parquet:2/1 x=4 y=40", "a.parquet:1/1 x=1 y=10",
                            "a.parquet:2/1 x=4 y=40"));
    EXPECT_THAT(
        rows(cat("fields: {y: {columns: y, type: int32, default: 5}}", bytes)),
        ElementsAre("error a.parquet:1/3: column 1 \"y\" (y): 3000000000 is out of the range of int32; set type: "
                    "int64 or float64 for y"));
  }
  EXPECT_THAT(rows(fields + ", on_bad_row: skip, max_bad_rows: 1").back(), HasSubstr("max_bad_rows"));
}

TEST_F(ParquetReaderTest, ReportsBadRowsToTheirFile) {
  files_.files["a.parquet"] = file_of({1, 2, 3}, {10, 0, 3000000000});
  const TempFolder folder;
  rows(cat("fields: {y: {columns: y, type: int32}}, on_bad_row: skip, bad_rows_file: ", folder.path("bad.jsonl")));
  const std::string bad = TempFolder::read(folder.path("bad.jsonl"));
  EXPECT_THAT(bad, HasSubstr(R"({"v":1,"file":"a.parquet:1/2","line":null,"column":null,"field":"y","text":"",)"));
  EXPECT_THAT(bad, HasSubstr(R"("file":"a.parquet:1/3","line":null,"column":null,"field":"y","text":"3000000000",)"));
}

TEST_F(ParquetReaderTest, BadRowsMayStayWithAReason) {
  files_.files["a.parquet"] = file_of({1, 2}, {10, 0});
  const std::string list =
      "[{filename_queue: {files: a.parquet, epochs: 1}}, {parquet_reader: {fields: {x: {columns: x}, y: {columns: "
      "y}}}}, "
      "{batch: {batch_size: 2}}]";
  Pipeline pipeline(
      InputGraph::build(parse_yaml(list, "l.yaml"), builtin_ops(), {.files = &files_, .bad_rows_stay = true}), {});
  RowBlock slot = pipeline.make_slot();
  ASSERT_EQ(pipeline.next(slot), 2);
  EXPECT_EQ(row_text(slot, 0), "x=1 y=10 (error)=\"\"");
  EXPECT_EQ(row_text(slot, 1), "x=2 y=0 (error)=\"column 1 \\\"y\\\" (y): the value is missing\"");
}

// However the rows are cut into chunks, those before the damage come, and a bad one that is left out still counts.
TEST_F(ParquetReaderTest, StopsAtTheFirstRowOfADamagedPage) {
  std::string bytes = file_of({1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 4, 5, 6, 7});
  damage(bytes, 6);
  files_.files["a.parquet"] = bytes;
  for (const char* chunk : {"1", "200", "1048576"}) {
    const Lines skipped =
        rows(cat("fields: {x: {columns: x}, y: {columns: y}}, on_bad_row: skip, chunk_bytes: ", chunk));
    ASSERT_EQ(skipped.size(), 5u) << chunk;
    EXPECT_EQ(skipped[3], "a.parquet:2/2 x=5 y=5");
    EXPECT_THAT(skipped[4], HasSubstr("error a.parquet:2/3: column 0 \"x\" (x): the Parquet file is damaged"));
    const Lines got = rows(cat("fields: {x: {columns: x}}, chunk_bytes: ", chunk));
    ASSERT_EQ(got.size(), 5u) << chunk;
    EXPECT_EQ(got[3], "a.parquet:2/1 x=4");
    EXPECT_THAT(got[4], HasSubstr("error a.parquet:2/3: column 0 \"x\" (x): the Parquet file is damaged"));
  }
}

TEST_F(ParquetReaderTest, DoesNotReadRowGroupsThatFilterLeavesOut) {
  std::string bytes = file_of({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 3, 4, 5, 6, 7, 8, 9}, true);
  damage(bytes, 4);
  files_.files["a.parquet"] = bytes;
  const std::string fields = "fields: {x: {columns: x}, y: {columns: y}}";
  EXPECT_THAT(
      rows(fields, "- filter: {field: x, op: '>', value: 7}\n"),
      ElementsAre("a.parquet:3/2 x=8 y=8", "a.parquet:3/3 x=9 y=9", "a.parquet:3/2 x=8 y=8", "a.parquet:3/3 x=9 y=9"));
  EXPECT_THAT(graph(fields, "- filter: {field: x, op: '>', value: 7}\n").dropped(), ElementsAre("filter 14"));
  EXPECT_THAT(rows(fields, "- filter: {field: x, op: '<=', value: 3}\n").size(), 6);
  EXPECT_THAT(rows(fields, "- map: {field: x, scale: 1}\n- filter: {field: x, op: '>', value: 7}\n").back(),
              HasSubstr("damaged"))
      << "x may have changed";
}

TEST_F(ParquetReaderTest, RefusesWhatItCannotRead) {
  files_.files["a.parquet"] = file_of({1}, {1});
  EXPECT_THAT(refused("fields: {x: {columns: z}}"), HasSubstr("the header of a.parquet has no column \"z\""));
  EXPECT_THAT(rows("fields: {x: {columns: [x, y], type: string}}"),
              ElementsAre("a.parquet:1/1 x=\"1\",\"1\"", "a.parquet:1/1 x=\"1\",\"1\""));
  files_.files["a.parquet"] = file_of({}, {});
  EXPECT_EQ(refused("fields: {x: {columns: x}}"), "a.parquet: the file has no rows");
  files_.files.clear();
  files_.streams["p.parquet"] = {"PAR1"};
  EXPECT_THAT(error_of([&] {
                GraphCheck(files_,
                           "[{filename_queue: {files: p.parquet, epochs: 1}}, {parquet_reader: {fields: {x: "
                           "{columns: x}}}}, {batch: {batch_size: 1}}]")
                    .graph();
              }),
              HasSubstr("a Parquet file cannot be read from a pipe"));
}

// The files of other programs: see tests/data/formats.
class ParquetFixtureTest : public ParquetReaderTest {
 protected:
  static std::string bytes_of(const std::string& name) {
    std::ifstream in(test::source_dir() + "/tests/data/formats/parquet/" + name, std::ios::binary);
    std::stringstream bytes;
    bytes << in.rdbuf();
    return bytes.str();
  }
  // The fields of rows.txt: of `flat` only those that fastparquet wrote.
  static std::string options(bool flat) {
    std::string out = "chunk_bytes: 700, fields: {";
    for (const char* name : {"flag", "small", "count"}) {
      out += cat(name, ": {columns: ", name, ", type: int32, default: -7}, ");
    }
    out += "big: {columns: big, type: int64, default: -7}, bits: {columns: bits, type: int64, default: -7}, ";
    out += "x: {columns: x, default: -7}, y: {columns: y, type: float64, default: -7}, ";
    if (!flat) {
      out +=
          "day: {columns: day, type: date, default: 1970-01-02}, at: {columns: at, type: timestamp, default: "
          "1970-01-02}, price: {columns: price, type: float64, default: -7}, cost: {columns: cost, type: float64, "
          "default: -7}, ";
    }
    out += "name: {columns: name, type: string, default: none}";
    if (!flat) {
      out +=
          ", tags: {columns: tags, type: string, default: [a, b]}, v: {columns: v, reshape: [3], default: [7, 8, 9]}";
    }
    return out + '}';
  }
  // The lines of rows.txt without the fields that are not there.
  static Lines expected(bool flat) {
    std::istringstream in(bytes_of("rows.txt"));
    Lines out;
    for (std::string line; std::getline(in, line);) {
      if (flat) {
        line.erase(line.find(" day="), line.find(" name=") - line.find(" day="));
        line.erase(line.find(" tags="));
      }
      out.push_back(line);
    }
    return out;
  }
};

TEST_F(ParquetFixtureTest, FilesOfAllProgramsHoldTheSameRows) {
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_dir() + "/tests/data/formats/parquet")) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".parquet") || name == "nested.parquet" || name == "brotli.parquet") continue;
    SCOPED_TRACE(name);
    const bool flat = name.starts_with("fastparquet");
    files_.files = {{name, bytes_of(name)}};
    const std::string list = cat("[{filename_queue: {files: ", name, ", epochs: 1}}, {parquet_reader: {", options(flat),
                                 "}}, {batch: {batch_size: 24}}]");
    Lines got;
    const std::string error = error_of([&] { got = GraphCheck(files_, list).run(); });
    if (error.find("is not in this build") != error.npos) continue;
    EXPECT_EQ(error, "no error");
    for (std::string& line : got) line.erase(0, line.find(' ') + 1);
    EXPECT_EQ(got, expected(flat));
    ++read;
  }
  EXPECT_GE(read, 1);
}

TEST_F(ParquetFixtureTest, NamesColumnTypeAndCodecOfWhatIsNotRead) {
  files_.files = {{"a.parquet", bytes_of("nested.parquet")}};
  for (const auto& [column, what] :
       {std::pair("m", "maps"), std::pair("s", "structs"), std::pair("n", "lists of lists")}) {
    EXPECT_THAT(refused(cat("fields: {x: {columns: ", column, "}}")),
                HasSubstr(cat("column \"", column, "\" of a.parquet holds ", what, ", which are not read")));
  }
  EXPECT_EQ(refused("fields: {x: {columns: a}}"), "no error");
  files_.files = {{"a.parquet", bytes_of("brotli.parquet")}};
  EXPECT_EQ(refused("fields: {x: {columns: a}}"),
            "a.parquet: column \"a\" (int64) is compressed by brotli, which is not read; write it with zstd or snappy");
}

}  // namespace
}  // namespace millrace
