#include "millrace/input/sources/file_ranges.h"

#include <gtest/gtest.h>

#include "millrace/core/text.h"

namespace millrace {
namespace {

Unit whole_file(uint64_t size) {
  Unit unit;
  unit.file = std::make_shared<FileEntry>(FileEntry{"a.csv", 0, size});
  unit.end = size;
  unit.source = 3;
  unit.pass = 2;
  unit.file_ordinal = 1;
  return unit;
}

// "begin-end" of the units that are left, with the line of exact ones.
std::vector<std::string> units(FileRanges& ranges) {
  std::vector<std::string> out;
  for (Unit unit; ranges.next(unit);) {
    EXPECT_EQ(cat(unit.file->path, unit.source, unit.pass, unit.file_ordinal), "a.csv321");
    out.push_back(cat(unit.begin, '-', unit.end, unit.exact ? cat(" line ", unit.line) : ""));
  }
  return out;
}

TEST(FileRanges, CutsAtMultiplesOfTheSize) {
  FileRanges ranges(4);
  ranges.start(whole_file(10));
  EXPECT_EQ(units(ranges), (std::vector<std::string>{"0-4 line 1", "4-8", "8-10"}));
  ranges.start(whole_file(8));
  EXPECT_EQ(units(ranges), (std::vector<std::string>{"0-4 line 1", "4-8"}));
}

TEST(FileRanges, BeginsInTheMiddle) {
  FileRanges ranges(4);
  ranges.start(whole_file(10), {.offset = 5, .line = 3});
  EXPECT_EQ(units(ranges), (std::vector<std::string>{"5-8 line 3", "8-10"}));
  ranges.start(whole_file(10), {.offset = 8, .line = 9});
  EXPECT_EQ(units(ranges), (std::vector<std::string>{"8-10 line 9"}));
  ranges.start(whole_file(10), {.offset = 10, .line = 9});
  EXPECT_EQ(units(ranges), std::vector<std::string>{});
}

TEST(FileRanges, AnEmptyFileHasAUnitOnce) {
  FileRanges ranges(4);
  EXPECT_EQ(units(ranges), std::vector<std::string>{});
  ranges.start(whole_file(0));
  EXPECT_EQ(units(ranges), (std::vector<std::string>{"0-0 line 1"}));
  EXPECT_EQ(units(ranges), std::vector<std::string>{});
  ranges.start(whole_file(5));
  ranges.clear();
  EXPECT_EQ(units(ranges), std::vector<std::string>{});
}

}  // namespace
}  // namespace millrace
