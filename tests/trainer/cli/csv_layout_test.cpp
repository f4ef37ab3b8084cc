#include "millrace/trainer/cli/csv_layout.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

namespace millrace::cli {
namespace {

const RowSpec kRows = {{{"features", DType::f32, Shape({2})}, {"label", DType::f64, Shape({1})}}};

// The example's rows, decoded from `columns`.
TextColumns decoded(std::vector<std::vector<uint32_t>> columns, CsvDialect dialect = {}) {
  return {std::make_shared<CsvDialect>(std::move(dialect)), kRows, std::move(columns)};
}

CsvDialect with_header(std::vector<std::string> header) {
  CsvDialect out;
  out.header = std::move(header);
  return out;
}

RowBlock example() {
  RowBlock batch;
  batch.configure(kRows, 2);
  batch.resize(2);
  for (int row = 0; row < 2; ++row) {
    batch.row<float>(0, row)[0] = 0.1f;
    batch.row<float>(0, row)[1] = row == 0 ? -std::numeric_limits<float>::quiet_NaN() : -2e-30f;
    batch.row<double>(1, row)[0] = row == 0 ? 0.1 : -std::numeric_limits<double>::infinity();
  }
  return batch;
}

std::string text_of(const CsvLayout& layout) {
  std::string out = csv_head(layout);
  append_csv(out, layout, example());
  return out;
}
std::string text_of(const TextColumns& from) { return text_of(csv_layout(&from, kRows)); }

TEST(CsvLayoutTest, ValuesStandWhereTheyWereReadFrom) {
  EXPECT_EQ(text_of(decoded({{0, 1}, {2}})), "0.1,nan,0.1\n0.1,-2e-30,-inf\n");
}

TEST(CsvLayoutTest, ColumnsThatNobodyReadsStayEmpty) {
  CsvDialect dialect;
  dialect.delimiter = ';';
  dialect.columns = 9;
  EXPECT_EQ(text_of(decoded({{4, 2}, {0}}, dialect)), "0.1;;nan;;0.1\n-inf;;-2e-30;;0.1\n");
}

TEST(CsvLayoutTest, ColumnsKeepTheirNames) {
  EXPECT_EQ(text_of(decoded({{0, 3}, {1}}, with_header({"open", "y", "note", "a,\"b", "more"}))),
            "open,y,note,\"a,\"\"b\"\n0.1,0.1,,nan\n0.1,-inf,,-2e-30\n");
}

TEST(CsvLayoutTest, LinesThatTheReaderSkipsAreThere) {
  CsvDialect dialect = with_header({"a", "b", "c", "d"});
  dialect.skip_lines = 2;
  const TextColumns from = decoded({{0, 1}, {3}}, dialect);
  EXPECT_EQ(csv_head(csv_layout(&from, kRows)), "\n\na,b,c,d\n");
}

TEST(CsvLayoutTest, WhatWouldBeReadAsSomethingElseIsQuoted) {
  CsvDialect dialect = with_header({"#a", "#b", "c"});
  dialect.comment = '#';
  EXPECT_EQ(text_of(decoded({{0, 1}, {2}}, dialect)), "\"#a\",#b,c\n0.1,nan,0.1\n0.1,-2e-30,-inf\n");
  dialect = {};
  dialect.delimiter = '.';
  dialect.comment = '-';
  EXPECT_EQ(text_of(decoded({{1, 2}, {0}}, dialect)), "\"0.1\".\"0.1\".nan\n\"-inf\".\"0.1\".-2e-30\n");
  dialect = {};
  dialect.quote = std::nullopt;
  EXPECT_EQ(text_of(decoded({{0, 1}, {2}}, dialect)), "0.1,nan,0.1\n0.1,-2e-30,-inf\n");
}

TEST(CsvLayoutTest, AColumnOfSeveralFieldsHasTheTextThatAllOfThemRead) {
  const RowSpec rows = {{{"narrow", DType::f32, Shape({1})},
                         {"wide", DType::f64, Shape({1})},
                         {"whole", DType::i32, Shape({1})},
                         {"again", DType::f32, Shape({1})}}};
  const TextColumns from = {std::make_shared<CsvDialect>(), rows, {{0}, {0}, {1}, {1}}};
  const CsvLayout layout = csv_layout(&from, rows);
  ASSERT_EQ(layout.columns.size(), 2u);
  EXPECT_EQ(layout.columns[0].field, 1);
  EXPECT_EQ(layout.columns[1].field, 2);
}

TEST(CsvLayoutTest, TextsAreQuotedWhereTheyMust) {
  RowSpec rows = {{{"name", DType::u8, Shape({1})}, {"tags", DType::i32, Shape({1})}}};
  rows.fields[0].text = true;
  rows.fields[1].split = ',';
  RowBlock batch;
  batch.configure(rows, 2);
  batch.resize(2);
  batch.varying(0, 0).add_text("a,\"b\n");
  batch.varying(0, 1).add_text(" c");
  batch.varying(1, 0).add_number(int32_t{-1});
  batch.varying(1, 0).add_number(int32_t{2});
  std::string text;
  append_csv(text, csv_layout(nullptr, rows), batch);
  EXPECT_EQ(text, "\"a,\"\"b\n\",\"-1,2\"\n c,\n");
}

TEST(CsvLayoutTest, AnEmptyTextAloneIsNoBlankLine) {
  RowSpec rows = {{{"name", DType::u8, Shape({1})}}};
  rows.fields[0].text = true;
  RowBlock batch;
  batch.configure(rows, 1);
  batch.resize(1);
  batch.varying(0, 0).add_text("");
  std::string text;
  append_csv(text, csv_layout(nullptr, rows), batch);
  EXPECT_EQ(text, "\"\"\n");
}

TEST(CsvLayoutTest, ATextSaysItAll) {
  RowSpec rows = {{{"number", DType::f64, Shape({1})}, {"name", DType::u8, Shape({1})}}};
  rows.fields[1].text = true;
  const TextColumns from = {std::make_shared<CsvDialect>(), rows, {{0}, {0}}};
  const CsvLayout layout = csv_layout(&from, rows);
  ASSERT_EQ(layout.columns.size(), 1u);
  EXPECT_EQ(layout.columns[0].field, 1);
}

TEST(CsvLayoutTest, WithoutADecoderFieldsStandSideBySide) {
  EXPECT_EQ(text_of(csv_layout(nullptr, kRows)), "features_0,features_1,label\n0.1,nan,0.1\n0.1,-2e-30,-inf\n");
}

TEST(CsvLayoutTest, FieldsThatTheDecoderDoesNotMakeStandSideBySide) {
  const RowSpec other = {{{"features", DType::f32, Shape({2})}, {"y", DType::f64, Shape({1})}}};
  const TextColumns from = {std::make_shared<CsvDialect>(), other, {{0, 1}, {2}}};
  EXPECT_TRUE(csv_head(csv_layout(&from, kRows)).starts_with("features_0,"));
  const TextColumns no_csv = {nullptr, kRows, {{0, 1}, {2}}};
  EXPECT_TRUE(csv_head(csv_layout(&no_csv, kRows)).starts_with("features_0,"));
}

}  // namespace
}  // namespace millrace::cli
