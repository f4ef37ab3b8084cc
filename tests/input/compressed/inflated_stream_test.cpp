#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/input/compressed/inflated_file.h"
#include "tests/input/compressed/compressing.h"
#include "tests/input/op_testing.h"

#ifdef MILLRACE_TESTS_COMPRESSED

namespace millrace {
namespace {

using ::testing::HasSubstr;
using testing_support::compressed_kinds;
using testing_support::error_of;
using testing_support::gzip_of;
using testing_support::MemoryFiles;
using testing_support::numbers_text;

class InflatedStreamTest : public ::testing::Test {
 protected:
  std::unique_ptr<ByteStream> stream(std::vector<std::string> pieces) {
    files_.streams["-"] = std::move(pieces);
    return inflated(files_.open_stream("-"), "-");
  }
  static std::string read_all(ByteStream& from) {
    std::string out, some(1000, ' ');
    while (const size_t got = from.read(some.data(), some.size())) out.append(some, 0, got);
    return out;
  }
  static std::vector<std::string> cut(const std::string& bytes, size_t piece) {
    std::vector<std::string> out;
    for (size_t at = 0; at < bytes.size(); at += piece) out.push_back(bytes.substr(at, piece));
    return out;
  }
  MemoryFiles files_;
};

TEST_F(InflatedStreamTest, GivesTheTextInPiecesOfAnySize) {
  const std::string text = numbers_text(20000);
  for (const auto& [name, compress] : compressed_kinds()) {
    for (const size_t piece : {1u, 100u, 1000000u})
      EXPECT_EQ(read_all(*stream(cut(compress(text), piece))), text) << name;
  }
}

TEST_F(InflatedStreamTest, HandsOnWhatIsNotCompressed) {
  for (const std::string& text : {std::string("1,2\n3,4\n"), std::string(), std::string("1"), std::string("(1,2\n"),
                                  std::string("\x1f\x8b text"), std::string("P*M"), numbers_text(5000)}) {
    for (const size_t piece : {1u, 7u, 10000u}) EXPECT_EQ(read_all(*stream(cut(text, piece))), text);
  }
}

// Rows of a pipe are answered as they come.
TEST_F(InflatedStreamTest, WaitsForNoMoreThanItNeeds) {
  files_.waiting.insert("-");
  char got[100];
  EXPECT_EQ(stream({"1\n"})->read(got, sizeof got), 2u) << "it would hang";
  const std::string member = gzip_of("1,2\n");
  const auto packed = stream({member.substr(0, member.size() - 8)});
  EXPECT_EQ(packed->read(got, sizeof got), 4u);
  packed->interrupt();
}

TEST_F(InflatedStreamTest, SaysWhatIsWrong) {
  const std::string member = gzip_of("1,2\n");
  EXPECT_THAT(error_of([&] { read_all(*stream({member.substr(0, member.size() - 1)})); }),
              HasSubstr("-: the compressed data end too early, at byte "));
  files_.failing.insert("-");
  EXPECT_THAT(error_of([&] { read_all(*stream({member})); }), HasSubstr("-: cannot read the file: Input/output error"));
}

}  // namespace
}  // namespace millrace

#endif
