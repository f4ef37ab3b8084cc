#include "millrace/input/csv/bad_rows_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::bad_row;
using testing_support::error_of;
using testing_support::throws_exactly;

std::string read_all(const std::string& path) {
  std::stringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

TEST(BadRowsFile, WritesALineForEveryRow) {
  const std::string path = testing::TempDir() + "bad_rows_file_test.jsonl";
  std::ofstream(path) << "what an earlier run left\n";
  {
    BadRowsFile file(path);
    EXPECT_EQ(read_all(path), "what an earlier run left\n") << "until there is a bad row";
    file.add(bad_row({"d/a.csv", 4, 3}, "column 2 (x): expected float32, got \"a\\nb\"", "x", "a\nb"));
    EXPECT_EQ(read_all(path),
              "{\"v\":1,\"file\":\"d/a.csv\",\"line\":4,\"column\":3,\"field\":\"x\",\"text\":\"a\\nb\","
              "\"reason\":\"column 2 (x): expected float32, got \\\"a\\\\nb\\\"\"}\n")
        << "every line is flushed";
    file.add(bad_row({"d/a.csv", 1234, 1}, "expected 3 fields, got 2"));
  }
  const std::string all = read_all(path);
  EXPECT_EQ(all.substr(all.find('\n') + 1),
            "{\"v\":1,\"file\":\"d/a.csv\",\"line\":1234,\"column\":1,\"field\":null,\"text\":null,"
            "\"reason\":\"expected 3 fields, got 2\"}\n");
  std::remove(path.c_str());
}

TEST(BadRowsFile, GoesOnBehindTheRowsOfAnEarlierRun) {
  const std::string path = testing::TempDir() + "millrace_bad_rows_resumed.jsonl";
  const auto add = [](BadRowsFile& file, int64_t first, int64_t last) {
    for (int64_t line = first; line <= last; ++line) file.add(bad_row({"a.csv", line, 1}, "r"));
  };
  {
    BadRowsFile all(path);
    add(all, 1, 6);
  }
  const std::string expected = read_all(path);
  {
    BadRowsFile rest(path);
    rest.resume(2);
    add(rest, 3, 6);
  }
  EXPECT_EQ(read_all(path), expected);
  {
    BadRowsFile none(path);
    none.resume(4);
  }
  EXPECT_EQ(read_all(path), expected.substr(0, expected.size() / 6 * 4)) << "what came later is told again";
  BadRowsFile lost(path);
  EXPECT_EQ(error_of([&] { lost.resume(5); }),
            path +
                ": the file of bad rows has 4 lines, but 5 were written before the state was saved; give "
                "bad_rows_file another path, or move the file away");
  std::remove(path.c_str());
  BadRowsFile gone(path);
  gone.resume(5);
  add(gone, 6, 6);
  EXPECT_EQ(read_all(path), expected.substr(expected.size() / 6 * 5));
  std::remove(path.c_str());
}

TEST(BadRowsFile, RefusesWhatItCannotWrite) {
  BadRowsFile nowhere(testing::TempDir() + "no/such/folder/bad.jsonl");
  EXPECT_TRUE((throws_exactly<IoError>([&] { nowhere.add(bad_row({"a", 1, 1}, "r")); })));
  BadRowsFile full("/dev/full");
  EXPECT_EQ(error_of([&] { full.add(bad_row({"a", 1, 1}, "r")); }), "/dev/full: cannot write the file of bad rows");
}

}  // namespace
}  // namespace millrace
