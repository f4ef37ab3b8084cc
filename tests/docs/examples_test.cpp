// The examples of the pages in docs/: their commands print what the pages say, every op has one, and every link leads
// somewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>

#include "millrace/core/text.h"
#include "millrace/trainer/config/catalog.h"
#include "tests/docs/page.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using testing::Block;
using testing::Page;
using testing::read_page;
using testing::Section;

const std::vector<std::string> kPages = {
    "architecture.md", "checkpoints.md", "config.md",      "design.md", "embedding.md", "export.md", "extending.md",
    "formats.md",      "init.md",        "input_graph.md", "json.md",   "migrating.md", "python.md", "remote.md"};

Page page(const std::string& name) { return read_page(test::source_dir() + "/docs/" + name); }

// What no run repeats: how long it took.
std::string without_times(const std::string& text) {
  static const std::regex times("((?:^|\n)(?:end of data|batches): [^\n]*) in [0-9.]+ s(?: \\([^\n]*\\))?");
  return std::regex_replace(text, times, "$1");
}

// What a terminal shows of the commands of a console block, without the lines that are there now.
std::string run_console(const Block& block, const std::string& folder) {
  std::string out;
  for (const std::string& line : block.lines) {
    if (!line.starts_with("$ ")) continue;
    const std::string command = "{ " + line.substr(2) + "; } 2>&1";
    const auto result = testing::run_command({"/bin/bash", "-c", command}, {.folder = folder});
    out += line + '\n' + without_times(result.out);
    EXPECT_EQ(result.exit_code, 0) << line << "; a command that fails ends with ; echo \"exit code $?\"";
  }
  return out;
}

bool has_examples(const Section& section) {
  return std::any_of(section.blocks.begin(), section.blocks.end(),
                     [](const Block& block) { return block.kind == "console"; });
}

// Of a page whose sections stand for themselves: one test for each section that has any.
std::vector<Section> sections_with_examples(const std::string& name) {
  std::vector<Section> out;
  for (Section& section : page(name).sections) {
    if (has_examples(section)) out.push_back(std::move(section));
  }
  return out;
}

class DocumentedPage : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const char* path = std::getenv("PATH");
    const std::string before = path == nullptr ? "/usr/bin:/bin" : path;
    const std::string programs = cat(test::binary_dir(), ':', test::binary_dir(), "/examples:");
    ::setenv("PATH", (programs + before).c_str(), 1);
  }
};

class DocumentedExamples : public DocumentedPage, public ::testing::WithParamInterface<Section> {};

TEST_P(DocumentedExamples, PrintWhatThePageSays) {
  const TempFolder folder;
  for (const Block& block : GetParam().blocks) {
    if (!block.file.empty()) folder.write(block.file, block.text());
    if (block.kind == "console") {
      const std::string shown = run_console(block, folder.path());
      if (shown.find("HDF5 files need libhdf5, but") != shown.npos) GTEST_SKIP() << shown;
      EXPECT_EQ(shown, block.text());
    }
  }
}

std::string test_name(const ::testing::TestParamInfo<Section>& tested) {
  std::string name = tested.param.anchor;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(InputGraph, DocumentedExamples, ::testing::ValuesIn(sections_with_examples("input_graph.md")),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Formats, DocumentedExamples, ::testing::ValuesIn(sections_with_examples("formats.md")),
                         test_name);

// Pages whose examples follow one another, each in one folder.
TEST_F(DocumentedPage, PrintsWhatThePageSays) {
  for (const char* name : {"checkpoints.md", "init.md"}) {
    const TempFolder folder;
    for (const Section& section : page(name).sections) {
      for (const Block& block : section.blocks) {
        if (!block.file.empty()) folder.write(block.file, block.text());
        if (block.kind == "console") {
          EXPECT_EQ(run_console(block, folder.path()), block.text()) << name << ": " << section.anchor;
        }
      }
    }
  }
}

// In an example that is run: each op as an item of a list `input`.
TEST(DocsTest, EveryOpHasAnExample) {
  std::string graphs;
  for (const Section& section : sections_with_examples("input_graph.md")) {
    for (const Block& block : section.blocks) {
      if (block.kind == "yaml" && !block.file.empty()) graphs += block.text();
    }
  }
  const Catalog catalog = Catalog::builtin();
  for (const auto& [op, entry] : catalog.ops.entries()) {
    EXPECT_TRUE(std::regex_search(graphs, std::regex("\n  - " + op + "(:|\n)"))) << op << " is in no example";
  }
}

TEST(DocsTest, ShowsThePrograms) {
  for (const char* name : {"read_input/read_input.cpp", "feed_from_memory/from_memory.cpp"}) {
    const std::string source = TempFolder::read(cat(test::source_dir(), "/examples/", name));
    ASSERT_FALSE(source.empty());
    EXPECT_NE(page("input_graph.md").text.find("```cpp\n" + source + "```"), std::string::npos) << name;
  }
}

// Blocks below the name of a file in examples/ or input/sources/ stand there, word for word.
TEST(DocsTest, ShowsPartsOfTheExamples) {
  for (const char* name : {"embedding.md", "extending.md"}) {
    size_t shown = 0;
    for (const Section& section : page(name).sections) {
      for (const Block& block : section.blocks) {
        if (!block.file.starts_with("examples/") && !block.file.starts_with("input/sources/")) continue;
        ++shown;
        const std::string source = TempFolder::read(cat(test::source_dir(), '/', block.file));
        ASSERT_FALSE(source.empty()) << name << ": there is no " << block.file;
        EXPECT_NE(source.find(block.text()), std::string::npos) << name << ": not in " << block.file << ":\n"
                                                                << block.text();
      }
    }
    EXPECT_GT(shown, 5u) << name;
  }
}

// A program in a page that is for readers without the repository is part of an example, so that it compiles.
TEST(DocsTest, EveryProgramForEmbeddingIsOfAnExample) {
  for (const Section& section : page("embedding.md").sections) {
    for (const Block& block : section.blocks) {
      if (block.kind == "cpp" || block.kind == "c" || block.kind == "cmake") {
        EXPECT_FALSE(block.file.empty()) << section.anchor;
      }
    }
  }
}

TEST(DocsTest, EveryLinkLeadsSomewhere) {
  static const std::regex link("\\]\\(([^)#:]*)(#[^)]*)?\\)");
  for (const std::string& name : kPages) {
    const std::string text = page(name).prose;
    for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at) {
      const std::string file = (*at)[1].str(), anchor = (*at)[2].str();
      const std::string path = test::source_dir() + "/docs/" + (file.empty() ? name : file);
      ASSERT_TRUE(std::filesystem::exists(path)) << name << ": " << at->str();
      if (anchor.empty()) continue;
      const std::vector<Section> sections = read_page(path).sections;
      EXPECT_TRUE(std::any_of(sections.begin(), sections.end(),
                              [&](const Section& section) { return '#' + section.anchor == anchor; }))
          << name << ": " << at->str();
    }
  }
}

}  // namespace
}  // namespace millrace
