#include "millrace/input/files/file_check.h"

#include <gtest/gtest.h>

#include "millrace/core/random.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::MemoryFiles;

FileEntry entry_of(uint64_t size) {
  FileEntry entry;
  entry.path = "a";
  entry.size = size;
  return entry;
}

TEST(FileDigest, HashesTheFirstAndTheLastBlock) {
  MemoryFiles files;
  std::string& text = files.files["a"];
  for (int i = 0; i < 10000; ++i) text += static_cast<char>(i % 251);
  for (const uint64_t size : {0u, 1u, 4095u, 4096u, 4097u, 8192u, 10000u}) {
    const std::string_view all = std::string_view(text).substr(0, size);
    const FileDigest digest = digest_of(entry_of(size), files);
    EXPECT_EQ(digest.first, fnv1a64(all.substr(0, 4096))) << size;
    EXPECT_EQ(digest.last, fnv1a64(size < 4096 ? all : all.substr(size - 4096))) << size;
  }
  EXPECT_EQ(files.open_now, 0);
}

TEST(FileDigest, RefusesAFileThatIsShorterNow) {
  MemoryFiles files;
  files.files["a"] = std::string(5000, 'x');
  EXPECT_EQ(error_of([&] { digest_of(entry_of(5001), files); }),
            "a: the file is shorter than when the run began: expected 5001 bytes, got 5000; do not write to input "
            "files while they are read");
  EXPECT_EQ(error_of([&] { digest_of(entry_of(20000), files); }),
            "a: the file is shorter than when the run began: expected 20000 bytes, got 5000; do not write to input "
            "files while they are read");
  EXPECT_EQ(error_of([&] { digest_of(entry_of(10), files); }), "no error") << "what was added is not looked at";
}

}  // namespace
}  // namespace millrace
