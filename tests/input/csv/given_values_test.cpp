#include "millrace/input/csv/given_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "millrace/input/graph/row_transforms.h"
#include "millrace/input/source.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::make_op;
using testing_support::row_text;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

FieldSpec text_field(const std::string& name, int64_t columns) {
  FieldSpec field{name, DType::f32, Shape{columns}};
  field.text = true;
  return field;
}

// What decode_csv with `options` does to rows of `spec` that `fill` writes.
template <class Fill>
std::string given(const std::string& options, const RowSpec& spec, const Fill& fill) {
  const auto decoder = make_op<Transform>("decode_csv", parse_yaml(options, "decode"));
  RowBlock rows;
  rows.configure(spec, 2);
  OpRegistry registry = builtin_ops();
  registry.add("given", memory_op(std::make_shared<const RowBlock>(std::move(rows))));
  const auto make = [&](const Spec& none, Spec* resolved) {
    read_options<NoOptions>(none, resolved);
    return decoder->for_given_rows();
  };
  registry.add("values", {.doc = "", .describe = describe_options<NoOptions>, .make = make});
  const RowTransforms transforms(InputGraph::build(
      parse_yaml("- given: {epochs: 1}\n- values: {}\n- batch: {batch_size: 2}\n", "list"), registry, {}));
  RowBlock block;
  block.configure(spec, 2);
  block.resize(2);
  fill(block);
  RowTransforms::Memory memory;
  transforms.apply(block, 0, memory);
  EXPECT_EQ(block.spec(), spec);
  return row_text(block, 0) + " | " + row_text(block, 1);
}

TEST(GivenValues, MissingTextsBecomeTheDefault) {
  const RowSpec spec = {{text_field("one", 1), text_field("two", 2)}};
  EXPECT_EQ(given("fields: {one: {columns: 0, type: string, default: none, missing: [NA]},\n"
                  "         two: {columns: [1, 2], type: string, default: [left, right]}}\nmissing: [\"?\"]",
                  spec,
                  [](RowBlock& rows) {
                    rows.set_text(0, 0, "");
                    rows.set_text(1, 0, "a");
                    rows.add_text(1, 0, "?");
                    rows.set_text(0, 1, "?");
                    rows.set_text(1, 1, "");
                    rows.add_text(1, 1, "NA");
                  }),
            "one=\"none\" two=\"a\",\"right\" | one=\"?\" two=\"left\",\"NA\"")
      << "a field's own texts are in place of the op's";
}

TEST(GivenValues, MissingNumbersBecomeTheDefault) {
  const RowSpec spec = {{{"x", DType::f32, Shape{3}}, {"d", DType::f64, Shape{1}}, {"n", DType::i64, Shape{2}}}};
  EXPECT_EQ(given("fields: {x: {columns: 0-2, default: [1, 2, 3], missing: [NA, -999, -0.1]},\n"
                  "         d: {columns: 3, type: float64, default: 0.5},\n"
                  "         n: {columns: 4-5, type: int64, default: -1, missing: [9007199254740993]}}",
                  spec,
                  [](RowBlock& rows) {
                    rows.row<float>(0, 0)[0] = kNaN;
                    rows.row<float>(0, 0)[1] = -999;
                    rows.row<float>(0, 0)[2] = -998;
                    rows.row<float>(0, 1)[0] = rows.row<float>(0, 1)[1] = -kNaN;
                    rows.row<float>(0, 1)[2] = -0.1f;
                    *rows.row<double>(1, 0) = std::nan("");
                    *rows.row<double>(1, 1) = -999;
                    rows.row<int64_t>(2, 0)[0] = 9007199254740993;
                    rows.row<int64_t>(2, 0)[1] = 9007199254740992;
                    rows.row<int64_t>(2, 1)[0] = rows.row<int64_t>(2, 1)[1] = 0;
                  }),
            "x=1,2,-998 d=0.5 n=-1,9007199254740992 | x=1,2,3 d=-999 n=0,0");
}

TEST(GivenValues, AMissingByteBecomesTheDefault) {
  EXPECT_EQ(given("fields: {x: {columns: 0-1, type: uint8, default: [1, 2], missing: [255, 256, NA]}}",
                  {{{"x", DType::u8, Shape{2}}}},
                  [](RowBlock& rows) {
                    rows.row<uint8_t>(0, 0)[0] = rows.row<uint8_t>(0, 1)[1] = 255;
                    rows.row<uint8_t>(0, 0)[1] = rows.row<uint8_t>(0, 1)[0] = 0;
                  }),
            "x=1,0 | x=0,2");
}

TEST(GivenValues, ATextWithoutADefaultIsNeeded) {
  const std::string options = "fields: {one: {columns: 0, type: string, missing: [NA]}}";
  for (const std::string text : {"", "NA"}) {
    EXPECT_EQ(error_of([&] {
                given(options, {{text_field("one", 1)}}, [&](RowBlock& rows) {
                  rows.set_text(0, 0, "a");
                  rows.set_text(0, 1, text);
                });
              }),
              "row 1: the field one lacks a text, and has no default");
  }
}

TEST(GivenValues, OtherFieldsStayAsTheyAre) {
  // A number without a default, fields of another type or name, and a ragged one.
  RowSpec spec = {
      {{"x", DType::f32, Shape{1}}, {"y", DType::f64, Shape{1}}, {"z", DType::f32, Shape{1}}, text_field("words", 1)}};
  spec.fields[3].split = ' ';
  EXPECT_EQ(given("fields: {x: {columns: 0}, y: {columns: 1, default: 5}, a: {columns: 2, default: 5},\n"
                  "         words: {columns: 3, type: string, split: \" \", default: []},\n"
                  "         more: {columns: 4, type: string}}",
                  spec,
                  [](RowBlock& rows) {
                    for (int64_t row = 0; row < 2; ++row) {
                      *rows.row<float>(0, row) = *rows.row<float>(2, row) = kNaN;
                      *rows.row<double>(1, row) = std::nan("");
                    }
                    rows.add_text(3, 1, "");
                    rows.add_text(3, 1, "b");
                  }),
            "x=nan y=nan z=nan words= | x=nan y=nan z=nan words=\"\",\"b\"");
}

TEST(GivenValues, ShapesAndColumnsOfAHeaderAreKnownFromTheRows) {
  const RowSpec spec = {{{"image", DType::f32, Shape{1, 2}}, {"named", DType::f32, Shape{3}}}};
  EXPECT_EQ(given("fields: {image: {columns: 0-1, reshape: [1, 2], default: 7},\n"
                  "         named: {columns: \"2-4\", default: 8}}",
                  spec,
                  [](RowBlock& rows) {
                    for (int64_t row = 0; row < 2; ++row) {
                      for (int64_t i = 0; i < 2; ++i) rows.row<float>(0, row)[i] = row == 0 ? kNaN : 1;
                      for (int64_t i = 0; i < 3; ++i) rows.row<float>(1, row)[i] = row == 1 ? kNaN : 1;
                    }
                  }),
            "image=7,7 named=1,1,1 | image=1,1 named=8,8,8");
  EXPECT_NE(error_of([&] {
              given("fields: {named: {columns: 2-4, default: [8, 9, 10]}}", {{{"named", DType::f32, Shape{2}}}},
                    [](RowBlock&) {});
            }).find("expected one default, or one for each of the 2 columns, got 3"),
            std::string::npos);
}

TEST(GivenValues, AreNotLookedAtWhereNothingCanBeMissing) {
  const auto decoder = [](const std::string& options) {
    return make_op<Transform>("decode_csv", parse_yaml(options, "decode"));
  };
  EXPECT_EQ(decoder("fields: {x: {columns: 0-2}}")->for_given_rows(), nullptr);
  EXPECT_NE(decoder("fields: {x: {columns: 0-2, default: 0}}")->for_given_rows(), nullptr);
  EXPECT_NE(decoder("fields: {x: {columns: 0-2, type: string}}")->for_given_rows(), nullptr);
}

// 0 is a time like others, also if the text 0 is none; NaN is none.
TEST(GivenValues, ATimeIsANumberOfSeconds) {
  EXPECT_EQ(given("fields: {day: {columns: 0-1, type: date, default: 1970-01-02, missing: \"0\"}}",
                  {{{"day", DType::f64, Shape{2}}}},
                  [](RowBlock& rows) {
                    rows.row<double>(0, 0)[0] = 0;
                    rows.row<double>(0, 0)[1] = std::nan("");
                    rows.row<double>(0, 1)[0] = rows.row<double>(0, 1)[1] = 1706659200;
                  }),
            "day=0,86400 | day=1706659200,1706659200");
}

}  // namespace
}  // namespace millrace
