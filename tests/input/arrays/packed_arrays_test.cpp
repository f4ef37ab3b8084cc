// Arrays that lie compressed in their files: the rows of the plain files.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "millrace/core/crc32.h"
#include "tests/input/arrays/array_bytes.h"
#include "tests/input/compressed/compressing.h"
#include "tests/input/graph_check.h"

#ifdef MILLRACE_TESTS_COMPRESSED

namespace millrace {
namespace {

using testing_support::bytes_of_numbers;
using testing_support::deflated;
using testing_support::error_of;
using testing_support::GraphCheck;
using testing_support::gzip_of;
using testing_support::idx_array;
using testing_support::Lines;
using testing_support::MemoryFiles;
using testing_support::npy_array;
using testing_support::throws_exactly;
using testing_support::zip_file;
using testing_support::ZipPart;
using testing_support::zstd_of;

std::string idx_images() {
  std::string pixels;
  for (int i = 0; i < 7 * 4; ++i) pixels += static_cast<char>(3 * i);
  return idx_array(8, {7, 2, 2}, pixels);
}

std::string rows_of_floats(int rows, int columns) {
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 2654435761u % 1000) / 8;
  return npy_array("<f4", cat("(", rows, ", ", columns, ")"), bytes_of_numbers(values));
}

TEST(PackedArrays, GiveTheRowsOfThePlainFilesFromEveryRowOn) {
  MemoryFiles files;
  const std::string list = "- idx_reader: {fields: {image: a}, epochs: 2}\n- batch: {batch_size: 1}\n";
  files.files["a"] = idx_images();
  const Lines expected = GraphCheck(files, list).check();
  ASSERT_EQ(expected.size(), 27u);
  for (const std::string& packed : {gzip_of(idx_images()), zstd_of(idx_images()),
                                    gzip_of(idx_images().substr(0, 9)) + gzip_of(idx_images().substr(9))}) {
    files.files["a"] = packed;
    EXPECT_EQ(GraphCheck(files, list).check(), expected);
  }
}

TEST(PackedArrays, MembersOfArchivesAreReadToo) {
  MemoryFiles files;
  const std::string x = rows_of_floats(5, 3), y = npy_array("|u1", "(5,)", "abcde");
  const std::string list =
      "- filename_queue: {files: a, epochs: 1}\n- npz_reader: {fields: {features: x, label: y}}\n"
      "- batch: {batch_size: 1}\n";
  files.files["a"] = zip_file({{"x.npy", x}, {"y.npy", y}});
  const Lines expected = GraphCheck(files, list).check();
  const auto packed = [](const std::string& name, const std::string& array) {
    return ZipPart{.name = name, .bytes = deflated(array), .method = 8, .size = array.size(), .crc = crc32_of(array)};
  };
  ZipPart large = packed("y.npy", y), wrong = packed("x.npy", x);
  large.zip64 = true;
  files.files["a"] = zip_file({wrong, large});
  EXPECT_EQ(GraphCheck(files, list).check(), expected);
  const auto error = [&] {
    files.files["a"] = zip_file({wrong, large});
    return error_of([&] { GraphCheck(files, list).graph(); });
  };
  wrong.crc ^= 1;
  EXPECT_EQ(error(),
            "a: array \"x\": the checksum is not what the archive says, at byte 0 of the file; is the file "
            "damaged?");
  for (const std::string& other : {x + "x", x.substr(0, x.size() - 1)}) {
    wrong.bytes = deflated(other);
    EXPECT_EQ(error(),
              "a: array \"x\": the length is not what the archive says, at byte 0 of the file; is the file "
              "damaged?");
  }
  // Headers come first: nobody waits for the wrong array to be unpacked.
  large = packed("y.npy", npy_array("|u1", "(2,)", "ab"));
  EXPECT_EQ(error(), "a: the array of features has 5 rows, the array of label has 2 rows");
}

// More than what a task reads at once.
TEST(PackedArrays, LargeOnesAreReadByManyTasks) {
  MemoryFiles files;
  const std::string plain = rows_of_floats(9000, 400);
  const std::string list = "- npy_reader: {fields: {x: a}, epochs: 1}\n- batch: {batch_size: 500}\n";
  const auto bytes_with = [&](int threads) {
    Executor executor(threads);
    Pipeline pipeline(GraphCheck(files, list).graph(), {.executor = &executor});
    RowBlock slot = pipeline.make_slot();
    std::string out;
    while (pipeline.next(slot) > 0) {
      for (int64_t row = 0; row < slot.size(); ++row) out.append(reinterpret_cast<const char*>(slot.at(0, row)), 1600);
    }
    return out;
  };
  files.files["a"] = gzip_of(plain, {}, 1);
  for (const int threads : {1, 3}) EXPECT_TRUE(bytes_with(threads) == plain.substr(128)) << threads << " threads";
}

TEST(PackedArrays, WhatIsDamagedIsAnErrorBeforeTheStart) {
  MemoryFiles files;
  const std::string list = "- idx_reader: {fields: {image: a}}\n- batch: {batch_size: 1}\n";
  const std::string packed = gzip_of(idx_images());
  const auto error = [&] { return error_of([&] { GraphCheck(files, list).graph(); }); };
  for (const std::string& damaged :
       {packed.substr(0, packed.size() - 12), packed + "x", gzip_of(idx_images().substr(0, 30)), gzip_of("x")}) {
    files.files["a"] = damaged;
    EXPECT_TRUE((throws_exactly<DataError>([&] { GraphCheck(files, list).graph(); })));
    EXPECT_TRUE(error().starts_with("a: ")) << error();
  }
}

TEST(PackedArrays, ARowIsNotLargeBecauseItsFileIsSmall) {
  MemoryFiles files;
  std::string zeros;
  zeros.resize(70000000);
  files.files["a"] = gzip_of(npy_array("|u1", "(1, 70000000)", zeros));
  EXPECT_EQ(error_of([&] { GraphCheck(files, "- npy_reader: {fields: {x: a}}\n- batch: {batch_size: 1}\n").graph(); }),
            "a: a row of the array has 70000000 bytes; of a compressed array at most 67108864 are read");
}

}  // namespace
}  // namespace millrace

#endif
