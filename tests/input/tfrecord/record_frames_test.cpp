#include "millrace/input/tfrecord/record_frames.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/text.h"
#include "tests/input/op_testing.h"
#include "tests/input/tfrecord/tfrecords.h"

namespace millrace {
namespace {

using testing_support::BytesFile;
using testing_support::error_of;
using testing_support::record_of;

const TfRecordFormat kFormat(1 << 20);

// Bytes [begin, end) of a file, as a unit that begins with a record or anywhere.
void start(FileText& text, const std::string& bytes, uint64_t begin, uint64_t end) {
  auto entry = std::make_shared<FileEntry>();
  entry->path = "a";
  entry->size = bytes.size();
  text.start(std::make_shared<BytesFile>(bytes),
             {.file = std::move(entry), .begin = begin, .end = std::min<uint64_t>(end, bytes.size()), .exact = true});
}

// "5:ab 23:" and so on: each record and where it begins; " | 40" after them: where the next unit begins.
std::string records_of(const std::string& bytes, uint64_t begin = 0, uint64_t end = UINT64_MAX) {
  FileText text;
  start(text, bytes, begin, end);
  RecordFrames records(text, kFormat);
  std::string out;
  while (records.next()) out += cat(records.offset(), ':', records.record(), records.is_intact() ? " " : "? ");
  return out + cat("| ", records.end_offset());
}

uint64_t first_record(const std::string& bytes, uint64_t begin, uint64_t end = UINT64_MAX) {
  FileText text;
  start(text, bytes, begin, end);
  skip_to_record(text, kFormat);
  return text.offset();
}

TEST(RecordFrames, CutsRecordsThatBeginInTheRange) {
  const std::string bytes = record_of("ab") + record_of("") + record_of("cde");
  EXPECT_EQ(records_of(bytes), "0:ab 18: 34:cde | 53");
  EXPECT_EQ(records_of(bytes, 18, 34), "18: | 34");
  EXPECT_EQ(records_of(bytes, 18, 35), "18: 34:cde | 53") << "the last one reaches beyond the range";
  EXPECT_EQ(records_of(""), "| 0");
  const std::string large(100000, 'x');
  EXPECT_EQ(records_of(record_of(large) + record_of("a"), 0, 10), cat("0:", large, " | 100016"));
}

TEST(RecordFrames, TellsThatARecordIsNotWhatItWas) {
  std::string bytes = record_of("ab") + record_of("cd");
  bytes[12] = 'x';
  EXPECT_EQ(records_of(bytes), "0:xb? 18:cd | 36");
  bytes[35] = static_cast<char>(bytes[35] ^ 1);
  EXPECT_EQ(records_of(bytes), "0:xb? 18:cd? | 36");
}

TEST(RecordFrames, StopsWhereNoRecordIs) {
  const std::string good = record_of("ab");
  for (size_t at = 0; at < kFrameHead; ++at) {
    std::string bytes = good + good;
    bytes[18 + at] = static_cast<char>(bytes[18 + at] ^ 16);
    EXPECT_EQ(error_of([&] { records_of(bytes); }),
              "the checksum of the record's length is wrong; is the file damaged?");
  }
  for (size_t size = 1; size < good.size(); ++size) {
    EXPECT_EQ(error_of([&] { records_of(good + good.substr(0, size)); }),
              cat("the file ends within a record: ", size, " bytes are left of ",
                  size < kFrameHead ? "at least 16" : "18", "; was the file copied or downloaded as a whole?"));
  }
}

TEST(RecordFrames, BelievesNoLengthBeforeItsBytesAreThere) {
  const auto with_length = [](uint64_t length) {
    const std::string head = testing_support::number_bytes(length, 8);
    return head + testing_support::number_bytes(masked_crc32c(head), 4) + "few";
  };
  EXPECT_EQ(error_of([&] { records_of(with_length(1 << 20)); }),
            "the file ends within a record: 15 bytes are left of 1048592; was the file copied or downloaded as a "
            "whole?");
  EXPECT_EQ(error_of([&] { records_of(with_length((1 << 20) + 1)); }),
            "the record has 1048577 bytes, at most 1048576 are allowed; set tfrecord_reader: {max_record_bytes: "
            "1048577}");
  EXPECT_EQ(error_of([&] { records_of(with_length(UINT64_MAX)); }),
            "the record has 18446744073709551615 bytes, at most 1048576 are allowed");
}

TEST(RecordFrames, FindsWhereARecordBegins) {
  std::string bytes;
  std::vector<uint64_t> begins;
  for (const size_t size : {0u, 40u, 3u, 1000u, 1u}) {
    begins.push_back(bytes.size());
    bytes += record_of(std::string(size, '\0'));
  }
  for (uint64_t from = 0; from <= bytes.size(); ++from) {
    const auto next = std::ranges::lower_bound(begins, from);
    const uint64_t expected = next == begins.end() ? bytes.size() : *next;
    ASSERT_EQ(first_record(bytes, from), expected) << from;
    // Only up to the limit, where the next range begins.
    const uint64_t limit = std::min<uint64_t>(from + 30, bytes.size());
    ASSERT_EQ(first_record(bytes, from, limit), std::min(expected, limit)) << from;
  }
}

// It is a guess, which the stream checks.
TEST(RecordFrames, FindsRecordsInsideOfRecords) {
  const std::string bytes = record_of("abc" + record_of("x"));
  EXPECT_EQ(first_record(bytes, 1), 15u);
}

}  // namespace
}  // namespace millrace
