#include "millrace/input/parquet/group_bounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "millrace/input/parquet/parquet_files.h"
#include "tests/input/op_testing.h"
#include "tests/input/parquet/test_columns.h"

namespace millrace {
namespace {

using testing_support::bytes_of_numbers;
using testing_support::BytesFile;
using testing_support::ChunkParts;
using testing_support::FileParts;
using testing_support::kBytes;
using testing_support::kDouble;
using testing_support::Thrift;

struct Bounds {
  std::string least, greatest;
  int64_t missing = 0;
  bool old = false;
};

// Which row groups with such bounds are unneeded if numbers above 10, or texts above "k", are wanted.
std::string unneeded(const std::vector<Bounds>& all, const std::string& options, int type = kDouble,
                     int repetition = 1) {
  FileParts parts{.schema = {{.name = "a", .type = type, .repetition = repetition}}};
  for (const Bounds& bounds : all) {
    Thrift statistics;
    if (bounds.old) statistics.text(1, bounds.greatest).text(2, bounds.least);
    if (bounds.missing >= 0) statistics.number(3, bounds.missing);
    if (!bounds.old) statistics.text(5, bounds.greatest).text(6, bounds.least);
    parts.groups.push_back(
        {.rows = 3, .chunks = {ChunkParts{.type = type, .values = 3, .pages = "..", .statistics = statistics}}});
  }
  parts.groups.push_back({.rows = 3, .chunks = {ChunkParts{.type = type, .values = 3, .pages = ".."}}});
  const auto requests = read_fields(parse_yaml(cat("{x: {columns: a", options, "}}"), "f.yaml"), true, true);
  const ValueRules rules;
  ParquetFiles files(requests, rules);
  const BytesFile file(parts.bytes());
  files.add(std::make_shared<const FileEntry>(FileEntry{.path = "a.parquet", .size = file.size()}), file);
  const auto tables = files.take_tables();
  const RowCondition condition = {"x", "filter", [&](const Varying&, const Varying& greatest) {
                                    const FieldSpec& spec = files.fields().front().spec;
                                    if (spec.text) return greatest.text(0) > "k";
                                    return spec.dtype == DType::f64 ? greatest.numbers<double>()[0] > 10
                                                                    : greatest.numbers<int32_t>()[0] > 10;
                                  }};
  std::string out;
  for (const bool one : unneeded_groups(tables.front(), file, condition)) out += one ? 'u' : 'n';
  return out;
}

std::string number(double value) { return bytes_of_numbers<double>({value}); }

TEST(UnneededGroups, AreThoseWhoseBoundsTheConditionExcludes) {
  const std::string options = ", type: float64";
  EXPECT_EQ(unneeded({{number(1), number(10)}, {number(1), number(11)}, {number(1), number(2), 0, true}}, options),
            "unun");
  EXPECT_EQ(unneeded({{number(1), number(10)}, {number(1), number(11)}, {number(2.5), number(3)}}, ", type: int32"),
            "unnn")
      << "a bound that is none of the field's type says nothing";
  EXPECT_EQ(unneeded({{number(1), number(NAN)}, {"12345678", "short"}, {"", ""}}, options), "nnnn");
  EXPECT_EQ(unneeded({{"a", "k"}, {"a", "ka"}, {"a", "b", 0, true}}, ", type: string", kBytes), "unnn");
}

TEST(UnneededGroups, HaveNoMissingValuesThatMatter) {
  const std::vector<Bounds> some = {{number(1), number(2), 1}, {number(1), number(2), -1}};
  EXPECT_EQ(unneeded(some, ", type: float64"), "nnn") << "a bad row";
  EXPECT_EQ(unneeded(some, ", type: float64, default: 3"), "uun");
  EXPECT_EQ(unneeded(some, ", type: float64, default: 30"), "nnn");
  EXPECT_EQ(unneeded(some, ", type: float64", kDouble, 0), "uun") << "none can be missing";
  EXPECT_EQ(unneeded({{number(1), number(2)}}, ", type: float64, missing: [\"1.5\"], default: 30"), "nn");
  EXPECT_EQ(unneeded({{number(1), number(2)}}, ", type: string"), "nn")
      << "numbers have another order than their texts";
  EXPECT_EQ(unneeded({{"1", "2"}}, ", type: float64", kBytes), "nn") << "texts have another order than their numbers";
}

}  // namespace
}  // namespace millrace
