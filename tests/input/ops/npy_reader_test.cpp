#include <gtest/gtest.h>

#include "tests/input/arrays/array_bytes.h"
#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::bytes_of_numbers;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::MemoryFiles;
using testing_support::npy_array;

// What all readers of arrays do is tested in tests/input/arrays/array_files_test.cpp.
TEST(NpyReader, ReadsAnArrayForEachField) {
  MemoryFiles files;
  files.files["x.npy"] = npy_array("<f8", "(3, 2)", bytes_of_numbers(std::vector<double>{1, 2, 3, 4, 5, 6}));
  files.files["y.npy"] = npy_array("<i8", "(3,)", bytes_of_numbers(std::vector<int64_t>{7, -8, 9}));
  EXPECT_EQ(
      GraphCheck(files,
                 "- npy_reader: {fields: {features: x.npy, label: [y.npy]}, epochs: 2}\n"
                 "- batch: {batch_size: 3}\n")
          .check(),
      (Lines{"x.npy:1 features=1,2 label=7", "x.npy:2 features=3,4 label=-8", "x.npy:3 features=5,6 label=9", "--",
             "x.npy:1 features=1,2 label=7", "x.npy:2 features=3,4 label=-8", "x.npy:3 features=5,6 label=9"}));
}

}  // namespace
}  // namespace millrace
