// Rows of arrays that lie in files of their own, against rows computed by plain rules.
#include "millrace/input/arrays/array_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "millrace/core/random.h"
#include "tests/input/arrays/array_bytes.h"
#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::bytes_of_numbers;
using testing_support::error_of;
using testing_support::GraphCheck;
using testing_support::idx_array;
using testing_support::Lines;
using testing_support::MemoryFiles;
using testing_support::npy_array;
using testing_support::throws_exactly;

class ArrayFilesTest : public ::testing::Test {
 protected:
  // float32 (rows, 3): value j of row i is first + i + j / 4. Their labels are uint8: i % 10.
  void add_pair(const std::string& number, int rows, int first, bool by_columns = false) {
    std::vector<float> values;
    std::vector<uint8_t> labels;
    for (int outer = 0; outer < (by_columns ? 3 : rows); ++outer) {
      for (int inner = 0; inner < (by_columns ? rows : 3); ++inner) {
        const int i = by_columns ? inner : outer, j = by_columns ? outer : inner;
        values.push_back(static_cast<float>(first + i) + static_cast<float>(j) / 4);
      }
    }
    for (int i = 0; i < rows; ++i) labels.push_back(static_cast<uint8_t>(i % 10));
    files_.files["x" + number] = npy_array("<f4", cat("(", rows, ", 3)"), bytes_of_numbers(values), by_columns);
    files_.files["y" + number] = npy_array("|u1", cat("(", rows, ",)"), bytes_of_numbers(labels));
  }
  static std::string line(const std::string& number, int row, int first) {
    const int x = first + row;
    return cat("x", number, ":", row + 1, " features=", x, ",", x + 0.25, ",", x + 0.5, " label=", row % 10);
  }
  static std::string list(const std::string& options, const std::string& batch = "batch: {batch_size: 1}") {
    return cat("- npy_reader: {fields: {features: \"x?\", label: \"y?\"}, ", options, "}\n- ", batch, "\n");
  }
  std::string build_error(const std::string& graph) {
    return error_of([&] { GraphCheck(files_, graph).graph(); });
  }

  MemoryFiles files_;
};

TEST_F(ArrayFilesTest, GiveTheRowsOfAllFieldsTogetherFromEveryRowOn) {
  add_pair("0", 5, 0);
  add_pair("1", 7, 100, true);
  Lines expected;
  for (const auto& [number, rows, first] : {std::tuple("0", 5, 0), std::tuple("1", 7, 100)}) {
    for (int row = 0; row < rows; ++row) {
      if (!expected.empty()) expected.emplace_back("--");
      expected.push_back(line(number, row, first));
    }
  }
  for (const char* chunk_bytes : {"1", "30", "262144"}) {
    EXPECT_EQ(GraphCheck(files_, list(cat("shuffle: false, epochs: 1, chunk_bytes: ", chunk_bytes))).check(), expected)
        << chunk_bytes;
  }
}

TEST_F(ArrayFilesTest, FilesThatBelongTogetherAreShuffledTogether) {
  for (int file = 0; file < 5; ++file) add_pair(cat(file), 2, 10 * file);
  const auto pass_of = [&](const std::string& name) {
    std::string names;
    for (const std::string& row :
         GraphCheck(files_, list(cat("epochs: 3, name: ", name), "batch: {batch_size: 30}")).check()) {
      names += row.substr(0, 2);
      const int file = row[1] - '0', number = row[3] - '1';
      EXPECT_EQ(row, line(cat(file), number, 10 * file)) << "features and label of another file";
    }
    return names;
  };
  // As filename_queue orders its files: by the seed, the op's name and the pass.
  const auto expected_of = [](const std::string& name) {
    std::string names;
    for (uint64_t pass = 0; pass < 3; ++pass) {
      std::vector<int> order = {0, 1, 2, 3, 4};
      for (uint64_t i = 4; i > 0; --i) {
        std::swap(order[i], order[scale_to(philox64(23, fnv1a64(name), pass << 32 | i), i + 1)]);
      }
      for (const int file : order) names += cat("x", file, "x", file);
    }
    return names;
  };
  for (const char* name : {"arrays", "others"}) EXPECT_EQ(pass_of(name), expected_of(name));
}

TEST_F(ArrayFilesTest, ShuffleWindowsGoOnFromEveryState) {
  add_pair("0", 23, 0);
  add_pair("1", 31, 100, true);
  const Lines rows =
      GraphCheck(files_, list("epochs: 2, chunk_bytes: 26",
                              "shuffle_batch: {batch_size: 4, min_after_dequeue: 9, allow_smaller_final_batch: true}"))
          .check();
  EXPECT_EQ(std::ranges::count_if(rows, [](const std::string& row) { return row.starts_with("x"); }), 2 * (23 + 31));
}

TEST_F(ArrayFilesTest, AShardHasFilesOfItsOwn) {
  for (int file = 0; file < 4; ++file) add_pair(cat(file), 1 + file, 10 * file);
  Lines all;
  for (const char* index : {"0", "1"}) {
    const GraphCheck check(files_, list(cat("shuffle: false, epochs: 1, shard: {index: ", index, ", count: 2}"),
                                        "batch: {batch_size: 9, allow_smaller_final_batch: true}"));
    for (const std::string& row : check.check()) all.push_back(row);
  }
  EXPECT_EQ(all, (Lines{line("0", 0, 0), line("2", 0, 20), line("2", 1, 20), line("2", 2, 20), line("1", 0, 10),
                        line("1", 1, 10), line("3", 0, 30), line("3", 1, 30), line("3", 2, 30), line("3", 3, 30)}));
}

TEST_F(ArrayFilesTest, HoldOutDividesTheRows) {
  add_pair("0", 200, 0);
  const std::string before = list("shuffle: false, epochs: 1", "hold_out: {share: 0.3}") +
                             "- batch: {batch_size: 1, allow_smaller_final_batch: true}\n";
  const Lines trained = GraphCheck(files_, before).check();
  const size_t rows = (trained.size() + 1) / 2;
  EXPECT_GT(rows, 110u);
  EXPECT_LT(rows, 170u);
}

TEST_F(ArrayFilesTest, TheShareThatHasPassedIsOfTheirBytes) {
  add_pair("0", 3, 0);
  add_pair("1", 5, 100);
  Pipeline pipeline(GraphCheck(files_, list("shuffle: false, epochs: 2")).graph(), {});
  RowBlock slot = pipeline.make_slot();
  const auto first = static_cast<double>(files_.files["x0"].size()),
             second = static_cast<double>(files_.files["x1"].size());
  for (int row = 0; pipeline.next(slot) > 0; ++row) {
    const int epoch = row / 8, passed = row % 8 + 1;
    const double bytes = passed <= 3 ? first * passed / 3 : first + second * (passed - 3) / 5;
    const double share = (epoch + bytes / (first + second)) / 2;
    EXPECT_NEAR(pipeline.share().value_or(-1), share, 2 / (first + second)) << row;
  }
}

// Every type, either order, either byte order: the values that are written there.
TEST_F(ArrayFilesTest, ReadEveryTypeInEveryOrder) {
  struct Type {
    const char* descr;
    const char* field;
    bool floats;
  };
  const Type types[] = {{"|u1", "uint8", false},  {"|i1", "int32", false},  {"<i2", "int32", false},
                        {">i2", "int32", false},  {"<u2", "int32", false},  {"<i4", "int32", false},
                        {">u4", "int64", false},  {"<i8", "int64", false},  {">i8", "int64", false},
                        {"<f4", "float32", true}, {">f4", "float32", true}, {">f8", "float64", true}};
  const int rows = 6, height = 2, width = 3;
  for (const Type& type : types) {
    const size_t bytes = static_cast<size_t>(type.descr[2] - '0');
    const bool big = type.descr[0] == '>';
    const auto value = [](int i, int y, int x) { return 20 * i + 5 * y + x; };
    const auto add = [&](int i, int y, int x, std::string& out) {
      if (!type.floats) {
        out += testing_support::number_bytes(static_cast<uint64_t>(value(i, y, x)), bytes, big);
      } else if (bytes == 4) {
        out += bytes_of_numbers(std::vector<float>{static_cast<float>(value(i, y, x))}, big);
      } else {
        out += bytes_of_numbers(std::vector<double>{static_cast<double>(value(i, y, x))}, big);
      }
    };
    std::string by_rows, by_columns;
    for (int i = 0; i < rows; ++i)
      for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) add(i, y, x, by_rows);
    for (int x = 0; x < width; ++x)
      for (int y = 0; y < height; ++y)
        for (int i = 0; i < rows; ++i) add(i, y, x, by_columns);
    Lines expected;
    for (int i = 0; i < rows; ++i) {
      std::string row = cat("a.npy:", i + 1, " v=");
      for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) row += cat(y + x > 0 ? "," : "", value(i, y, x));
      expected.push_back(row);
    }
    for (const bool columns : {false, true}) {
      files_.files["a.npy"] = npy_array(type.descr, "(6, 2, 3)", columns ? by_columns : by_rows, columns);
      for (const char* chunk : {"1", "20", "1000"}) {
        const GraphCheck check(files_, cat("- npy_reader: {fields: {v: a.npy}, epochs: 1, chunk_bytes: ", chunk,
                                           "}\n- batch: {batch_size: 6}\n"));
        EXPECT_EQ(check.run(), expected) << type.descr << (columns ? " by columns" : "");
        EXPECT_EQ(check.graph().output().rows.text(), cat("v: ", type.field, " (2, 3)"));
      }
    }
  }
}

TEST_F(ArrayFilesTest, ReadRowsThatFillTheirPlaceAsTheyAre) {
  std::vector<float> values(16 * 40);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 3;
  files_.files["a.npy"] = npy_array("<f4", "(40, 16)", bytes_of_numbers(values));
  const GraphCheck check(files_,
                         "- npy_reader: {fields: {v: a.npy}, epochs: 1, chunk_bytes: 200}\n"
                         "- batch: {batch_size: 8}\n");
  check.check();
  Pipeline pipeline(check.graph(), {});
  RowBlock slot = pipeline.make_slot();
  std::vector<float> got;
  while (pipeline.next(slot) > 0) {
    for (int64_t row = 0; row < slot.size(); ++row) {
      const auto numbers = std::as_const(slot).numbers<float>(0, row);
      got.insert(got.end(), numbers.begin(), numbers.end());
    }
  }
  EXPECT_EQ(got, values);
}

TEST_F(ArrayFilesTest, RefuseFilesThatDoNotBelongTogether) {
  add_pair("0", 3, 0);
  add_pair("1", 4, 0);
  files_.files.erase("y1");
  const std::string graph = list("epochs: 1");
  EXPECT_EQ(build_error(graph),
            "input.yaml:1:48: the field features has 2 files, the field label has 1; the field label has no file for "
            "x1");
  EXPECT_TRUE((throws_exactly<DataError>([&] { GraphCheck(files_, graph).graph(); })));
  add_pair("1", 4, 0);
  files_.files["y2"] = files_.files["y1"];
  EXPECT_EQ(build_error(graph),
            "input.yaml:1:48: the field features has 2 files, the field label has 3; the field features has no file "
            "for y2");
  files_.files.erase("y2");
  files_.files["y1"] = npy_array("|u1", "(3,)", "abc");
  EXPECT_EQ(build_error(graph), "x1: the array of features has 4 rows, the array of label has 3 rows in y1");
  files_.files["y1"] = npy_array("<f4", "(4,)", std::string(16, 'x'));
  EXPECT_EQ(build_error(graph), "y1: the field label is float32 (1) here, and uint8 (1) in y0");
  files_.files["y1"] = npy_array("|u1", "(4, 2)", std::string(8, 'x'));
  EXPECT_EQ(build_error(graph), "y1: the field label is uint8 (2) here, and uint8 (1) in y0");
  // Types that one field holds may differ.
  files_.files["y0"] = npy_array("|i1", "(3,)", "abc");
  files_.files["y1"] = npy_array(">i2", "(4,)", std::string(8, 'x'));
  EXPECT_EQ(build_error(graph), "no error");
}

TEST_F(ArrayFilesTest, NameTheFileThatIsWrong) {
  add_pair("0", 3, 0);
  const std::string graph = list("epochs: 1");
  files_.files["y0"].pop_back();
  EXPECT_EQ(build_error(graph),
            "y0: the header says shape (3,), with 1 byte a number, but 2 bytes follow it; was the file cut short, or "
            "does it hold several arrays?");
  files_.files["y0"] = "1\n2\n3\n";
  EXPECT_EQ(build_error(graph),
            "y0: this is no array of NumPy: it does not begin with \\x93NUMPY; the file looks like text: csv_reader "
            "reads CSV");
  files_.files["x0"] = npy_array("<f4", "(0, 3)", "");
  files_.files["y0"] = npy_array("|u1", "(0,)", "");
  EXPECT_EQ(build_error(graph), "x0: the array has no rows");
  files_.files.erase("y0");
  EXPECT_TRUE((throws_exactly<MissingError>([&] { GraphCheck(files_, graph).graph(); })));
  files_.streams["y0"] = {"abc"};
  EXPECT_EQ(build_error(graph), "y0: arrays cannot be read from a pipe; write the data to a file first");
}

TEST_F(ArrayFilesTest, AnEmptyFileBetweenOthersIsFine) {
  add_pair("0", 2, 0);
  add_pair("1", 0, 0);
  add_pair("2", 1, 50);
  EXPECT_EQ(GraphCheck(files_, list("shuffle: false, epochs: 1", "batch: {batch_size: 3}")).check(),
            (Lines{line("0", 0, 0), line("0", 1, 0), line("2", 0, 50)}));
}

// A row of such an array would have 4 TB; there is none.
TEST_F(ArrayFilesTest, TakeNoMemoryForRowsThatAreNotThere) {
  files_.files["x0"] = npy_array("<f4", "(0, 1099511627776)", "");
  files_.files["y0"] = npy_array("|u1", "(0,)", "");
  EXPECT_EQ(build_error(list("epochs: 1")), "x0: the array has no rows");
}

TEST_F(ArrayFilesTest, AFileThatShrinksIsAnErrorWithItsName) {
  add_pair("0", 3000, 0);
  const GraphCheck check(files_, list("shuffle: false, epochs: 1, chunk_bytes: 1000"));
  Pipeline pipeline(check.graph(), {});
  files_.files["x0"].resize(20000);
  RowBlock slot = pipeline.make_slot();
  EXPECT_EQ(error_of([&] {
              while (pipeline.next(slot) > 0) {
              }
            }).substr(0, 53),
            "x0: the file is shorter than when the run began: expe");
}

TEST_F(ArrayFilesTest, ASavedStateHoldsOnlyForItsFiles) {
  add_pair("0", 5, 0);
  const GraphCheck check(files_, list("shuffle: false, epochs: 1"));
  Pipeline first(check.graph(), {});
  RowBlock slot = first.make_slot();
  static_cast<void>(first.next(slot));
  const State state = first.save();
  files_.files["y0"].back() ^= 1;
  Pipeline second(check.graph(), {});
  EXPECT_NE(error_of([&] { second.restore(state); }).find("y0: the file has changed since the state was saved"),
            std::string::npos);
}

TEST_F(ArrayFilesTest, RefuseOptionsThatMakeNoSense) {
  const auto error = [&](const std::string& fields) {
    return build_error(cat("- npy_reader: {fields: ", fields, "}\n- batch: {batch_size: 1}\n"));
  };
  EXPECT_EQ(error("x.npy"),
            "input.yaml:1:24: [0].npy_reader.fields: expected a map of fields, got \"x.npy\"; for example "
            "fields: {features: x.npy, label: y.npy}");
  EXPECT_NE(error("{}").find("expected at least one field"), std::string::npos);
  EXPECT_NE(error("{x: []}").find("expected at least one file or pattern, got an empty list"), std::string::npos);
  EXPECT_NE(error("{x: {y: z}}").find("[0].npy_reader.fields.x"), std::string::npos);
}

TEST_F(ArrayFilesTest, TheBoundOfMemoryFollowsTheRows) {
  add_pair("0", 1000, 0);
  const auto bound = [&](const char* chunk_bytes) {
    return GraphCheck(files_, list(cat("chunk_bytes: ", chunk_bytes))).graph().memory_bound(2);
  };
  EXPECT_LT(bound("130"), bound("13000"));
  EXPECT_EQ(bound("13000"), bound("1000000")) << "no more rows than there are";
}

TEST_F(ArrayFilesTest, IdxFilesAreReadTheSameWay) {
  std::string pixels, labels;
  for (int i = 0; i < 3 * 4; ++i) pixels += static_cast<char>(i);
  for (int i = 0; i < 3; ++i) labels += static_cast<char>(7 + i);
  files_.files["images"] = idx_array(8, {3, 2, 2}, pixels);
  files_.files["labels"] = idx_array(8, {3}, labels);
  EXPECT_EQ(
      GraphCheck(files_,
                 "- idx_reader: {fields: {image: images, label: labels}, epochs: 1}\n"
                 "- batch: {batch_size: 3}\n")
          .check(),
      (Lines{"images:1 image=0,1,2,3 label=7", "images:2 image=4,5,6,7 label=8", "images:3 image=8,9,10,11 label=9"}));
}

}  // namespace
}  // namespace millrace
