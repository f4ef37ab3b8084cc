// tests/cli/export checks that the values are what decode_csv reads.
#include "millrace/input/csv/onnx_columns.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "millrace/core/errors.h"

namespace millrace {
namespace {

class OnnxColumnsTest : public ::testing::Test {
 protected:
  // Makes the fields, of which `sizes` says how many columns each has.
  void add(const Spec& fields, const std::vector<int64_t>& sizes) {
    requests_ = read_fields(fields, true);
    RowSpec spec;
    for (size_t i = 0; i < requests_.size(); ++i) {
      spec.fields.push_back(requests_[i].field.spec);
      spec.fields.back().shape = Shape{sizes[i]};
    }
    rows_.emplace(graph_, spec);
    add_csv_columns(requests_, {.missing = {"NA"}}, *rows_);
  }

  OnnxGraph graph_;
  std::vector<FieldRequest> requests_;
  std::optional<OnnxRows> rows_;
};

Spec field_of(Spec columns, const std::string& type = "float32") {
  return Spec::map({{"columns", std::move(columns)}, {"type", type}});
}

TEST_F(OnnxColumnsTest, ColumnsByNameAreInputsOfTheirOwn) {
  add(Spec::map({{"x", field_of(Spec::list({"a", "b"}))},
                 {"t", field_of(Spec::of("city"), "string")},
                 {"n", field_of(Spec::of("count"), "int64")},
                 {"k", field_of(Spec::of("code"), "int32")}}),
      {2, 1, 1, 1});
  const std::vector<OnnxGraph::Port> expected = {{"a", OnnxType::f32, {1}},
                                                 {"b", OnnxType::f32, {1}},
                                                 {"city", OnnxType::text, {1}},
                                                 {"count", OnnxType::f64, {1}},
                                                 {"code", OnnxType::f64, {1}}};
  EXPECT_EQ(graph_.inputs(), expected);
  ASSERT_EQ(rows_->text_inputs().size(), 5u);
  EXPECT_TRUE(rows_->text_inputs()[2].text);
  EXPECT_FALSE(rows_->text_inputs()[3].text);
}

TEST_F(OnnxColumnsTest, ColumnsByNumberAreOneInput) {
  add(Spec::map({{"x", field_of(Spec::list({"0-2", "7"}))}}), {4});
  EXPECT_EQ(graph_.inputs(), (std::vector<OnnxGraph::Port>{{"x", OnnxType::f32, {4}}}));
  EXPECT_EQ(rows_->text_inputs()[0].columns, (std::vector<std::string>{"0-2", "7"}));
}

TEST_F(OnnxColumnsTest, AColumnThatIsReadTwiceIsOneInputOfTheWiderType) {
  add(Spec::map({{"x", field_of(Spec::of("a"))}, {"y", field_of(Spec::of("a"), "float64")}}), {1, 1});
  EXPECT_EQ(graph_.inputs(), (std::vector<OnnxGraph::Port>{{"a", OnnxType::f64, {1}}}));
  EXPECT_EQ(rows_->text_inputs().size(), 1u);
}

TEST_F(OnnxColumnsTest, AColumnCannotBeATextAndANumber) {
  EXPECT_THROW(add(Spec::map({{"x", field_of(Spec::of("a"))}, {"y", field_of(Spec::of("a"), "string")}}), {1, 1}),
               ConfigError);
}

TEST_F(OnnxColumnsTest, AFieldThatIsSplitAtTabsIsRefused) {
  try {
    add(Spec::map({{"r", field_of(Spec::of("a")).set("split", "\t")}}), {0});
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.message(), "the field \"r\" is split at tabs, which cannot be written as ONNX");
  }
}

}  // namespace
}  // namespace millrace
