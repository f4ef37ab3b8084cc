#include "millrace/input/sources/file_names.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::MemoryFiles;
using testing_support::throws_exactly;

// filename_queue's tests hold for all of it but what only other formats need: several lists, and a match of their own.
class FileNamesTest : public ::testing::Test {
 protected:
  FileNamesTest() { files_.files = {{"x0", "1"}, {"x1", "22"}, {"x2", "333"}, {"y0", ""}, {"y1", "7"}, {"y2", "88"}}; }

  std::unique_ptr<FileNames> make(FileNamesOptions options = {}) {
    NamedFiles named = {.match =
                            [](FileSystem& files) {
                              const std::string patterns[] = {"x?", "y?"};
                              return match_files(patterns, {}, files);
                            },
                        .place = {"c.yaml", 1, 2},
                        .lists = 2};
    auto names = std::make_unique<FileNames>(std::move(named), options);
    BindArgs args;
    args.files = &files_;
    args.seed = 23;
    args.name = "pairs";
    names->bind(args);
    return names;
  }

  MemoryFiles files_;
};

TEST_F(FileNamesTest, NamesTheFilesOfTheFirstList) {
  const auto names = make({.epochs = 2});
  std::string order;
  for (Unit unit; names->next(unit);) order += unit.file->path;
  ASSERT_EQ(order.size(), 12u);
  EXPECT_EQ(order.find('y'), order.npos);
  for (const std::string& pass : {order.substr(0, 6), order.substr(6)}) {
    for (const char* file : {"x0", "x1", "x2"}) EXPECT_NE(pass.find(file), pass.npos) << pass;
  }
  ASSERT_EQ(names->files().size(), 6u);
  EXPECT_EQ(names->files()[1 + 3]->path, "y1");
  EXPECT_EQ(names->files()[1 + 3]->index, 4u);
  EXPECT_EQ(names->pass_size(), 6u);
  EXPECT_EQ(make({.shard = ShardOptions{.index = 1, .count = 3}})->pass_size(), 2u);
}

TEST_F(FileNamesTest, CountsTheFilesOfTheFirstList) {
  EXPECT_EQ(error_of([&] { make({.shard = ShardOptions{.index = 3, .count = 4}}); }),
            "c.yaml:1:2: shard 3 of 4 is empty: there are 3 files");
  const auto names = make();
  EXPECT_EQ(names->unit_of({.file = 2}).file->path, "x2");
  EXPECT_EQ(error_of([&] { names->unit_of({.file = 3}); }), "the saved state holds a row of file 3, but there are 3");
}

TEST_F(FileNamesTest, ASavedStateHasTheFilesOfAllLists) {
  State state;
  make()->save(state);
  make()->check(state);
  files_.files["y1"] = "8";
  EXPECT_EQ(error_of([&] { make()->check(state); }),
            "y1: the file has changed since the state was saved: its first 1 bytes differ; a run goes on only with the "
            "data that it began with");
}

TEST_F(FileNamesTest, WhatIsWrongWithAFileBeforeTheRunIsAMissingError) {
  files_.unreadable.insert("x3");
  EXPECT_TRUE((throws_exactly<MissingError>([&] { make(); })));
}

}  // namespace
}  // namespace millrace
