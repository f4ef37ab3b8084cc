#include <gtest/gtest.h>

#include <string>

#include "tests/input/arrays/array_bytes.h"
#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::bytes_of_numbers;
using testing_support::error_of;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::MemoryFiles;
using testing_support::npy_array;
using testing_support::zip_file;
using testing_support::ZipPart;

class NpzReaderTest : public ::testing::Test {
 protected:
  // x is float32 (rows, 2), y is int32 (rows).
  static std::string archive(int rows, int first, bool zip64 = false, const std::vector<ZipPart>& more = {}) {
    std::vector<float> x;
    std::vector<int32_t> y;
    for (int i = 0; i < rows; ++i) {
      x.insert(x.end(), {static_cast<float>(first + i), 0.5F});
      y.push_back(i);
    }
    std::vector<ZipPart> parts = {{"x.npy", npy_array("<f4", cat("(", rows, ", 2)"), bytes_of_numbers(x)), 0, zip64},
                                  {"y.npy", npy_array("<i4", cat("(", rows, ",)"), bytes_of_numbers(y)), 0, zip64}};
    parts.insert(parts.end(), more.begin(), more.end());
    return zip_file(parts, zip64);
  }
  GraphCheck check(const std::string& options = "fields: {features: x, label: y}",
                   const std::string& batch = "batch: {batch_size: 1}") {
    return {files_, cat("- filename_queue: {files: \"*.npz\", shuffle: false, epochs: 1}\n- npz_reader: {", options,
                        "}\n- ", batch, "\n")};
  }
  std::string build_error(const std::string& options = "fields: {features: x, label: y}") {
    return error_of([&] { check(options).graph(); });
  }

  MemoryFiles files_;
};

TEST_F(NpzReaderTest, ReadsArraysOfArchivesFromEveryRowOn) {
  files_.files["a.npz"] = archive(3, 0);
  files_.files["b.npz"] = archive(4, 10, true);
  Lines expected;
  for (const auto& [file, rows, first] : {std::tuple("a", 3, 0), std::tuple("b", 4, 10)}) {
    for (int row = 0; row < rows; ++row) {
      if (!expected.empty()) expected.emplace_back("--");
      expected.push_back(cat(file, ".npz:", row + 1, " features=", first + row, ",0.5 label=", row));
    }
  }
  for (const char* chunk : {"1", "25", "262144"}) {
    EXPECT_EQ(check(cat("fields: {features: x, label: y.npy}, chunk_bytes: ", chunk)).check(), expected) << chunk;
  }
}

TEST_F(NpzReaderTest, ReadsOnlyTheArraysThatAreNamed) {
  files_.files["a.npz"] = archive(2, 5, false, {{"other.npy", "no array", 8}, {"folder/x.npy", "", 0}});
  EXPECT_EQ(check("fields: {label: y}", "batch: {batch_size: 2}").check(),
            (Lines{"a.npz:1 label=0", "a.npz:2 label=1"}));
}

TEST_F(NpzReaderTest, SaysWhatTheArchiveHas) {
  files_.files["a.npz"] = archive(2, 5);
  EXPECT_EQ(build_error("fields: {features: x, label: labels}"),
            "a.npz: array \"labels\": the archive has no such array; it has x and y");
  files_.files["a.npz"] = archive(2, 5, false, {{"label.npy", "", 0}});
  EXPECT_EQ(build_error("fields: {features: x, label: labels}"),
            "a.npz: array \"labels\": the archive has no such array; did you mean label?");
  files_.files["a.npz"] = zip_file({});
  EXPECT_EQ(build_error(), "a.npz: array \"x\": the archive has no such array; it is empty");
}

TEST_F(NpzReaderTest, RefusesWhatItCannotRead) {
  const std::string ones = npy_array("|u1", "(1,)", "1");
  const auto error = [&](const ZipPart& part) {
    files_.files["a.npz"] = zip_file({part});
    return build_error("fields: {features: x}");
  };
  EXPECT_EQ(error({"x.npy", ones}), "no error");
  EXPECT_EQ(error({"x.npy", ones, 12}),
            "a.npz: array \"x\": the array is compressed by method 12 of zip, only 8 (deflate) is read");
  EXPECT_EQ(error({.name = "x.npy", .bytes = ones, .size = ones.size() + 1}),
            "a.npz: array \"x\": the zip archive is damaged, at byte 0 of the file");
  EXPECT_EQ(error({.name = "x.npy", .bytes = ones, .flags = 1}), "a.npz: array \"x\": the array is encrypted");
  EXPECT_EQ(error({"x.npy", npy_array("<c8", "(1,)", "12345678")}),
            "a.npz: array \"x\": the array holds complex numbers (\"<c8\"), expected numbers; save a.real and a.imag, "
            "each in a file of its own");
  EXPECT_EQ(error({"x.npy", ones + "x"}).substr(0, 47), "a.npz: array \"x\": the header says shape (1,), w");
  files_.files["a.npz"] = "no archive";
  EXPECT_EQ(build_error(), "a.npz: this is no zip archive; the file looks like text: csv_reader reads CSV");
}

TEST_F(NpzReaderTest, TheArraysOfAnArchiveHaveEquallyManyRows) {
  files_.files["a.npz"] =
      zip_file({{"x.npy", npy_array("|u1", "(2,)", "12")}, {"y.npy", npy_array("|u1", "(1,)", "1")}});
  EXPECT_EQ(build_error(), "a.npz: the array of features has 2 rows, the array of label has 1 row");
}

// As NumPy reads them.
TEST_F(NpzReaderTest, AnArrayMayHaveANameWithoutEnding) {
  files_.files["a.npz"] = zip_file({{"x", npy_array("|u1", "(1,)", "1")}});
  EXPECT_EQ(check("fields: {v: x}").check(), (Lines{cat("a.npz:1 v=", static_cast<int>('1'))}));
  files_.files["a.npz"] = zip_file({{"x.npy", npy_array("|u1", "(1,)", "2")}, {"x", npy_array("|u1", "(1,)", "1")}});
  EXPECT_EQ(check("fields: {v: x}").check(), (Lines{cat("a.npz:1 v=", static_cast<int>('2'))}));
  files_.files["a.npz"] = zip_file({{"x", "\1\2"}});
  EXPECT_EQ(build_error("fields: {v: x}"),
            "a.npz: array \"x\": this is no array of NumPy: it does not begin with \\x93NUMPY");
}

// As NumPy reads them.
TEST_F(NpzReaderTest, TheLastArrayOfANameCounts) {
  files_.files["a.npz"] =
      zip_file({{"x.npy", npy_array("|u1", "(1,)", "1")}, {"x.npy", npy_array("|u1", "(1,)", "2")}});
  EXPECT_EQ(check("fields: {v: x}").check(), (Lines{cat("a.npz:1 v=", static_cast<int>('2'))}));
}

TEST_F(NpzReaderTest, RefusesOptionsThatMakeNoSense) {
  files_.files["a.npz"] = archive(1, 0);
  EXPECT_NE(build_error("fields: x")
                .find("expected a map of fields, got \"x\"; for example fields: "
                      "{features: x, label: y}"),
            std::string::npos);
  EXPECT_NE(build_error("fields: {}").find("expected at least one field"), std::string::npos);
  EXPECT_NE(build_error("fields: {x: [y]}").find("[1].npz_reader.fields.x"), std::string::npos);
}

}  // namespace
}  // namespace millrace
