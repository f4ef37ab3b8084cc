#include "millrace/trainer/cli/csv_layout.h"

#include <gtest/gtest.h>

#include <limits>

#include "millrace/trainer/yaml.h"

namespace millrace::cli {
namespace {

const RowSpec kRows = {{{"features", DType::f32, Shape({2})}, {"label", DType::f64, Shape({1})}}};

CsvLayout layout_of(const std::string& yaml, const RowSpec& rows = kRows) {
  return csv_layout(parse_yaml(yaml, "test.yaml"), rows);
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

TEST(CsvLayoutTest, FieldsStandWhereTheyAreReadFrom) {
  EXPECT_EQ(
      text_of(layout_of("- csv_reader: {header: false}\n"
                        "- decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2, type: float64}}}")),
      "0.1,nan,0.1\n0.1,-2e-30,-inf\n");
}

TEST(CsvLayoutTest, ColumnsThatNobodyReadsStayEmpty) {
  EXPECT_EQ(text_of(layout_of("- csv_reader: {header: false, delimiter: ;}\n"
                              "- decode_csv: {fields: {features: {columns: [4, 2]}, label: {columns: 0}}}")),
            "0.1;;nan;;0.1\n-inf;;-2e-30;;0.1\n");
}

TEST(CsvLayoutTest, NamesAreKept) {
  EXPECT_EQ(text_of(layout_of("- csv_reader: {header: true}\n"
                              "- decode_csv: {fields: {features: {columns: [open, \"a,b\"]}, label: {columns: y}}}")),
            "open,\"a,b\",y\n0.1,nan,0.1\n0.1,-2e-30,-inf\n");
}

TEST(CsvLayoutTest, NamedColumnsTakeThePlacesThatAreLeft) {
  EXPECT_EQ(text_of(layout_of("- csv_reader: {header: true}\n"
                              "- decode_csv: {fields: {features: {columns: [1, open]}, label: {columns: y}}}")),
            "open,features_0,y\nnan,0.1,0.1\n-2e-30,0.1,-inf\n");
}

TEST(CsvLayoutTest, LinesThatTheReaderSkipsAreThere) {
  EXPECT_EQ(csv_head(layout_of("- csv_reader: {header: true, skip_lines: 2}\n"
                               "- decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 3}}}")),
            "\n\nfeatures_0,features_1,unused_2,label\n");
}

TEST(CsvLayoutTest, OneColumnMayServeTwoFields) {
  const RowSpec rows = {{{"a", DType::f32, Shape({1})}, {"b", DType::f32, Shape({1})}}};
  const CsvLayout layout =
      layout_of("- csv_reader: {header: true}\n- decode_csv: {fields: {a: {columns: y}, b: {columns: y}}}", rows);
  ASSERT_EQ(layout.columns.size(), 1u);
  EXPECT_EQ(layout.columns[0].name, "y");
  EXPECT_EQ(layout.columns[0].field, 0);
}

TEST(CsvLayoutTest, WithoutAReaderFieldsStandSideBySide) {
  EXPECT_EQ(text_of(layout_of("- synthetic: {task: sum}")),
            "features_0,features_1,label\n0.1,nan,0.1\n0.1,-2e-30,-inf\n");
}

TEST(CsvLayoutTest, FieldsThatTheDecoderDoesNotMakeStandSideBySide) {
  EXPECT_TRUE(csv_head(layout_of("- csv_reader: {header: false}\n"
                                 "- decode_csv: {fields: {features: {columns: 0-1}, y: {columns: 2}}}"))
                  .starts_with("features_0,"));
}

}  // namespace
}  // namespace millrace::cli
