#include "millrace/trainer/config/catalog.h"

#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>

#include "millrace/core/errors.h"
#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "tests/support/paths.h"
#include "tests/support/temp_folder.h"

// That a plug-in is loaded and used is tests/cli/plugin_option_test.cpp's: it takes a program that exports
// names.
namespace millrace {
namespace {

class PluginTest : public ::testing::Test {
 protected:
  std::string refused(const std::string& bytes) {
    const std::string path = folder_.write("p.so", bytes);
    const size_t before = catalog_.layers.layers.kinds().size();
    const std::string text = error_of<ConfigError>([&] { load_plugin(path, catalog_); });
    EXPECT_EQ(catalog_.layers.layers.kinds().size(), before);
    EXPECT_TRUE(text.starts_with(path + ": ")) << text;
    return text.substr(std::min(text.size(), path.size() + 2));
  }

  TempFolder folder_;
  Catalog catalog_ = Catalog::builtin();
};

constexpr auto kElf =
    "\x7f"
    "ELF and more\0";

TEST_F(PluginTest, OtherFilesAreRefused) {
  const std::string none =
      "it is not a plug-in of Millrace; a plug-in is a shared object with MILLRACE_PLUGIN of <millrace/plugin.h>";
  EXPECT_EQ(refused(""), none);
  EXPECT_EQ(refused("input: []"), none);
  EXPECT_EQ(refused(kElf), none);
  // A text that speaks of plug-ins is none.
  EXPECT_EQ(refused("millrace plug-in\n0.1.0\n"), none);
  EXPECT_NE(error_of<MissingError>([&] { load_plugin(folder_.path("no.so"), catalog_); }).find("no.so"),
            std::string::npos);
}

TEST_F(PluginTest, DevicesAreNotRead) {
  EXPECT_EQ(error_of<ConfigError>([&] { load_plugin("/dev/zero", catalog_); }),
            "/dev/zero: the plug-in cannot be loaded: it is not a regular file");
}

TEST_F(PluginTest, OtherVersionsAreRefusedBeforeTheyRun) {
  EXPECT_EQ(refused(cat(kElf, "millrace plug-in\n9.8.7\n0123 ")),
            cat("the plug-in was built for Millrace \"9.8.7\", this is \"", MILLRACE_VERSION,
                "\"; build it again with the headers of this version"));
  EXPECT_EQ(refused(cat(kElf, "millrace plug-in\n", MILLRACE_VERSION, "\n0123 ")),
            cat("the plug-in was built for another build of Millrace ", MILLRACE_VERSION,
                " than this one; build it again with this one's headers and a compiler of the same ABI"));
  // The library's own code is none, though it holds the mark.
  EXPECT_NE(refused(cat(kElf, "millrace plug-in\n")).find("it is not a plug-in of Millrace"), std::string::npos);
}

// A file with one segment, in which the description lies; the segment ends `beyond` bytes after the file.
std::string with_segment(size_t beyond) {
  const plugin_detail::Description own = plugin_detail::describe();
  ElfW(Ehdr) header = {};
  std::memcpy(header.e_ident,
              "\x7f"
              "ELF",
              4);
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(ElfW(Phdr));
  header.e_phnum = 1;
  ElfW(Phdr) segment = {};
  segment.p_offset = sizeof header + sizeof segment;
  segment.p_filesz = own.text.size() + beyond;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(reinterpret_cast<const char*>(&segment), sizeof segment);
  return bytes.append(own.text.begin(), own.text.end());
}

TEST_F(PluginTest, WhatTheLoaderRefusesIsTold) {
  EXPECT_NE(refused(with_segment(0)).find("the plug-in cannot be loaded: "), std::string::npos);
}

// The loader would die of them.
TEST_F(PluginTest, FilesThatAreCutOffAreRefusedBeforeTheyAreLoaded) {
  const std::string cut_off = "the plug-in cannot be loaded: it is cut off";
  EXPECT_TRUE(refused(with_segment(1)).starts_with(cut_off + ": it has "));
  EXPECT_TRUE(refused(with_segment(SIZE_MAX / 2)).starts_with(cut_off + ": it has "));
  const plugin_detail::Description own = plugin_detail::describe();
  const std::string text(own.text.begin(), own.text.end());
  EXPECT_TRUE(refused(cat(kElf, text)).starts_with(cut_off));
  std::string no_table = with_segment(0);
  no_table[offsetof(ElfW(Ehdr), e_phoff) + 5] = 1;
  EXPECT_TRUE(refused(no_table).starts_with(cut_off + " or damaged"));
}

TEST(PluginDescription, NamesVersionLayoutAndStrings) {
  const plugin_detail::Description own = plugin_detail::describe();
  const std::string_view text(own.text.data());
  EXPECT_TRUE(text.starts_with(cat("millrace plug-in\n", MILLRACE_VERSION, "\n"))) << text;
  EXPECT_LT(text.size(), own.text.size() - 1);
}

// A function more, less or in another place is another table of them, which no size shows.
TEST(Plugin, KnowsTheFunctionsThatKindsImplement) {
  uint64_t hash = fnv1a64("");
  for (const char* header : {"input/op.h", "input/source.h", "input/transform.h", "input/buffer.h", "layers/layer.h",
                             "layers/loss.h", "layers/head.h", "layers/optimizer.h"}) {
    std::ifstream file(cat(test::source_dir(), '/', header));
    ASSERT_TRUE(file) << header;
    for (std::string line; std::getline(file, line);) {
      line.erase(0, line.find_first_not_of(' '));
      if (!line.starts_with("virtual ")) continue;
      for (const char c : line) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
  }
  EXPECT_EQ(plugin_detail::kInterfaces, hash) << "write this number in trainer/config/catalog.h";
}

}  // namespace
}  // namespace millrace
