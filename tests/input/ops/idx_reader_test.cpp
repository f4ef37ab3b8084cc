#include <gtest/gtest.h>

#include "tests/input/arrays/array_bytes.h"
#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::GraphCheck;
using testing_support::idx_array;
using testing_support::Lines;
using testing_support::MemoryFiles;

TEST(IdxReader, ReadsNumbersWhoseFirstByteComesFirst) {
  MemoryFiles files;
  files.files["a"] = idx_array(0x0b, {2, 2}, std::string("\0\1\1\0\xff\xfe\0\2", 8));
  EXPECT_EQ(GraphCheck(files, "- idx_reader: {fields: {v: a}, epochs: 1}\n- batch: {batch_size: 2}\n").check(),
            (Lines{"a:1 v=1,256", "a:2 v=-2,2"}));
}

}  // namespace
}  // namespace millrace
