#include "millrace/input/parquet/schema.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/input/op_testing.h"
#include "tests/input/parquet/parquet_bytes.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::kBoolean;
using testing_support::kBytes;
using testing_support::kFixed;
using testing_support::kFloat;
using testing_support::kInt32;
using testing_support::kInt64;
using testing_support::kInt96;
using testing_support::SchemaPart;
using testing_support::Thrift;

constexpr int kOptional = 1, kRepeated = 2, kMap = 1, kList = 3, kDecimal = 5;

std::vector<ParquetColumn> columns_of(int columns, const std::vector<SchemaPart>& parts) {
  std::vector<Thrift> elements = {SchemaPart{.name = "root", .children = columns}.thrift()};
  for (const SchemaPart& part : parts) elements.push_back(part.thrift());
  const std::string bytes = Thrift().parts(2, elements).bytes();
  std::vector<ParquetColumn> out;
  ThriftReader reader(bytes);
  reader.structure([&](int64_t) { out = read_schema(reader); });
  return out;
}

std::string type_of(const SchemaPart& part) { return columns_of(1, {part}).front().type_text(); }

// A logical type without anything in it, or with numbers or a unit.
Thrift logical(int kind, const Thrift& more = {}) { return Thrift().part(kind, more); }

TEST(Schema, KnowsTheTypes) {
  EXPECT_EQ(type_of({.name = "a", .type = kBoolean}), "booleans");
  EXPECT_EQ(type_of({.name = "a", .type = kInt32}), "int32");
  EXPECT_EQ(type_of({.name = "a", .type = kInt32, .converted = 11}), "uint32");
  EXPECT_EQ(type_of({.name = "a", .type = kInt64, .converted = 14}), "uint64");
  EXPECT_EQ(type_of({.name = "a", .type = kInt64, .converted = 18}), "int64");
  EXPECT_EQ(type_of({.name = "a", .type = kInt64, .logical = logical(10, Thrift().add(1, 3, "\x40").flag(2, false))}),
            "uint64");
  EXPECT_EQ(type_of({.name = "a", .type = kFloat}), "float32");
  EXPECT_EQ(type_of({.name = "a", .type = kFixed, .logical = logical(15), .length = 2}), "float16");
  EXPECT_EQ(type_of({.name = "a", .type = kInt32, .converted = 6}), "dates");
  EXPECT_EQ(type_of({.name = "a", .type = kInt96}), "timestamps");
  EXPECT_EQ(type_of({.name = "a", .type = kBytes, .converted = 0}), "texts");
  EXPECT_EQ(type_of({.name = "a", .type = kBytes}), "texts");
  EXPECT_EQ(type_of({.name = "a", .type = kFixed, .length = 3}), "texts");
  EXPECT_EQ(type_of({.name = "a", .type = kInt64, .converted = kDecimal, .scale = 2, .precision = 18}), "decimals");
  EXPECT_EQ(type_of({.name = "a", .type = kInt32, .converted = 7}), "times of day");
  EXPECT_EQ(type_of({.name = "a", .type = kFixed, .logical = logical(14), .length = 16}), "UUIDs");
  EXPECT_EQ(type_of({.name = "a", .type = kFixed, .converted = 21, .length = 12}), "intervals");
  EXPECT_EQ(type_of({.name = "a", .type = kFixed, .converted = kDecimal, .length = 20, .scale = 2, .precision = 40}),
            "decimals of more than 38 digits");
}

TEST(Schema, KnowsTheUnitsOfTimes) {
  const auto unit = [](const SchemaPart& part) { return columns_of(1, {part}).front().per_second; };
  EXPECT_EQ(unit({.name = "a", .type = kInt64, .converted = 9}), 1000);
  EXPECT_EQ(unit({.name = "a", .type = kInt64, .converted = 10}), 1000000);
  for (const auto& [kind, expected] : {std::pair(1, 1000), std::pair(2, 1000000), std::pair(3, 1000000000)}) {
    const Thrift times = logical(8, Thrift().flag(1, true).part(2, Thrift().part(kind, {})));
    EXPECT_EQ(unit({.name = "a", .type = kInt64, .logical = times}), expected);
  }
}

// Some programs write the repetition as a bool if they do not know it.
TEST(Schema, TakesAFieldOfAnotherTypeForAbsent) {
  Thrift root, leaf;
  root.text(4, "root").number(5, 1);
  leaf.number(1, kInt64).flag(3, false).text(4, "a").part(10, Thrift().flag(14, true));
  const std::string bytes = Thrift().parts(2, {root, leaf}).bytes();
  std::vector<ParquetColumn> columns;
  ThriftReader reader(bytes);
  reader.structure([&](int64_t) { columns = read_schema(reader); });
  ASSERT_EQ(columns.size(), 1u);
  EXPECT_EQ(columns[0].type_text(), "int64");
  EXPECT_EQ(columns[0].most_definition, 0) << "it is required";
}

// The levels of a column: of a value, of an empty list.
std::string levels(const ParquetColumn& column) {
  return cat(column.is_list ? "list " : "", static_cast<int>(column.most_definition), ' ',
             static_cast<int>(column.empty_definition));
}

TEST(Schema, KnowsListsAsProgramsWroteThem) {
  const auto columns =
      columns_of(8, {{.name = "required", .type = kInt32},
                     {.name = "optional", .type = kInt32, .repetition = kOptional},
                     {.name = "list", .repetition = kOptional, .children = 1, .converted = kList},
                     {.name = "list", .repetition = kRepeated, .children = 1},
                     {.name = "element", .type = kFloat, .repetition = kOptional},
                     {.name = "required_list", .children = 1, .logical = logical(3)},
                     {.name = "list", .repetition = kRepeated, .children = 1},
                     {.name = "element", .type = kBytes},
                     {.name = "bare", .type = kInt64, .repetition = kRepeated},
                     {.name = "two_levels", .repetition = kOptional, .children = 1, .converted = kList},
                     {.name = "array", .type = kInt32, .repetition = kRepeated},
                     {.name = "spark", .repetition = kOptional, .children = 1, .converted = kList},
                     {.name = "bag", .repetition = kRepeated, .children = 1},
                     {.name = "array_element", .type = kFloat, .repetition = kOptional},
                     {.name = "last", .type = kFloat}});
  ASSERT_EQ(columns.size(), 8u);
  EXPECT_EQ(levels(columns[0]), "0 0");
  EXPECT_EQ(levels(columns[1]), "1 0");
  EXPECT_EQ(levels(columns[2]), "list 3 1");
  EXPECT_EQ(levels(columns[3]), "list 1 0");
  EXPECT_EQ(levels(columns[4]), "list 1 0");
  EXPECT_EQ(levels(columns[5]), "list 2 1");
  EXPECT_EQ(levels(columns[6]), "list 3 1");
  EXPECT_EQ(columns[2].type_text(), "lists of float32");
  EXPECT_EQ(columns[3].type_text(), "lists of texts");
  EXPECT_EQ(columns[7].leaf, 7u);
}

TEST(Schema, NamesWhatIsNotReadAndGoesPastIt) {
  const auto columns = columns_of(6, {{.name = "struct", .children = 2},
                                      {.name = "x", .type = kInt32},
                                      {.name = "y", .children = 1},
                                      {.name = "z", .type = kInt32},
                                      {.name = "map", .children = 1, .converted = kMap},
                                      {.name = "key_value", .repetition = kRepeated, .children = 2},
                                      {.name = "key", .type = kBytes},
                                      {.name = "value", .type = kInt32},
                                      {.name = "lists", .children = 1, .converted = kList},
                                      {.name = "list", .repetition = kRepeated, .children = 1},
                                      {.name = "element", .children = 1, .converted = kList},
                                      {.name = "list", .repetition = kRepeated, .children = 1},
                                      {.name = "element", .type = kInt32},
                                      {.name = "structs", .children = 1, .converted = kList},
                                      {.name = "array", .repetition = kRepeated, .children = 1},
                                      {.name = "x", .type = kInt32},
                                      {.name = "more", .repetition = kRepeated, .children = 1},
                                      {.name = "x", .type = kInt32},
                                      {.name = "last", .type = kFloat}});
  ASSERT_EQ(columns.size(), 6u);
  const char* const expected[] = {"structs", "maps", "lists of lists", "lists of structs", "lists of structs", ""};
  for (size_t i = 0; i < columns.size(); ++i) EXPECT_EQ(columns[i].refused, expected[i]);
  EXPECT_EQ(columns.back().leaf, 7u);
}

TEST(Schema, RefusesWhatIsNone) {
  const std::string damaged = "the Parquet file is damaged: its schema ";
  const std::string hint = "; was it copied or downloaded as a whole?";
  EXPECT_EQ(error_of([] { columns_of(2, {{.name = "a", .type = kInt32}}); }), damaged + "is cut short" + hint);
  EXPECT_EQ(error_of([] { columns_of(1000000, {}); }), damaged + "is cut short" + hint);
  EXPECT_EQ(error_of([] { columns_of(1, {{.name = "a", .type = kInt32, .children = 1}}); }),
            damaged + "has a value with parts" + hint);
  EXPECT_EQ(error_of([] { columns_of(1, std::vector<SchemaPart>(1000, {.name = "a", .children = 1})); }),
            damaged + "is nested too deeply" + hint);
  EXPECT_NE(error_of([] { columns_of(1, {{.name = "a", .type = 9}}); }).find("say 9, which cannot be"),
            std::string::npos);
}

}  // namespace
}  // namespace millrace
