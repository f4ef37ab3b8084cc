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
using testing_support::number_bytes;

class RecordReaderTest : public ::testing::Test {
 protected:
  GraphCheck check(const std::string& options, const std::string& batch = "batch: {batch_size: 1}") {
    return {files_, cat("- filename_queue: {files: \"?.bin\", shuffle: false, epochs: 1}\n- record_reader: {", options,
                        "}\n- ", batch, "\n")};
  }
  std::string build_error(const std::string& options) {
    return error_of([&] { check(options).graph(); });
  }

  MemoryFiles files_;
};

// As CIFAR-10's, but smaller.
TEST_F(RecordReaderTest, ReadsALabelAndAnImage) {
  std::string& bytes = files_.files["a.bin"];
  Lines expected;
  for (int record = 0; record < 5; ++record) {
    bytes += static_cast<char>(record);
    std::string image;
    for (int i = 0; i < 12; ++i) {
      bytes += static_cast<char>(20 * record + i);
      image += cat(i > 0 ? "," : "", 20 * record + i);
    }
    if (record > 0) expected.emplace_back("--");
    expected.push_back(cat("a.bin:", record + 1, " label=", record, " image=", image));
  }
  for (const char* image : {"{type: uint8, size: [3, 2, 2]}", "{type: uint8, offset: 1, size: [3, 2, 2]}"}) {
    for (const char* chunk : {"1", "30", "262144"}) {
      const GraphCheck records =
          check(cat("bytes: 13, fields: {label: {type: uint8}, image: ", image, "}, chunk_bytes: ", chunk));
      EXPECT_EQ(records.check(), expected) << image << chunk;
      EXPECT_EQ(records.graph().output().rows.text(), "label: uint8 (1), image: uint8 (3, 2, 2)");
    }
  }
}

TEST_F(RecordReaderTest, ReadsEveryTypeInEitherOrderOfBytes) {
  for (const bool big : {false, true}) {
    std::string& bytes = files_.files["a.bin"];
    bytes = "head" + number_bytes(200, 1) + number_bytes(254, 1) + number_bytes(0xfffe, 2, big) +
            number_bytes(0xfffe, 2, big) + bytes_of_numbers(std::vector<int32_t>{-3}, big) +
            bytes_of_numbers(std::vector<uint32_t>{4000000000}, big) + bytes_of_numbers(std::vector<int64_t>{-5}, big) +
            number_bytes(0x3e00, 2, big) + bytes_of_numbers(std::vector<float>{0.25F, 8}, big) +
            bytes_of_numbers(std::vector<double>{-0.1}, big) + number_bytes(7, 1) + "unread";
    const GraphCheck records = check(
        cat("bytes: ", bytes.size() - 4, ", header: 4, endian: ", big ? "big" : "little",
            ", fields: {a: {type: uint8}, b: {type: int8}, c: {type: int16}, d: {type: uint16}, e: {type: int32}, "
            "f: {type: uint32}, g: {type: int64}, h: {type: float16}, i: {type: float32, size: 2}, j: {type: "
            "float64}, k: {type: bool}, again: {type: uint8, offset: 0}}"));
    EXPECT_EQ(records.check(),
              (Lines{"a.bin:1 a=200 b=-2 c=-2 d=65534 e=-3 f=4000000000 g=-5 h=1.5 i=0.25,8 j=-0.1 k=1 again=200"}));
  }
}

TEST_F(RecordReaderTest, RefusesAFileThatIsNoWholeNumberOfRecords) {
  files_.files["a.bin"] = std::string(3073 + 3072, 'x');
  EXPECT_EQ(build_error("bytes: 3073, fields: {label: {type: uint8}}"),
            "a.bin:2: expected records of 3073 bytes, got a file of 6145 bytes: 1 record and 3072 of the 3073 bytes of "
            "another");
}

TEST_F(RecordReaderTest, RefusesOptionsThatMakeNoSense) {
  files_.files["a.bin"] = "";
  const auto error = [&](const std::string& field) { return build_error(cat("bytes: 8, fields: {x: ", field, "}")); };
  EXPECT_NE(error("{type: float32, size: 3}").find("fields.x: the field ends at byte 12, but a record has 8"),
            std::string::npos);
  EXPECT_NE(error("{type: uint8, offset: 8}").find("the field ends at byte 9, but a record has 8"), std::string::npos);
  EXPECT_NE(error("{type: uint8, offset: 9223372036854775807}").find("but a record has 8"), std::string::npos);
  EXPECT_NE(error("{type: uint8, size: [1, 1, 1, 1, 1, 1]}").find("expected 1 to 5 numbers, got 6"), std::string::npos);
  EXPECT_NE(error("{type: uint8, size: []}").find("expected 1 to 5 numbers, got 0"), std::string::npos);
  EXPECT_NE(error("{type: uint8, size: [4294967296, 4294967296]}"), "no error");
  EXPECT_NE(error("{type: uint64}").find("type"), std::string::npos);
  EXPECT_NE(error("{}").find("the key type is required"), std::string::npos);
  EXPECT_NE(build_error("bytes: 8, fields: {}").find("expected at least one field"), std::string::npos);
  EXPECT_NE(build_error("bytes: 0, fields: {x: {type: uint8}}").find("bytes: expected at least 1"), std::string::npos);
}

}  // namespace
}  // namespace millrace
