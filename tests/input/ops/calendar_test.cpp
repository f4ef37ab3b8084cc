#include <bit>
#include <cmath>

#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::make_op;
using testing_support::MemoryFiles;

class CalendarTest : public ::testing::Test {
 protected:
  // What comes of `text`, of one column for each of `columns`.
  Lines rows(const std::string& text, const std::string& features, const std::string& type = "timestamp",
             const std::string& columns = "0") {
    files_.files["t.csv"] = text;
    return GraphCheck(files_, list(cat("field: t, as: c, features: [", features, ']'), type, columns)).check();
  }
  // Of one time.
  std::string parts(const std::string& time, const std::string& features) {
    const std::string line = rows(time + '\n', features).front();
    const size_t at = line.find(" c=");
    return at == line.npos ? line : line.substr(at + 3);
  }
  static std::string list(const std::string& options, const std::string& type, const std::string& columns = "0") {
    return cat("- filename_queue: {files: t.csv, epochs: 1}\n- csv_reader: {chunk_bytes: 40}\n",
               "- decode_csv: {fields: {t: {columns: ", columns, ", type: ", type, "}}}\n- calendar: {", options,
               "}\n- batch: {batch_size: 10, allow_smaller_final_batch: true}\n");
  }
  MemoryFiles files_;
};

TEST_F(CalendarTest, PartsStandInTheOrderOfTheList) {
  const std::string all = "year, month, day, yearday, weekday, hour, minute";
  EXPECT_EQ(parts("2024-12-31T18:05:59Z", all), "2024,12,31,366,1,18,5");
  EXPECT_EQ(parts("1970-01-01", all), "1970,1,1,1,3,0,0");
  EXPECT_EQ(parts("1969-12-31T23:59:59.9", all), "1969,12,31,365,2,23,59") << "fractions are cut off";
  EXPECT_EQ(parts("2023-01-01", "minute, weekday, weekday, year"), "0,6,6,2023") << "a Sunday";
  EXPECT_EQ(parts("2024-01-01", "weekday"), "0") << "a Monday";
  EXPECT_EQ(parts("0001-01-01T00:00+01:00", all), "0,12,31,366,6,23,0");
  EXPECT_EQ(parts("9999-12-31T23:59-01:00", all), "10000,1,1,1,5,0,59");
}

TEST_F(CalendarTest, CirclesBeginAtTheirFirstValue) {
  EXPECT_EQ(parts("2024-01-01",
                  "month_sin, month_cos, yearday_sin, yearday_cos, weekday_sin, weekday_cos, hour_sin, "
                  "hour_cos"),
            "0,1,0,1,0,1,0,1");
  EXPECT_EQ(parts("2024-04-01T06:00", "month_sin, month_cos, hour_sin, hour_cos"), "1,0,1,0");
  EXPECT_EQ(parts("2024-07-01T12:00", "month_sin, month_cos, hour_sin, hour_cos"), "0,-1,0,-1");
  EXPECT_EQ(parts("2024-10-01T18:00", "month_sin, month_cos, hour_sin, hour_cos"), "-1,0,-1,0");
  EXPECT_EQ(parts("2024-07-02", "yearday_cos"), "-1") << "the middle of a leap year";
}

// The bits of these floats are the same on every machine: they are the roundings of the true values.
TEST_F(CalendarTest, SinesAndCosinesHaveTheSameBitsEverywhere) {
  files_.files["t.csv"] = "2024-01-31T10:20:30Z\n";
  const GraphCheck graph(files_, list("field: t, as: c, features: [month_sin, month_cos, yearday_sin, yearday_cos, "
                                      "weekday_sin, weekday_cos, hour_sin, hour_cos]",
                                      "timestamp"));
  Pipeline pipeline(graph.graph(), {});
  RowBlock slot = pipeline.make_slot();
  ASSERT_EQ(pipeline.next(slot), 1);
  const uint32_t expected[] = {0x00000000, 0x3f800000, 0x3efc2f43, 0x3f5ecb03,
                               0x3f7994e0, 0xbe63dc87, 0x3ed75e20, 0xbf684012};
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(std::bit_cast<uint32_t>(slot.row<float>(1, 0)[i]), expected[i]) << i;
  }
}

TEST_F(CalendarTest, TakesSecondsOfAnyFieldOfEnoughDigitsAndSeveralColumns) {
  EXPECT_EQ(rows("2024-01-31,2023-02-28\n1970-01-01,1970-01-02\n", "year, day", "date, as: int64", "0-1"),
            (Lines{"t.csv:1 t=1706659200,1677542400 c=2024,31,2023,28", "t.csv:2 t=0,86400 c=1970,1,1970,2"}));
  EXPECT_EQ(rows("1706696430.5\n", "hour, minute", "float64"), Lines{"t.csv:1 t=1706696430.5 c=10,20"});
  EXPECT_EQ(rows("-1\n", "year, hour", "int64"), Lines{"t.csv:1 t=-1 c=1969,23"});
}

TEST_F(CalendarTest, WhatNoCalendarHasIsAnErrorOfItsRow) {
  EXPECT_EQ(rows("0\nnan\n", "year", "float64"),
            Lines{"error t.csv:2: the field t holds nan, expected seconds since 1970 of the years 0 to 10000; give t a "
                  "default, or leave such rows out with a filter"});
  EXPECT_EQ(
      rows("1706696430000\n", "year", "int64"),
      Lines{"error t.csv:1: the field t holds 1706696430000, expected seconds since 1970 of the years 0 to 10000; "
            "if these are milliseconds, put map: {field: t, scale: 0.001} before"});
  EXPECT_EQ(rows("inf\n", "year", "float64"),
            Lines{"error t.csv:1: the field t holds inf, expected seconds since 1970 of the years 0 to 10000"});
  EXPECT_EQ(rows("253433923199\n-62167219200\n", "year", "int64"),
            (Lines{"t.csv:1 t=253433923199 c=10000", "t.csv:2 t=-62167219200 c=0"}));
  for (const char* text : {"253433923200\n", "-62167219201\n"}) {
    EXPECT_NE(rows(text, "year", "int64").front().find("error"), std::string::npos) << text;
  }
}

TEST_F(CalendarTest, RefusesFieldsThatHoldNoSeconds) {
  files_.files["t.csv"] = "0\n";
  const auto refused = [&](const std::string& options, const std::string& type = "timestamp") {
    return error_of([&] { GraphCheck(files_, list(options, type)).graph(); });
  };
  EXPECT_EQ(
      refused("field: t, as: c, features: year", "float32"),
      "input.yaml:4:3: [3]: calendar takes float64 and int64 fields, t is float32 (1); decode it so: {t: {columns: "
      ".., type: date}}");
  EXPECT_NE(refused("field: t, as: c, features: year", "string").find("t is string (1)"), std::string::npos);
  EXPECT_NE(refused("field: t, as: t, features: year").find("there is a field \"t\" already"), std::string::npos);
  EXPECT_NE(refused("field: t, as: c, features: yaer").find("did you mean year?"), std::string::npos);
  EXPECT_NE(refused("field: t, as: c, features: []").find("expected at least one feature"), std::string::npos);
}

TEST_F(CalendarTest, SaysWhichFieldsItConcernsAndThatItCannotBeUndone) {
  const auto op = make_op<Transform>("calendar", parse_yaml("{field: t, as: c, features: [year, hour_sin]}", "op"));
  EXPECT_EQ(op->concerned_fields(), (std::vector<std::string>{"t", "c"}));
  FieldHistory made{.field = "c"}, other{.field = "t"};
  op->undo(made);
  op->undo(other);
  EXPECT_FALSE(made.complete);
  EXPECT_TRUE(other.complete);
}

// As it suits times that were found in data.
TEST_F(CalendarTest, SuitsTimesByWhatDiffersInThem) {
  const auto suit = builtin_ops().entries().at("calendar").suit;
  FoundField found{.about = "sold", .field = "sold_seconds", .holds = FoundField::Holds::times, .decoded = true};
  EXPECT_FALSE(suit(found)) << "nothing differs";
  found.times = {.first_year = 2020, .last_year = 2024, .yeardays = true, .clock = true};
  const std::optional<Spec> options = suit(found);
  ASSERT_TRUE(options);
  EXPECT_EQ(options->find("field")->as_string(), "sold_seconds");
  EXPECT_EQ(options->find("as")->as_string(), "sold_calendar");
  EXPECT_EQ(options->find("features")->size(), 5u);
  EXPECT_TRUE(found.has(FoundField::Holds::amounts));
  EXPECT_FALSE(found.scaled) << "the year is not";
  EXPECT_EQ(found.mean.items()[0].as_double(), 2022);
  EXPECT_EQ(found.deviation.items()[0].as_double(), 2);
  EXPECT_EQ(found.deviation.items()[4].as_double(), 1);
  FoundField label = found;
  label.label = true;
  label.holds = FoundField::Holds::times;
  EXPECT_FALSE(suit(label));
}

}  // namespace
}  // namespace millrace
