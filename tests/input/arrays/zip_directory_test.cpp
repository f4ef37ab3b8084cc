#include "millrace/input/arrays/zip_directory.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/input/arrays/array_bytes.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::BytesFile;
using testing_support::error_of;
using testing_support::npy_array;
using testing_support::throws_exactly;
using testing_support::zip_file;

// "name: bytes" of each member.
std::vector<std::string> members(const std::string& bytes) {
  const BytesFile file(bytes);
  std::vector<std::string> out;
  for (const ZipMember& member : read_zip_directory(file.range())) {
    const FileRange range = bytes_of(member, file.range());
    out.push_back(cat(member.name, ": ", range.read(0, static_cast<size_t>(range.size))));
  }
  return out;
}
std::string error(const std::string& bytes) {
  EXPECT_TRUE((throws_exactly<DataError>([&] { members(bytes); })));
  return error_of([&] { members(bytes); });
}

const std::vector<std::string> kTwo = {"x.npy: abc", "y.npy: de"};

TEST(ZipDirectory, ListsTheMembers) {
  EXPECT_EQ(members(zip_file({{"x.npy", "abc"}, {"y.npy", "de"}})), kTwo);
  EXPECT_EQ(members(zip_file({})), std::vector<std::string>{});
  const BytesFile file(zip_file({{"x.npy", "abc", 8}, {.name = "y", .bytes = "", .flags = 1}}));
  const std::vector<ZipMember> all = read_zip_directory(file.range());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].method, ZipMember::Method::deflated);
  EXPECT_FALSE(all[0].encrypted);
  EXPECT_EQ(all[0].packed_bytes, 3u);
  EXPECT_TRUE(all[1].encrypted);
}

TEST(ZipDirectory, KnowsZip64) {
  for (const bool end : {false, true}) {
    EXPECT_EQ(members(zip_file({{"x.npy", "abc", 0, true}, {"y.npy", "de", 0, false}}, end)), kTwo) << end;
  }
}

TEST(ZipDirectory, FindsTheEndBehindAComment) {
  EXPECT_EQ(members(zip_file({{"x.npy", "abc"}, {"y.npy", "de"}}, false, "PK\5\6 is no end")), kTwo);
  EXPECT_EQ(members(zip_file({{"x.npy", "abc"}, {"y.npy", "de"}}, true, std::string(65535, 'x'))), kTwo);
}

TEST(ZipDirectory, RefusesWhatIsNoArchive) {
  EXPECT_EQ(error(""), "this is no zip archive; was the file cut short?");
  EXPECT_EQ(error("PK\3\4 and no end"), "this is no zip archive; was the file cut short?");
  EXPECT_EQ(error(zip_file({{"x", "abc"}}) + "x"), "this is no zip archive; was the file cut short?");
  EXPECT_EQ(error("PK\5\6"), "this is no zip archive; was the file cut short?");
  EXPECT_EQ(
      error(npy_array("|u1", "(3,)", "abc")),
      "this is no zip archive; the file is a NumPy array: read it by the op npy_reader: {fields: {features: FILE}}");
  EXPECT_EQ(error("x,y\n1,2\n"), "this is no zip archive; the file looks like text: csv_reader reads CSV");
  EXPECT_EQ(error("\x1f\x8b\b"),
            "this is no zip archive; the file is compressed by gzip: unpack it first: gzip -d FILE");
}

TEST(ZipDirectory, SaysWhereItIsDamaged) {
  std::string whole = zip_file({{"x", "abc"}, {"y", "de"}});
  whole[34] = 'Q';  // the header of y follows the 31 bytes of the header of x and its 3 bytes
  EXPECT_EQ(error(whole), "the zip archive is damaged, at byte 34 of the file");
  whole[67] = 'Q';  // the entry of x in the directory
  EXPECT_EQ(error(whole), "the zip archive is damaged, at byte 67 of the file");
}

// Whatever a byte of it says, an error comes or members that lie in the file.
TEST(ZipDirectory, SurvivesEveryCutAndEveryChangedByte) {
  const std::string whole = zip_file({{"x.npy", "abc", 0, true}, {"y.npy", "de"}}, true);
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) EXPECT_NE(error(whole.substr(0, bytes)), "no error") << bytes;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int byte : {0, 1, 2, 0x7f, 0x80, 0xff}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(byte);
      const BytesFile file(changed);
      try {
        for (const ZipMember& member : read_zip_directory(file.range())) {
          const FileRange range = bytes_of(member, file.range());
          ASSERT_LE(range.begin, whole.size());
          ASSERT_LE(range.size, whole.size() - range.begin);
        }
      } catch (const DataError&) {
      }
    }
  }
}

// The directory of this archive says that it has 4 GB; the file has it as a hole that nobody reads.
TEST(ZipDirectory, TakesNoMemoryForALargeDirectory) {
  class Sparse final : public File {
   public:
    uint64_t size() const override { return uint64_t{1} << 40; }
    size_t read(uint64_t offset, void* to, size_t bytes) const override {
      EXPECT_GE(offset, size() - 70000);
      const std::string end = testing_support::number_bytes(0x06054b50, 4) + std::string(6, '\0') + "\1" +
                              std::string(1, '\0') + testing_support::number_bytes(0xf0000000, 4) +
                              std::string(6, '\0');
      std::memset(to, 0, bytes);
      if (bytes >= end.size()) std::memcpy(static_cast<char*>(to) + bytes - end.size(), end.data(), end.size());
      return bytes;
    }
  };
  const Sparse file;
  EXPECT_EQ(error_of([&] {
              read_zip_directory({file, 0, file.size()});
            }),
            "the list of the archive's members has 4026531840 bytes, at most 16777216 are read");
}

}  // namespace
}  // namespace millrace
