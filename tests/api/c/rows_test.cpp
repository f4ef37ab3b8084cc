#include "millrace/api/c/rows.h"

#include <gtest/gtest.h>

#include <array>

#include "millrace/api/c/errors.h"
#include "tests/support/temp_folder.h"

namespace millrace::c {
namespace {

constexpr std::array<millrace_field, 2> kFields = {{{"x", MILLRACE_FLOAT32, 2}, {"y", MILLRACE_INT64, 1}}};
constexpr std::array<float, 6> kX = {0, 1, 2, 3, 4, 5};
constexpr std::array<int64_t, 3> kY = {10, 11, 12};

TEST(CRows, TypesGoBothWays) {
  for (const auto type :
       {MILLRACE_FLOAT32, MILLRACE_FLOAT64, MILLRACE_INT32, MILLRACE_INT64, MILLRACE_UINT8, MILLRACE_TEXT}) {
    const millrace_field field = {"x", type, 1};
    const FieldSpec made = rows_of(&field, 1).fields[0];
    EXPECT_EQ(field_to_c(made).type, type);
    EXPECT_EQ(field_to_c(made).width, 1);
  }
}

TEST(CRows, FieldsThatMakeNoSenseAreNamed) {
  const auto refused = [](millrace_field second) {
    const millrace_field fields[] = {{"x", MILLRACE_FLOAT32, 1}, second};
    return error_of<ArgumentError>([&] { rows_of(fields, 2); });
  };
  EXPECT_EQ(refused({nullptr, MILLRACE_FLOAT32, 1}), "fields[1].name is NULL");
  EXPECT_EQ(refused({"y", MILLRACE_FLOAT32, 0}), "fields[1].width is 0");
  EXPECT_EQ(refused({"x", MILLRACE_FLOAT32, 1}), "two fields are called \"x\"");
  EXPECT_EQ(refused({"y", 99, 1}), "there is no type 99");
}

TEST(CRows, AreCopiedFromArraysWithoutGaps) {
  const void* const values[] = {kX.data(), kY.data()};
  RowBlock block;
  block.configure(rows_of(kFields.data(), 2), 4);
  block.resize(2);
  copy_in(values, 1, 2, block);
  EXPECT_EQ(block.row<float>(0, 0)[0], 2);
  EXPECT_EQ(block.row<float>(0, 1)[1], 5);
  EXPECT_EQ(*block.row<int64_t>(1, 0), 11);
  EXPECT_EQ(*block.row<int64_t>(1, 1), 12);
}

TEST(CRows, MissingArraysAreNamed) {
  const void* const values[] = {kX.data(), nullptr};
  EXPECT_EQ(error_of<ArgumentError>([&] { require_each(values, 2); }), "values[1] is NULL");
  EXPECT_EQ(error_of<ArgumentError>([&] { require_each(nullptr, 1); }), "values is NULL");
  require_each(nullptr, 0);
}

TEST(CRows, AFunctionFillsABlock) {
  RowBlock block;
  block.configure(rows_of(kFields.data(), 2), 4);
  uint32_t seen = 0;
  const auto fill = [](void* user, uint32_t pass, int64_t room, void* const* values) -> int64_t {
    *static_cast<uint32_t*>(user) = pass;
    for (int64_t row = 0; row < room - 1; ++row) {
      static_cast<float*>(values[0])[2 * row + 1] = static_cast<float>(row);
      static_cast<int64_t*>(values[1])[row] = row;
    }
    return room - 1;
  };
  Filler(block.spec(), "mine", fill, &seen)(block, 5);
  EXPECT_EQ(seen, 5U);
  ASSERT_EQ(block.size(), 3);
  EXPECT_EQ(block.row<float>(0, 2)[1], 2);
  EXPECT_EQ(*block.row<int64_t>(1, 2), 2);
}

TEST(CRows, AFunctionThatFailsOrMakesTooManyIsNamed) {
  RowBlock block;
  block.configure(rows_of(kFields.data(), 2), 4);
  int64_t made = -3;
  const auto fill = [](void* user, uint32_t, int64_t, void* const*) { return *static_cast<int64_t*>(user); };
  Filler filler(block.spec(), "mine", fill, &made);
  EXPECT_EQ(error_of<DataError>([&] { filler(block, 0); }), "the callback of mine failed: it returned -3");
  made = 5;
  EXPECT_EQ(error_of<ConfigError>([&] { filler(block, 0); }),
            "the callback of mine made 5 rows, but there was room for 4");
}

TEST(CRows, TextsAreCopied) {
  const millrace_field fields[] = {{"x", MILLRACE_FLOAT32, 2}, {"name", MILLRACE_TEXT, 2}};
  const RowSpec spec = rows_of(fields, 2);
  EXPECT_EQ(spec.text(), "x: float32 (2), name: string (2)");
  const char* const texts[] = {"a", "b", "Z\xc3\xbcrich", nullptr, "", "c"};
  const void* const values[] = {kX.data(), texts};
  RowBlock block;
  block.configure(spec, 2);
  block.resize(2);
  block.set_text(1, 0, "from before");
  copy_in(values, 1, 2, block);
  for (int64_t row = 0; row < 2; ++row) ASSERT_EQ(block.varying(1, row).texts(), 2u);
  EXPECT_EQ(block.varying(1, 0).text(0), "Z\xc3\xbcrich");
  EXPECT_EQ(block.varying(1, 0).text(1), "");
  EXPECT_EQ(block.varying(1, 1).text(0), "");
  EXPECT_EQ(block.varying(1, 1).text(1), "c");
  EXPECT_EQ(block.row<float>(0, 1)[1], 5);
}

TEST(CRows, AFunctionGivesTexts) {
  const millrace_field field = {"name", MILLRACE_TEXT, 2};
  RowBlock block;
  block.configure(rows_of(&field, 1), 3);
  int calls = 0;
  const auto fill = [](void* user, uint32_t, int64_t room, void* const* values) -> int64_t {
    auto* texts = static_cast<const char**>(values[0]);
    // What a call before wrote is gone.
    for (int64_t i = 0; i < 2 * room; ++i) EXPECT_EQ(texts[i], nullptr);
    if (++*static_cast<int*>(user) == 1) {
      for (int64_t i = 0; i < 2 * room; ++i) texts[i] = "first";
      return room;
    }
    texts[1] = "second";
    return 1;
  };
  Filler filler(block.spec(), "mine", fill, &calls);
  filler(block, 0);
  ASSERT_EQ(block.size(), 3);
  EXPECT_EQ(block.varying(0, 2).text(1), "first");
  filler(block, 0);
  ASSERT_EQ(block.size(), 1);
  ASSERT_EQ(block.varying(0, 0).texts(), 2u);
  EXPECT_EQ(block.varying(0, 0).text(0), "");
  EXPECT_EQ(block.varying(0, 0).text(1), "second");
}

}  // namespace
}  // namespace millrace::c
