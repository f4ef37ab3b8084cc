#include "millrace/cli/convert/zip_file.h"

#include <gtest/gtest.h>

#include "millrace/core/crc32.h"
#include "millrace/core/text.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

void add(ZipFile& zip, const std::string& name, const std::string& bytes) {
  zip.begin({.name = name, .size = bytes.size(), .crc = crc32_of(bytes)});
  zip.write(bytes.substr(0, bytes.size() / 2));
  zip.write(bytes.substr(bytes.size() / 2));
}

// What another program finds in the archive: each member's name, bytes and needed version, all checksums compared.
std::string read_by_python(const TempFolder& folder) {
  const std::string script =
      "import zipfile\n"
      "with zipfile.ZipFile('a.zip') as zip:\n"
      "  assert zip.testzip() is None\n"
      "  for one in zip.infolist(): print(one.filename, zip.read(one), one.extract_version, one.date_time[0])\n";
  const auto result = testing::run_command({"/usr/bin/python3", "-c", script}, {.folder = folder.path()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.out;
}

TEST(ZipFileTest, OthersReadIt) {
  const TempFolder folder;
  ZipFile zip(folder.path("a.zip"));
  add(zip, "x.npy", "some bytes");
  add(zip, "Zoë.npy", "");
  EXPECT_FALSE(std::filesystem::exists(folder.path("a.zip")));
  add(zip, "y/z.npy", "more");
  zip.commit();
  EXPECT_EQ(read_by_python(folder), "x.npy b'some bytes' 45 1980\nZoë.npy b'' 45 1980\ny/z.npy b'more' 45 1980\n");
}

TEST(ZipFileTest, AnArchiveMayHaveManyMembers) {
  const TempFolder folder;
  ZipFile zip(folder.path("a.zip"));
  for (int i = 0; i < 65536; ++i) add(zip, cat(i), "");
  zip.commit();
  const std::string script = "import zipfile; print(len(zipfile.ZipFile('a.zip').infolist()))";
  EXPECT_EQ(testing::run_command({"/usr/bin/python3", "-c", script}, {.folder = folder.path()}).out, "65536\n");
}

TEST(ZipFileTest, EqualMembersMakeEqualBytes) {
  const TempFolder folder;
  for (const char* name : {"a.zip", "b.zip"}) {
    ZipFile zip(folder.path(name));
    add(zip, "x", "1");
    zip.commit();
  }
  EXPECT_EQ(TempFolder::read(folder.path("a.zip")), TempFolder::read(folder.path("b.zip")));
}

TEST(ZipFileTest, NothingStaysWithoutCommit) {
  const TempFolder folder;
  {
    ZipFile zip(folder.path("a.zip"));
    add(zip, "x", "1");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace millrace::cli
