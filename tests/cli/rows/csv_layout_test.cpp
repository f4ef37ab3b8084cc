#include "millrace/cli/rows/csv_text.h"

#include <gtest/gtest.h>

#include <chrono>
#include <utility>

#include "millrace/core/text.h"

namespace millrace::cli {
namespace {

const RowSpec kRows = {{{"features", DType::f32, Shape({2})}, {"label", DType::f64, Shape({1})}}};

// The rows of the example, decoded from `columns`.
TextColumns decoded(std::vector<std::vector<uint32_t>> columns, CsvDialect dialect = {}) {
  return {std::make_shared<CsvDialect>(std::move(dialect)), kRows, std::move(columns)};
}

CsvDialect with_header(std::vector<std::string> header) {
  CsvDialect out;
  out.header = std::move(header);
  return out;
}

// "name=field.element ..", of several values in a column with "+" between them; "!" is what nobody reads there.
std::string described(const CsvLayout& layout) {
  std::string out;
  for (const CsvColumn& column : layout.columns) {
    out += cat(out.empty() ? "" : " ", column.name, '=');
    for (const CsvValue& value : column.values) {
      if (&value != &column.values.front()) out += '+';
      out += cat(value.field, '.', value.element);
      if (value.split) out += cat('/', *value.split);
      if (!value.read_by) out += '!';
    }
  }
  return out;
}
std::string described(const TextColumns& from, const RowSpec& rows = kRows) {
  return described(csv_layout(&from, rows));
}

TEST(CsvLayoutTest, ValuesStandWhereTheyWereReadFrom) {
  EXPECT_EQ(described(decoded({{0, 1}, {2}})), "=0.0 =0.1 =1.0");
  EXPECT_EQ(described(decoded({{4, 2}, {0}})), "=1.0 = =0.1 = =0.0");
}

TEST(CsvLayoutTest, ColumnsKeepTheirNames) {
  EXPECT_EQ(described(decoded({{0, 3}, {1}}, with_header({"open", "y", "note", "close", "more"}))),
            "open=0.0 y=1.0 note= close=0.1");
}

TEST(CsvLayoutTest, ManyColumnsTakeNoLonger) {
  const RowSpec wide = {{{"pixel", DType::f32, Shape({200000})}}};  // each compared with all before it, 2 * 10^10 names
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(csv_layout(nullptr, wide).columns.back().name, "pixel_199999");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(CsvLayoutTest, AColumnOfSeveralFieldsBeginsWithTheTextThatSaysMost) {
  const RowSpec rows = {{{"narrow", DType::f32, Shape({1})},
                         {"wide", DType::f64, Shape({1})},
                         {"whole", DType::i32, Shape({1})},
                         {"again", DType::f32, Shape({1})}}};
  const TextColumns from = {std::make_shared<CsvDialect>(), rows, {{0}, {0}, {1}, {1}}};
  EXPECT_EQ(described(from, rows), "=1.0+0.0 =2.0+3.0");
}

TEST(CsvLayoutTest, ATextSaysItAll) {
  RowSpec rows = {{{"number", DType::f64, Shape({1})}, {"name", DType::u8, Shape({1})}}};
  rows.fields[1].text = true;
  const TextColumns from = {std::make_shared<CsvDialect>(), rows, {{0}, {0}}};
  EXPECT_EQ(described(from, rows), "=1.0+0.0");
}

TEST(CsvLayoutTest, WithoutADecoderFieldsStandSideBySide) {
  const CsvLayout layout = csv_layout(nullptr, kRows);
  EXPECT_TRUE(layout.header);
  EXPECT_EQ(described(layout), "features_0=0.0! features_1=0.1! label=1.0!");
  const TextColumns no_csv = {nullptr, kRows, {{0, 1}, {2}}};
  EXPECT_EQ(described(no_csv), "features_0=0.0! features_1=0.1! label=1.0!");
}

// The configuration reads the file again: it takes no notice of what stands behind its columns, and makes it anew.
TEST(CsvLayoutTest, FieldsThatTheDecoderDoesNotMakeStandBehind) {
  const RowSpec other = {{{"features", DType::f32, Shape({2})}}};
  const TextColumns nameless = {std::make_shared<CsvDialect>(), other, {{0, 2}}};
  EXPECT_FALSE(csv_layout(&nameless, kRows).header);
  EXPECT_EQ(described(nameless), "=0.0 = =0.1 label=1.0!");
  const TextColumns named = {std::make_shared<CsvDialect>(with_header({"label", "a", "label_", "b"})), other, {{1, 2}}};
  EXPECT_EQ(described(named), "label= a=0.0 label_=0.1 label__=1.0!");
}

TEST(CsvLayoutTest, AListThatWasFilledUpIsAListWhereItWasRead) {
  const RowSpec padded = {{{"tags", DType::i32, Shape({3})}, {"y", DType::f32, Shape({1})}}};
  RowSpec ragged = padded;
  ragged.fields[0].split = ' ';
  const TextColumns from = {std::make_shared<CsvDialect>(), ragged, {{1}, {0}}};
  EXPECT_EQ(described(from, padded), "=1.0 =0.0/ ");
}

TEST(CsvLayoutTest, WithoutQuotesNoLineIsWithoutAByte) {
  const RowSpec rows = {{{"x", DType::f32, Shape({1})}}};
  CsvDialect dialect;
  dialect.quote = std::nullopt;
  dialect.columns = 2;
  const TextColumns from = {std::make_shared<CsvDialect>(dialect), rows, {{0}}};
  EXPECT_EQ(described(from, rows), "=0.0 =");
}

}  // namespace
}  // namespace millrace::cli
