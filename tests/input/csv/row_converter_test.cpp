#include "millrace/input/csv/row_converter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/input/op_testing.h"
#include "tests/input/string_text.h"

namespace millrace {
namespace {

using testing_support::list_of;
using testing_support::row_text;
using testing_support::StringText;

Spec field(Spec columns, const char* type, const char* default_value = nullptr) {
  Spec out = Spec::map().set("columns", std::move(columns)).set("type", type);
  if (default_value != nullptr) out.set("default", default_value);
  return out;
}

// Converts the one record of `text`: the row, or "fault F in column C of field N".
class Converter {
 public:
  explicit Converter(const Spec& fields, ValueRules rules = {}) : fields_(fields), rules_(std::move(rules)) {}

  std::string operator()(const std::string& text) const {
    CsvDialect dialect;
    CutterScratch scratch;
    StringText whole(text);
    RecordCutter cutter(dialect, whole, 0, scratch);
    EXPECT_TRUE(cutter.next());
    dialect.columns = static_cast<int64_t>(cutter.record().size());
    const RowConverter converter(select_fields(read_fields(fields_, true), dialect), rules_);
    RowBlock rows;
    rows.configure(converter.spec(), 1);
    rows.resize(1);
    if (converter.convert(cutter.record(), rows, 0)) {
      EXPECT_EQ(converter.find_fault(cutter.record()).fault, ValueFault::none);
      return row_text(rows, 0);
    }
    const BadValue bad = converter.find_fault(cutter.record());
    return cat("fault ", static_cast<int>(bad.fault), " in column ", bad.column, " of field ", bad.field);
  }

 private:
  Spec fields_;
  ValueRules rules_;
};

TEST(RowConverter, ConvertsColumnsToFields) {
  const Converter convert(Spec::map()
                              .set("x", field(list_of({"1-2", "0"}), "float32"))
                              .set("n", field(list_of({"3"}), "int32"))
                              .set("d", field(list_of({"1"}), "float64"))
                              .set("big", field(list_of({"3"}), "int64")));
  EXPECT_EQ(convert("1,2.5,-3, 4 \r\n"), "x=2.5,-3,1 n=4 d=2.5 big=4");
  EXPECT_EQ(convert("1,\"2.5\",-3,\" 4\""), "x=2.5,-3,1 n=4 d=2.5 big=4");
  EXPECT_EQ(convert("1,2,3,4,ignored\n"), "x=2,3,1 n=4 d=2 big=4");
}

TEST(RowConverter, ConvertsColumnsToBytes) {
  const Converter convert(Spec::map()
                              .set("x", field(list_of({"1-2", "0"}), "uint8", "9"))
                              .set("list", field(list_of({"3"}), "uint8").set("split", " ")));
  EXPECT_EQ(convert("1,0,255,4 0 255\n"), "x=0,255,1 list=4,0,255");
  EXPECT_EQ(convert("\"1\",,\" 255\",7\n"), "x=9,255,1 list=7");
  EXPECT_EQ(convert("1,0,256,7\n"),
            cat("fault ", static_cast<int>(ValueFault::out_of_range), " in column 2 of field 0"));
  EXPECT_EQ(convert("1,0,2,-1\n"),
            cat("fault ", static_cast<int>(ValueFault::out_of_range), " in column 3 of field 1"));
  EXPECT_EQ(convert("1,x,2,7\n"), cat("fault ", static_cast<int>(ValueFault::malformed), " in column 1 of field 0"));
}

TEST(RowConverter, TakesTheDefaultForWhatIsMissing) {
  const Converter convert(Spec::map().set("x", field(list_of({"0", "1", "2"}), "float32", "7")),
                          {{"", "NA", "-999"}, true});
  EXPECT_EQ(convert(",1,"), "x=7,1,7");
  EXPECT_EQ(convert("NA,\"NA\",\"\""), "x=7,7,7");
  EXPECT_EQ(convert("-999,1,2"), "x=7,1,2") << "a number may stand for no value";
  EXPECT_EQ(convert("-999.0,1,2"), "x=-999,1,2") << "texts are compared, not values";
  EXPECT_EQ(convert("1, NA,3"), "fault 2 in column 1 of field 0") << "exactly";
  EXPECT_EQ(convert("1, ,3"), "fault 2 in column 1 of field 0") << "blanks are not missing";
  const Converter each(
      Spec::map().set("x", Spec::map().set("columns", list_of({"2", "0-1"})).set("default", list_of({"1", "2", "3"}))));
  EXPECT_EQ(each(",,"), "x=1,2,3");
  EXPECT_EQ(each("5,,4"), "x=4,5,3");
}

TEST(RowConverter, ConvertsDatesAndTimes) {
  const Spec fields =
      Spec::map()
          .set("d", field(list_of({"0-1"}), "date", "1970-01-02"))
          .set("t", field(list_of({"2"}), "timestamp").set("as", "int64"))
          .set("us", field(list_of({"3"}), "date").set("format", "%m/%d/%Y").set("missing", list_of({"never"})))
          .set("list", field(list_of({"4"}), "date").set("split", "|"));
  const Converter convert(fields, {{"", "NA"}, true});
  EXPECT_EQ(convert("2024-01-31,20240131,2024-01-31T10:20:30.5Z,1/31/2024,1970-01-01|1970-01-03"),
            "d=1706659200,1706659200 t=1706696430 us=1706659200 list=0,172800");
  EXPECT_EQ(convert("NA,\"1970-01-01\",\"1970-01-01 00:00\", 01/01/1970 ,1970-01-01"), "d=86400,0 t=0 us=0 list=0");
  EXPECT_EQ(convert("2024-01-31,2024-02-30,2024-01-31,1/31/2024,1970-01-01"), "fault 2 in column 1 of field 0");
  EXPECT_EQ(convert("2024-01-31,2024-02-29,2024-01-31,13/31/2024,1970-01-01"), "fault 2 in column 3 of field 2");
  EXPECT_EQ(convert("2024-01-31,,NA,1/31/2024,1970-01-01"), "fault 1 in column 2 of field 1");
  EXPECT_EQ(convert("2024-01-31,,2024-01-31,never,1970-01-01"), "fault 1 in column 3 of field 2");
  EXPECT_EQ(convert("2024-01-31,,2024-01-31,1/31/2024,1970-01-01|x"), "fault 2 in column 4 of field 3");
}

TEST(RowConverter, WritesTimesAsItReadsThem) {
  CsvDialect dialect;
  dialect.columns = 3;
  const RowConverter converter(
      select_fields(read_fields(Spec::map()
                                    .set("x", field(list_of({"0"}), "float64"))
                                    .set("t", field(list_of({"1"}), "timestamp"))
                                    .set("d", field(list_of({"2"}), "date").set("format", "%d.%m.%Y")),
                                true),
                    dialect),
      {});
  EXPECT_EQ(converter.text_of(0, 1706659200), "") << "a number is written as it is";
  EXPECT_EQ(converter.text_of(1, 1706696430), "2024-01-31T10:20:30Z");
  EXPECT_EQ(converter.text_of(2, 1706659200), "31.01.2024");
}

TEST(RowConverter, WhatIsMissingInOneFieldIsAValueOfAnother) {
  const auto own = [](Spec spec, std::initializer_list<const char*> texts) {
    return spec.set("missing", list_of(texts));
  };
  const Converter convert(Spec::map()
                              .set("x", own(field(list_of({"0-2"}), "float32", "7"), {"-999", "?"}))
                              .set("s", own(field(list_of({"3"}), "string", "none"), {"?"}))
                              .set("t", own(field(list_of({"3"}), "string", "none"), {}))
                              .set("u", field(list_of({"3"}), "string", "none")),
                          {{"NA"}, true});
  EXPECT_EQ(convert("-999,1,?,NA"), "x=7,1,7 s=\"NA\" t=\"NA\" u=\"none\"");
  EXPECT_EQ(convert("1,2,3,?"), "x=1,2,3 s=\"none\" t=\"?\" u=\"?\"");
  EXPECT_EQ(convert("1,2,3,"), "x=1,2,3 s=\"none\" t=\"none\" u=\"none\"");
  EXPECT_EQ(convert("NA,2,3,x"), "fault 2 in column 0 of field 0") << "instead of those for all";
}

TEST(RowConverter, AMissingTextThatLooksLikeNaNIsNoValueEither) {
  const Spec fields =
      Spec::map().set("x", field(list_of({"0-9"}), "float32", "7").set("missing", list_of({"nan", "inf", "NA"})));
  for (const bool allowed : {true, false}) {
    const Converter convert(fields, {{}, allowed});
    EXPECT_EQ(convert("1,nan,2,3,4,5,6,7,8,inf"), "x=1,7,2,3,4,5,6,7,8,7");
    EXPECT_EQ(convert("nan,\"nan\",NA,3,,5,6,7,8,9"), "x=7,7,7,3,7,5,6,7,8,9");
  }
  EXPECT_EQ(Converter(fields)("1,NaN,2,3,4,5,6,7,8,-inf"), "x=1,nan,2,3,4,5,6,7,8,-inf") << "exactly those texts";
  EXPECT_EQ(Converter(fields, {{}, false})("1,2,3,4,5,NaN,6,7,8,9"), "fault 4 in column 5 of field 0");
}

TEST(RowConverter, ReadsATextAsOneOfItsValues) {
  Spec fields = Spec::map().set("x", field(list_of({"0", "1"}), "int32")).set("s", field(list_of({"2"}), "string"));
  fields.set("tags", field(list_of({"3"}), "int32", "9").set("split", "|"));
  fields.set("z", Spec::map().set("columns", "0").set("default", list_of({"5"})));
  CsvDialect dialect;
  dialect.columns = 4;
  const RowConverter converter(select_fields(read_fields(fields, true), dialect), {{"", "NA"}, true});
  EXPECT_EQ(converter.missing(0), std::vector<std::string>{"NA"});
  Varying out;
  ASSERT_TRUE(converter.read(" 7", 0, 1, out));
  EXPECT_THAT(out.numbers<int32_t>(), ::testing::ElementsAre(7));
  EXPECT_FALSE(converter.read("7.5", 0, 1, out));
  EXPECT_FALSE(converter.read("NA", 0, 0, out)) << "there is no default";
  ASSERT_TRUE(converter.read("a b", 1, 0, out));
  ASSERT_EQ(out.texts(), 1u);
  EXPECT_EQ(out.text(0), "a b");
  ASSERT_TRUE(converter.read("1|2", 2, 0, out));
  EXPECT_THAT(out.numbers<int32_t>(), ::testing::ElementsAre(1, 2));
  ASSERT_TRUE(converter.read("NA", 2, 0, out));
  EXPECT_THAT(out.numbers<int32_t>(), ::testing::ElementsAre(9));
  EXPECT_FALSE(converter.read("1|x", 2, 0, out));
  ASSERT_TRUE(converter.read("", 3, 0, out));
  EXPECT_THAT(out.numbers<float>(), ::testing::ElementsAre(5.0f));
}

TEST(RowConverter, RequiresWhatHasNoDefault) {
  const Converter convert(
      Spec::map().set("x", field(list_of({"0-1"}), "float32")).set("n", field(list_of({"2"}), "int32", "0")));
  EXPECT_EQ(convert("1,,3"), "fault 1 in column 1 of field 0");
  EXPECT_EQ(convert("1,\"\",3"), "fault 1 in column 1 of field 0");
  EXPECT_EQ(convert("1,2,"), "x=1,2 n=0");
}

TEST(RowConverter, FindsTheLeftmostFaultWhateverTheOrderOfTheFields) {
  const Converter convert(
      Spec::map().set("x", field(list_of({"3", "1"}), "float32")).set("n", field(list_of({"2", "0"}), "int32")));
  EXPECT_EQ(convert("1,2,3,4"), "x=4,2 n=3,1");
  EXPECT_EQ(convert("1,b,c,d"), "fault 2 in column 1 of field 0");
  EXPECT_EQ(convert("a,b,c,d"), "fault 2 in column 0 of field 1");
  EXPECT_EQ(convert("1,2,9999999999,d"), "fault 3 in column 2 of field 1");
}

TEST(RowConverter, NamesTheFirstFieldOfAColumnThatServesSeveral) {
  const Converter convert(
      Spec::map().set("n", field(list_of({"0"}), "int32")).set("x", field(list_of({"0"}), "float32")));
  EXPECT_EQ(convert("5"), "n=5 x=5");
  EXPECT_EQ(convert("5.5"), "fault 2 in column 0 of field 0");
}

TEST(RowConverter, RefusesNonfiniteValuesWhereTheyAreNotAllowed) {
  const Spec fields = Spec::map().set("x", field(list_of({"0-2"}), "float32"));
  EXPECT_EQ(Converter(fields)("1,nan,1e39"), "x=1,nan,inf");
  const Converter strict(fields, {{}, false});
  EXPECT_EQ(strict("1,2,3"), "x=1,2,3");
  EXPECT_EQ(strict("1,nan,3"), "fault 4 in column 1 of field 0");
  EXPECT_EQ(strict("1,2,1e39"), "fault 4 in column 2 of field 0") << "overflow, too";
  EXPECT_EQ(strict("-inf,x,3"), "fault 4 in column 0 of field 0");
  EXPECT_EQ(strict("1,\"inf\",3"), "fault 4 in column 1 of field 0");
  EXPECT_EQ(Converter(Spec::map().set("x", field(list_of({"0"}), "float64")), {{}, false})("1e39"), "x=1e+39");
}

}  // namespace
}  // namespace millrace
