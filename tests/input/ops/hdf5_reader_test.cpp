#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <cstdlib>
#include <string>
#include <tuple>

#include "millrace/core/descriptor.h"
#include "tests/input/graph_check.h"
#include "tests/input/hdf5/has_hdf5.h"
#include "tests/input/hdf5/hdf5_bytes.h"
#include "tests/support/paths.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using testing_support::bytes_of_numbers;
using testing_support::error_of;
using testing_support::GraphCheck;
using testing_support::hdf5_file;
using testing_support::hdf5_float;
using testing_support::hdf5_integer;
using testing_support::Lines;
using testing_support::MemoryFiles;

class Hdf5ReaderTest : public ::testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_HDF5(); }

  static std::string file(int rows, int first) {
    std::vector<float> x;
    std::vector<int16_t> y;
    for (int i = 0; i < rows; ++i) {
      x.insert(x.end(), {static_cast<float>(first + i), 0.5F});
      y.push_back(static_cast<int16_t>(i));
    }
    const auto count = static_cast<uint64_t>(rows);
    return hdf5_file({{"x", hdf5_float(4, 8), {count, 2}, bytes_of_numbers(x)},
                      {"y", hdf5_integer(2, true, true), {count}, bytes_of_numbers(y, true)}});
  }
  GraphCheck check(const std::string& options, const std::string& batch = "batch: {batch_size: 1}") {
    return {files_, cat("- filename_queue: {files: \"*.h5\", shuffle: false, epochs: 1}\n- hdf5_reader: {", options,
                        "}\n- ", batch, "\n")};
  }
  std::string build_error(const std::string& options) {
    return error_of([&] { check(options).graph(); });
  }

  MemoryFiles files_;
};

TEST_F(Hdf5ReaderTest, ReadsDatasetsRowByRow) {
  files_.files["a.h5"] = file(3, 0);
  files_.files["b.h5"] = file(4, 10);
  Lines expected;
  for (const auto& [name, rows, first] : {std::tuple("a", 3, 0), std::tuple("b", 4, 10)}) {
    for (int row = 0; row < rows; ++row) {
      if (!expected.empty()) expected.emplace_back("--");
      expected.push_back(cat(name, ".h5:", row + 1, " features=", first + row, ",0.5 label=", row));
    }
  }
  for (const char* chunk : {"1", "25", "262144"}) {
    EXPECT_EQ(check(cat("fields: {features: /x, label: y}, chunk_bytes: ", chunk)).check(), expected) << chunk;
  }
}

TEST_F(Hdf5ReaderTest, NamesFileAndDataset) {
  files_.files["a.h5"] = file(3, 0);
  EXPECT_EQ(build_error("fields: {features: /x, label: /classes}"),
            "a.h5: dataset \"/classes\": the file has no such dataset; it has /x and /y");
  files_.files["a.h5"] = hdf5_file({{"x", hdf5_integer(1), {2}, "12"}, {"y", hdf5_integer(1), {1}, "1"}});
  EXPECT_EQ(build_error("fields: {features: /x, label: /y}"),
            "a.h5: the array of features has 2 rows, the array of label has 1 row");
  files_.files["a.h5"] = "1,2\n";
  const std::string error = build_error("fields: {x: /x}");
  EXPECT_EQ(error.substr(0, 43), "a.h5: dataset \"/x\": cannot open the file, l");
  EXPECT_TRUE(error.ends_with("; the file looks like text: csv_reader reads CSV")) << error;
}

TEST_F(Hdf5ReaderTest, RefusesOptionsThatMakeNoSense) {
  files_.files["a.h5"] = file(1, 0);
  EXPECT_NE(build_error("fields: /x").find("expected a map of fields, got \"/x\"; for example fields: {features: /x"),
            std::string::npos);
  EXPECT_NE(build_error("fields: {}").find("expected at least one field"), std::string::npos);
}

// The chunks of h5py's file have 8 rows of 24 bytes.
TEST_F(Hdf5ReaderTest, AUnitHasWholeChunks) {
  const std::string path = test::source_dir() + "/tests/data/formats/hdf5/new.h5";
  const auto graph = [&](int chunk_bytes) {
    return InputGraph::build(
        parse_yaml(cat("- filename_queue: {files: ", path, ", epochs: 1}\n- hdf5_reader: {fields: {x: gzip}",
                       ", chunk_bytes: ", chunk_bytes, "}\n- batch: {batch_size: 50}\n"),
                   "input.yaml"),
        builtin_ops(), {});
  };
  EXPECT_EQ(graph(1).memory_bound(1), graph(24 * 15).memory_bound(1));
  EXPECT_LT(graph(1).memory_bound(1), graph(24 * 16).memory_bound(1));
}

TEST_F(Hdf5ReaderTest, RespectsTheLockOfAWriter) {
  const TempFolder folder;
  folder.write("a.h5", file(2, 0));
  const auto error = [&] {
    return error_of([&] {
      InputGraph::build(
          parse_yaml(cat("- filename_queue: {files: ", folder.path("a.h5"),
                         ", epochs: 1}\n- hdf5_reader: ", "{fields: {x: /x}}\n- batch: {batch_size: 1}\n"),
                     "input.yaml"),
          builtin_ops(), {});
    });
  };
  EXPECT_EQ(error(), "no error");
  const Descriptor writer(::open(folder.path("a.h5").c_str(), O_RDWR));
  ASSERT_EQ(flock(writer.get(), LOCK_EX), 0);
  if (std::getenv("HDF5_USE_FILE_LOCKING") != nullptr) GTEST_SKIP() << "HDF5_USE_FILE_LOCKING is set";
  EXPECT_EQ(error(),
            cat(folder.path("a.h5"), ": dataset \"/x\": another program has opened the file to write; wait until it ",
                "has closed the file, or read a copy"));
}

}  // namespace
}  // namespace millrace
