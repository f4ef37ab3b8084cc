#include "millrace/trainer/files/files_in_use.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

TEST(FilesInUse, OneFileHasManyPaths) {
  const TempFolder folder;
  const std::string file = folder.write("a.csv", "1\n"), other = folder.write("b.csv", "1\n");
  std::filesystem::create_symlink("a.csv", folder.path("link.csv"));
  std::filesystem::create_hard_link(file, folder.path("hard.csv"));
  EXPECT_TRUE(same_file(file, folder.path("./a.csv")));
  EXPECT_TRUE(same_file(folder.path("link.csv"), file));
  EXPECT_TRUE(same_file(folder.path("hard.csv"), file));
  EXPECT_FALSE(same_file(file, other));
  EXPECT_FALSE(same_file(file, folder.path("new.csv")));
  EXPECT_FALSE(same_file(file, ""));
}

TEST(FilesInUse, ThatAreNotThereYet) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path("d"));
  std::filesystem::create_symlink("d", folder.path("to_d"));
  EXPECT_TRUE(same_file(folder.path("d/new"), folder.path("to_d/../d/./new")));
  EXPECT_FALSE(same_file(folder.path("d/new"), folder.path("new")));
  EXPECT_TRUE(same_file("no-such-file-here", "./no-such-file-here"));
  EXPECT_FALSE(same_file("no-such-file-here", ""));
}

TEST(FilesInUse, AreNotWrittenOver) {
  const TempFolder folder;
  const std::string config = folder.write("c.yaml", ""), data = folder.write("a.csv", "1\n");
  const std::string bad = folder.path("bad.jsonl");
  const InputFiles files = {{folder.write("b.csv", "1\n"), data}, {bad}};
  EXPECT_EQ(would_overwrite(data, files, config), cat("would overwrite ", quote(data, 4096), ", which this run reads"));
  EXPECT_EQ(would_overwrite(config, files, config),
            cat("would overwrite ", quote(config, 4096), ", which this run reads"));
  EXPECT_EQ(would_overwrite(folder.path("./bad.jsonl"), files, config),
            cat("would overwrite ", quote(bad, 4096), ", which this run writes"));
  EXPECT_EQ(would_overwrite(folder.path("m.safetensors"), files, config), "");
  EXPECT_EQ(would_overwrite(folder.write("old.safetensors", "x"), files, config), "");
}

TEST(FilesInUse, AreAmongTheCheckpoints) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path("runs"));
  std::filesystem::create_symlink(folder.path("runs"), folder.path("link"));
  const std::string runs = folder.path("runs");
  EXPECT_TRUE(is_among_checkpoints(folder.path("runs/checkpoint-000000400.safetensors"), runs));
  EXPECT_TRUE(is_among_checkpoints(folder.path("link/checkpoint.lock"), runs + "/"));
  EXPECT_FALSE(is_among_checkpoints(folder.path("runs/model.safetensors"), runs));
  EXPECT_FALSE(is_among_checkpoints(folder.path("checkpoint-000000400.safetensors"), runs));
  EXPECT_FALSE(is_among_checkpoints("checkpoint-000000400.safetensors", runs));
}

TEST(FilesInUse, TheProgramIsOneOfThem) {
  const TempFolder folder;
  const std::string link = folder.path("link");
  std::filesystem::create_symlink("/proc/self/exe", link);
  EXPECT_EQ(would_overwrite(link, {}, {}), cat("would overwrite ", quote(link, 4096), ", which is running"));
  const std::string itself = std::filesystem::canonical("/proc/self/exe").string();
  EXPECT_EQ(would_overwrite(itself, {}, {}), cat("would overwrite ", quote(itself, 4096), ", which is running"));
  // A library that is loaded.
  Dl_info library = {};
  ASSERT_NE(::dladdr(reinterpret_cast<void*>(&::getpid), &library), 0);
  EXPECT_NE(would_overwrite(library.dli_fname, {}, {}), "");
}

TEST(FilesInUse, FindsAFileOfTwoLists) {
  const TempFolder folder;
  const std::string a = folder.write("a.csv", "1\n"), b = folder.write("b.csv", "1\n");
  const std::string link = folder.path("link.csv");
  std::filesystem::create_symlink("a.csv", link);
  const std::vector<std::string> both = {a, b}, linked = {folder.path("none"), link}, other = {b};
  EXPECT_EQ(first_shared(both, linked), link);
  EXPECT_EQ(first_shared(linked, both), a);
  EXPECT_EQ(first_shared(linked, other), "");
  EXPECT_EQ(first_shared({}, other), "");
}

}  // namespace
}  // namespace millrace
