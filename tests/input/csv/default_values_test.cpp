#include "millrace/input/csv/default_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::error_of;
using testing_support::list_of;

// As YAML gives it: a text that nobody quoted.
Spec plain(const char* text) {
  Spec spec = Spec::scalar(text, false, {"c.yaml", 3, 5});
  spec.set_path("x.default");
  return spec;
}

struct Setup {
  size_t columns = 2;
  bool allow_nonfinite = true;
  const TimeFormat* time = nullptr;
  std::optional<char> split = {};
};

template <class T>
std::vector<T> defaults(const Spec& spec, const Setup& setup = {}) {
  FieldSpec field{"x", DTypeOf<T>::value, Shape{1}};
  field.split = setup.split;
  const DefaultValues made = read_default_values({.spec = spec,
                                                  .field = field,
                                                  .columns = setup.columns,
                                                  .time = setup.time,
                                                  .allow_nonfinite = setup.allow_nonfinite});
  EXPECT_TRUE(made.given);
  std::vector<T> out(made.numbers.size() / sizeof(T));
  std::memcpy(out.data(), made.numbers.data(), made.numbers.size());
  return out;
}

TEST(DefaultValues, AreOneForAllColumnsOrOneForEach) {
  EXPECT_THAT(defaults<float>(plain("0.1")), ElementsAre(0.1f, 0.1f));
  EXPECT_THAT(defaults<double>(list_of({"1e300", "-inf"})),
              ElementsAre(1e300, -std::numeric_limits<double>::infinity()));
  EXPECT_THAT(defaults<int32_t>(plain("-7")), ElementsAre(-7, -7));
  EXPECT_THAT(defaults<int64_t>(plain("9223372036854775807"), {.columns = 1}), ElementsAre(INT64_MAX));
  EXPECT_TRUE(std::isnan(defaults<float>(plain("nan"))[0]));
  EXPECT_TRUE(std::isnan(defaults<float>(plain(".nan"))[0]));
  EXPECT_EQ(defaults<float>(plain("-.inf"))[0], -std::numeric_limits<float>::infinity());
  EXPECT_THAT(defaults<int32_t>(list_of({"1", "2", "3"}), {.split = ' '}), ElementsAre(1, 2, 3)) << "of a ragged field";
  const FieldSpec field{"x", DType::f32, Shape{1}};
  EXPECT_FALSE(read_default_values({.spec = Spec(), .field = field, .columns = 1}).given);
}

TEST(DefaultValues, OfTextsAreTexts) {
  FieldSpec field{"x", DType::u8, Shape{2}};
  field.text = true;
  const DefaultValues made = read_default_values({.spec = plain("none"), .field = field, .columns = 2});
  EXPECT_THAT(made.texts, ElementsAre("none", "none"));
  EXPECT_THAT(made.numbers, IsEmpty());
}

TEST(DefaultValues, WhatIsNoValueIsRefused) {
  EXPECT_EQ(error_of([] { defaults<float>(plain("abc")); }),
            "c.yaml:3:5: x.default: expected a default of type float32, got \"abc\"");
  EXPECT_EQ(error_of([] { defaults<int32_t>(plain("0.5")); }),
            "c.yaml:3:5: x.default: expected a default of type int32, got 0.5");
  EXPECT_EQ(error_of([] { defaults<int32_t>(plain("4294967296")); }),
            "c.yaml:3:5: x.default: expected a default of type int32, got 4294967296");
  EXPECT_EQ(error_of([] { defaults<float>(plain("nan"), {.allow_nonfinite = false}); }),
            "c.yaml:3:5: x.default: the default nan is not finite; set allow_nonfinite: true");
  EXPECT_THAT(error_of([] {
                defaults<float>(list_of({"1", "2", "3"}));
              }),
              HasSubstr("expected one default, or one for each of the 2 columns, got 3"));
}

TEST(DefaultValues, OfTimesAreWrittenAsTheData) {
  const TimeFormat iso(TimeFormat::Kind::date), german(TimeFormat::Kind::timestamp, "%d.%m.%Y %H:%M");
  EXPECT_THAT(defaults<double>(plain("2024-01-31"), {.time = &iso}), ElementsAre(1706659200, 1706659200));
  EXPECT_THAT(defaults<int64_t>(list_of({"31.01.2024 10:20", "01.01.1970 00:00"}), {.time = &german}),
              ElementsAre(1706696400, 0));
  EXPECT_TRUE(std::isnan(defaults<double>(plain(".nan"), {.time = &iso})[0]));
  EXPECT_EQ(error_of([&] { defaults<double>(plain("31/12/2024"), {.time = &iso}); }),
            "c.yaml:3:5: x.default: expected a default of type date as YYYY-MM-DD, got \"31/12/2024\"; set type: date, "
            "format: \"%d/%m/%Y\"");
  EXPECT_EQ(error_of([&] { defaults<double>(plain("1706659200"), {.time = &iso}); }),
            "c.yaml:3:5: x.default: expected a default of type date as YYYY-MM-DD, got 1706659200; for seconds since "
            "1970, set type: float64 or int64");
  EXPECT_THAT(error_of([&] { defaults<int64_t>(plain("nan"), {.time = &iso}); }), HasSubstr("got \"nan\""));
  EXPECT_THAT(error_of([&] { defaults<double>(plain("nan"), {.allow_nonfinite = false, .time = &iso}); }),
              HasSubstr("the default nan is not finite"));
}

}  // namespace
}  // namespace millrace
