#include "millrace/cli/rows/csv_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "millrace/core/spec.h"
#include "millrace/input/csv/row_converter.h"
#include "millrace/trainer/files/yaml.h"

namespace millrace::cli {
namespace {

// What decode_csv makes of `fields`.
struct Decoder {
  explicit Decoder(const std::string& fields, std::vector<std::string> missing = {}, CsvDialect with = {})
      : dialect(std::move(with)) {
    dialect.columns = 9;
    converter = std::make_shared<RowConverter>(
        select_fields(read_fields(parse_yaml(fields, "fields.yaml"), true), dialect), ValueRules{std::move(missing)});
    from = {std::make_shared<CsvDialect>(dialect), converter->spec(), {}, converter};
    for (const SelectedField& field : converter->fields()) from.columns.push_back(field.columns);
  }

  CsvDialect dialect;
  std::shared_ptr<const RowConverter> converter;
  TextColumns from;
};

CsvDialect unquoted() {
  CsvDialect out;
  out.quote = std::nullopt;
  return out;
}

std::string text_of(CsvLayout layout, const RowBlock& batch) {
  CsvText text(std::move(layout));
  std::string out;
  text.append_head(out);
  text.append(out, batch, [](int64_t row) { return Place{"a.csv", row + 1}; });
  return out;
}
std::string text_of(const Decoder& decoder, const RowBlock& batch) {
  return text_of(csv_layout(&decoder.from, batch.spec()), batch);
}

// One row of `decoder`, that `fill` makes.
template <class Fill>
std::string row_of(const Decoder& decoder, const Fill& fill) {
  RowBlock batch;
  batch.configure(decoder.converter->spec(), 1);
  batch.resize(1);
  fill(batch);
  return text_of(decoder, batch);
}
std::string number(const Decoder& decoder, float value) {
  return row_of(decoder, [&](RowBlock& batch) { *batch.row<float>(0, 0) = value; });
}
std::string words(const Decoder& decoder, const std::vector<std::string>& texts) {
  return row_of(decoder, [&](RowBlock& batch) {
    for (const std::string& text : texts) batch.varying(0, 0).add_text(text);
  });
}

RowBlock example() {
  RowBlock batch;
  batch.configure({{{"features", DType::f32, Shape({2})}, {"label", DType::f64, Shape({1})}}}, 2);
  batch.resize(2);
  for (int row = 0; row < 2; ++row) {
    batch.row<float>(0, row)[0] = 0.1f;
    batch.row<float>(0, row)[1] = row == 0 ? -std::numeric_limits<float>::quiet_NaN() : -2e-30f;
    batch.row<double>(1, row)[0] = row == 0 ? 0.1 : -std::numeric_limits<double>::infinity();
  }
  return batch;
}

std::string example_text(const std::string& features, const std::string& label, CsvDialect dialect = {}) {
  const std::string fields = "{features: {columns: " + features + "}, label: {columns: " + label + ", type: float64}}";
  return text_of(Decoder(fields, {}, std::move(dialect)), example());
}

TEST(CsvTextTest, ValuesAreInTheirShortestForm) {
  EXPECT_EQ(example_text("0-1", "2"), "0.1,nan,0.1\n0.1,-2e-30,-inf\n");
}

TEST(CsvTextTest, ColumnsThatNobodyReadsStayEmpty) {
  CsvDialect dialect;
  dialect.delimiter = ';';
  EXPECT_EQ(example_text("[4, 2]", "0", dialect), "0.1;;nan;;0.1\n-inf;;-2e-30;;0.1\n");
}

TEST(CsvTextTest, LinesThatTheReaderSkipsAreThere) {
  CsvDialect dialect;
  dialect.skip_lines = 2;
  dialect.header = {"a", "b,\"", "c"};
  EXPECT_EQ(example_text("0-1", "2", dialect), "\n\na,\"b,\"\"\",c\n0.1,nan,0.1\n0.1,-2e-30,-inf\n");
}

TEST(CsvTextTest, WhatWouldBeReadAsSomethingElseIsQuoted) {
  CsvDialect dialect;
  dialect.header = {"#a", "#b", "c"};
  dialect.comment = '#';
  EXPECT_EQ(example_text("0-1", "2", dialect), "\"#a\",#b,c\n0.1,nan,0.1\n0.1,-2e-30,-inf\n");
  dialect = {};
  dialect.delimiter = '.';
  dialect.comment = '-';
  EXPECT_EQ(example_text("[1, 2]", "0", dialect), "\"0.1\".\"0.1\".nan\n\"-inf\".\"0.1\".-2e-30\n");
  EXPECT_EQ(example_text("0-1", "2", unquoted()), "0.1,nan,0.1\n0.1,-2e-30,-inf\n");
}

TEST(CsvTextTest, TextsAreQuotedWhereTheyMust) {
  const Decoder decoder("{s: {columns: 0, type: string, default: \"\"}}");
  EXPECT_EQ(words(decoder, {"a,\"b\n"}), "\"a,\"\"b\n\"\n");
  EXPECT_EQ(words(decoder, {" c"}), " c\n");
  EXPECT_EQ(words(decoder, {"a\r"}), "\"a\r\"\n");
  EXPECT_EQ(words(decoder, {""}), "\"\"\n");
}

TEST(CsvTextTest, ANameWithoutAByteIsNoBlankLine) {
  CsvDialect dialect;
  dialect.header = {""};
  EXPECT_EQ(number(Decoder("{x: {columns: 0}}", {}, dialect), 1), "\"\"\n1\n");
}

// The reader passes the first.
TEST(CsvTextTest, AByteOrderMarkThatIsDataHasOneBeforeIt) {
  const Decoder decoder("{s: {columns: 0, type: string}}", {}, unquoted());
  EXPECT_EQ(words(decoder, {"\xef\xbb\xbfx"}), "\xef\xbb\xbf\xef\xbb\xbfx,\n");
  CsvDialect named;
  named.header = {"\xef\xbb\xbfx"};
  EXPECT_EQ(number(Decoder("{x: {columns: 0}}", {}, named), 1), "\xef\xbb\xbf\xef\xbb\xbfx\n1\n");

  RowBlock batch;
  batch.configure(decoder.converter->spec(), 1);
  batch.resize(1);
  batch.varying(0, 0).add_text("\xef\xbb\xbfx");
  CsvText text(csv_layout(&decoder.from, batch.spec()));
  std::string first, second;
  text.append(first, batch, [](int64_t) { return Place{}; });
  text.append(second, batch, [](int64_t) { return Place{}; });
  EXPECT_EQ(second, "\xef\xbb\xbfx,\n") << "only the file's first bytes are passed";
}

TEST(CsvTextTest, ANumberThatLooksLikeAMissingTextHasABlankBeforeIt) {
  EXPECT_EQ(number(Decoder("{x: {columns: 0}}", {"7"}), 7), " 7\n");
  EXPECT_EQ(number(Decoder("{x: {columns: 0, default: 7}}", {"7"}), 7), "7\n");
  EXPECT_EQ(number(Decoder("{x: {columns: 0, default: 1}}", {"7", " 7"}), 7), "  7\n");
  EXPECT_EQ(number(Decoder("{x: {columns: 0}}", {"nan"}), std::numeric_limits<float>::quiet_NaN()), " nan\n");
  CsvDialect blanks = unquoted();
  blanks.delimiter = ' ';
  EXPECT_EQ(number(Decoder("{x: {columns: 0}}", {"7"}, blanks), 7), "\t7 \n");
}

TEST(CsvTextTest, AnEmptyListIsNotTheDefault) {
  EXPECT_EQ(words(Decoder("{s: {columns: 0, type: string, split: \" \", default: [a]}}"), {}), " \n");
  EXPECT_EQ(words(Decoder("{s: {columns: 0, type: string, split: \" \", default: []}}"), {}), "\"\"\n");
  EXPECT_EQ(words(Decoder("{s: {columns: 0, type: string, split: \" \", default: [a]}}", {" "}), {}), "  \n");
}

TEST(CsvTextTest, ListsAreJoinedAndAreNoMissingText) {
  EXPECT_EQ(words(Decoder("{s: {columns: 0, type: string, split: \",\"}}"), {"a", "", "b"}), "\"a,,b\"\n");
  EXPECT_EQ(words(Decoder("{s: {columns: 0, type: string, split: \" \"}}", {"a b"}), {"a", "b"}), " a b\n");
  // What the split would cut can only be the default.
  EXPECT_EQ(words(Decoder("{s: {columns: 0, type: string, split: \"|\", default: [\"a|b\"]}}"), {"a|b"}), "\"\"\n");
}

TEST(CsvTextTest, AListThatWasFilledUpIsFilledUpAgain) {
  const Decoder decoder("{s: {columns: 0, type: string, split: \" \"}}");
  EXPECT_EQ(words(decoder, {"a", ""}), "a \n");
  EXPECT_EQ(words(decoder, {"", ""}), " \n");
}

TEST(CsvTextTest, FieldsOfOneColumnWithDefaultsOfTheirOwnGetAMissingText) {
  const auto fill = [](float x, float y) {
    return [=](RowBlock& batch) {
      *batch.row<float>(0, 0) = x;
      *batch.row<float>(1, 0) = y;
    };
  };
  const std::string fields = "{x: {columns: 0, default: 5}, y: {columns: 0, default: 6}}";
  EXPECT_EQ(row_of(Decoder(fields), fill(5, 6)), "\"\"\n");
  EXPECT_EQ(row_of(Decoder(fields), fill(3, 3)), "3\n");
  CsvDialect one = unquoted();
  EXPECT_EQ(row_of(Decoder(fields, {"NA"}, one), fill(5, 6)), ",\n");
}

TEST(CsvTextTest, EveryFieldOfAColumnReadsItsOwnText) {
  const Decoder decoder("{x: {columns: 0}, i: {columns: 0, type: int32}}");
  const auto fill = [](RowBlock& batch) {
    *batch.row<float>(0, 0) = -0.0f;
    *batch.row<int32_t>(1, 0) = 0;
  };
  EXPECT_EQ(row_of(decoder, fill), "-0\n");
}

template <class Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const DataError& error) {
    return error.place().text() + ": " + error.message() + " | " + error.hint();
  }
  return "no error";
}

TEST(CsvTextTest, TimesAreTextsThatAreReadAsTheSameTimes) {
  const auto written = [](const std::string& options, double seconds, std::vector<std::string> missing = {}) {
    const Decoder decoder(cat("{t: {columns: 0, ", options, "}}"), std::move(missing));
    return row_of(decoder, [&](RowBlock& batch) {
      if (batch.spec().fields[0].dtype == DType::i64) {
        *batch.row<int64_t>(0, 0) = static_cast<int64_t>(seconds);
      } else {
        *batch.row<double>(0, 0) = seconds;
      }
    });
  };
  EXPECT_EQ(written("type: date", 1706659200), "2024-01-31\n");
  EXPECT_EQ(written("type: timestamp", 1706696430.25), "2024-01-31T10:20:30.25Z\n");
  EXPECT_EQ(written("type: timestamp, as: int64", 1706696430), "2024-01-31T10:20:30Z\n");
  EXPECT_EQ(written("type: date, format: \"%d,%m,%Y\"", 1706659200), "\"31,01,2024\"\n") << "a comma";
  EXPECT_EQ(written("type: date", 1706659200, {"2024-01-31"}), " 2024-01-31\n") << "not missing";
  EXPECT_EQ(written("type: date, default: .nan", std::nan("")), "\"\"\n") << "what a missing one becomes";
  EXPECT_EQ(error_of([&] { written("type: date", 1706696430); }),
            "a.csv:1: no text in column 0 of a CSV file is read as 1706696430 by t | write --format jsonl");
  EXPECT_THROW(written("type: timestamp", 1e300), DataError);
}

TEST(CsvTextTest, WhatNoTextIsReadAsIsAnErrorAtItsRow) {
  const Decoder decoder("{s: {columns: 1, type: string, default: \"\"}}", {"NA"}, unquoted());
  const std::string quotes = "csv_reader has quote: none; write --format jsonl";
  for (const auto& [text, shown] :
       std::vector<std::pair<std::string, std::string>>{{"a,b", "a,b"}, {"a\nb", "a\\nb"}, {"a\r", "a\\r"}}) {
    EXPECT_EQ(error_of([&] { words(decoder, {text}); }),
              "a.csv:1: no text in column 1 of a CSV file is read as \"" + shown + "\" by s | " + quotes);
  }
  EXPECT_EQ(words(decoder, {"a\rb"}), ",a\rb\n");
  EXPECT_EQ(error_of([&] { words(decoder, {"NA"}); }),
            "a.csv:1: no text in column 1 of a CSV file is read as \"NA\" by s | write --format jsonl");

  CsvDialect comments = unquoted();
  comments.comment = '#';
  EXPECT_EQ(error_of([&] { words(Decoder("{s: {columns: 0, type: string}}", {}, comments), {"#x"}); }),
            "a.csv:1: no text in column 0 of a CSV file is read as \"#x\" by s | " + quotes);
}

TEST(CsvTextTest, AListThatHasToBeReadWholeIsNotFilledUp) {
  const Decoder decoder("{s: {columns: 0, type: string, split: \" \"}}");
  RowBlock batch;
  batch.configure(decoder.converter->spec(), 2);
  batch.resize(2);
  batch.varying(0, 0).add_text("a");
  batch.varying(0, 1).add_text("a");
  batch.varying(0, 1).add_text("");
  CsvLayout layout = csv_layout(&decoder.from, batch.spec());
  layout.whole_lists = true;
  layout.way_out = "leave it";
  CsvText text(layout);
  std::string out;
  const auto place = [](int64_t row) { return Place{"a.csv", row + 1}; };
  text.append(out, RowSpan{&batch, 0, 1}, place);
  EXPECT_EQ(out, "a\n");
  EXPECT_EQ(error_of([&] {
              text.append(out, RowSpan{&batch, 1, 1}, place);
            }),
            "a.csv:2: no text in column 0 of a CSV file is read as \"a \" by s | leave it");
}

TEST(CsvTextTest, FieldsOfOneColumnThatCameToDifferAreAnError) {
  const Decoder decoder("{x: {columns: 0}, y: {columns: 0}}");
  EXPECT_EQ(error_of([&] {
              row_of(decoder, [](RowBlock& batch) {
                *batch.row<float>(0, 0) = 1.5f;
                *batch.row<float>(1, 0) = 3;
              });
            }),
            "a.csv:1: no text in column 0 of a CSV file is read as 1.5 by x and 3 by y | write --format jsonl");
}

TEST(CsvTextTest, NamesThatNeedQuotesNeedThem) {
  CsvDialect dialect = unquoted();
  dialect.header = {"a"};
  RowSpec rows = {{{"x", DType::f32, Shape({1})}, {"b,c", DType::f32, Shape({1})}}};
  Decoder decoder("{x: {columns: 0}}", {}, dialect);
  CsvText text(csv_layout(&decoder.from, rows));
  std::string out;
  EXPECT_EQ(error_of([&] { text.append_head(out); }),
            ": the name \"b,c\" of a column needs quotes, but csv_reader has quote: none | write --format jsonl");
}

TEST(CsvTextTest, ALineThatNobodyCanReadIsAnError) {
  const Decoder decoder("{s: {columns: 0, type: string}}");
  EXPECT_EQ(error_of([&] { words(decoder, {std::string(9 << 20, '"')}); }),
            "a.csv:1: the row takes more than 16777216 bytes as CSV, and could not be read | write --format jsonl");
}

}  // namespace
}  // namespace millrace::cli
