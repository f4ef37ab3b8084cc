#include "millrace/input/csv/time_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "millrace/core/text.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::error_of;
using Kind = TimeFormat::Kind;

const TimeFormat kDate(Kind::date), kTimestamp(Kind::timestamp);

// The seconds as a double, or "bad".
std::string parsed(const TimeFormat& format, std::string_view text) {
  Moment moment;
  return format.parse(text, moment) ? cat(moment.as<double>()) : "bad";
}
std::string parsed(const std::string& letters, std::string_view text, Kind kind = Kind::timestamp) {
  return parsed(TimeFormat(kind, letters), text);
}

std::string padded(int value, size_t width) {
  const std::string text = cat(value);
  return std::string(width - text.size(), '0') + text;
}

// The days are counted one by one, so no formula is compared with itself.
TEST(TimeFormat, EveryDayOfTheYears1To9999) {
  const TimeFormat german(Kind::date, "%d.%m.%Y"), of_year(Kind::date, "%Y/%j");
  int64_t seconds = -62135596800;
  for (int year = 1; year < 10000; ++year) {
    const bool leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0);
    int yearday = 1;
    for (int month = 1; month <= 12; ++month) {
      const bool is_short = month == 4 || month == 6 || month == 9 || month == 11;
      const int days = month == 2 ? (leap ? 29 : 28) : is_short ? 30 : 31;
      const std::string start = cat(padded(year, 4), '-', padded(month, 2), '-');
      Moment moment;
      for (int day = 1; day <= days; ++day, ++yearday, seconds += 86400) {
        const std::string text = start + padded(day, 2);
        ASSERT_TRUE(kDate.parse(text, moment)) << text;
        ASSERT_EQ(moment.seconds, seconds) << text;
        if ((yearday + year) % 61 != 0) continue;
        ASSERT_EQ(kDate.write(static_cast<double>(seconds)), text);
        const std::string in_german = cat(padded(day, 2), '.', padded(month, 2), '.', padded(year, 4));
        ASSERT_TRUE(german.parse(in_german, moment)) << in_german;
        ASSERT_EQ(moment.seconds, seconds) << in_german;
        ASSERT_EQ(german.write(static_cast<double>(seconds)), in_german);
        const std::string in_year = cat(padded(year, 4), '/', padded(yearday, 3));
        ASSERT_TRUE(of_year.parse(in_year, moment)) << in_year;
        ASSERT_EQ(moment.seconds, seconds) << in_year;
        ASSERT_EQ(of_year.write(static_cast<double>(seconds)), in_year);
      }
      ASSERT_FALSE(kDate.parse(start + padded(days + 1, 2), moment)) << start;
      ASSERT_FALSE(kDate.parse(start + "00", moment)) << start;
    }
  }
  EXPECT_EQ(seconds, 253402300800) << "10000-01-01";
}

TEST(TimeFormat, ReadsIsoDates) {
  EXPECT_EQ(parsed(kDate, "2024-01-31"), "1706659200");
  EXPECT_EQ(parsed(kDate, "20240131"), "1706659200");
  EXPECT_EQ(parsed(kDate, " 2024-02-29\t"), "1709164800");
  EXPECT_EQ(parsed(kDate, "1970-01-01"), "0");
  EXPECT_EQ(parsed(kDate, "0001-01-01"), "-62135596800");
  for (const char* text : {"",
                           " ",
                           "2024",
                           "2024-01",
                           "2024-1-31",
                           "2024-01-3",
                           "2024-0131",
                           "202401-31",
                           "2024/01/31",
                           "24-01-31",
                           "2024-01-31T00:00:00",
                           "2024-01-31x",
                           "2023-02-29",
                           "1900-02-29",
                           "2024-00-10",
                           "2024-13-10",
                           "2024-04-31",
                           "2024-01-00",
                           "2024-01-32",
                           "0000-01-01",
                           "-001-01-01",
                           "+2024-01-31",
                           "12024-01-31",
                           "31-01-2024",
                           "nan",
                           "2024-01-31\n",
                           "2024 01 31",
                           "2O24-01-31",
                           "99999999"}) {
    EXPECT_EQ(parsed(kDate, text), "bad") << text;
  }
  EXPECT_EQ(parsed(kDate, std::string_view("2024-01-31\0", 11)), "bad");
}

TEST(TimeFormat, ReadsIsoTimestamps) {
  for (const char* text :
       {"2024-01-31T10:20:30Z", "2024-01-31 10:20:30", "2024-01-31t10:20:30z", "20240131T10:20:30",
        "2024-01-31T10:20:30+00:00", "2024-01-31T10:20:30.0", "2024-01-31 10:20:30 +0000", " 2024-01-31T10:20:30Z "}) {
    EXPECT_EQ(parsed(kTimestamp, text), "1706696430") << text;
  }
  EXPECT_EQ(parsed(kTimestamp, "2024-01-31T10:20"), "1706696400");
  EXPECT_EQ(parsed(kTimestamp, "2024-01-31"), "1706659200") << "its first second";
  EXPECT_EQ(parsed(kTimestamp, "1969-12-31T23:59:59Z"), "-1");
  EXPECT_EQ(parsed(kTimestamp, "9999-12-31T23:59:59"), "253402300799");
  for (const char* text :
       {"", "10:20:30", "2024-01-31T", "2024-01-31T10", "2024-01-31T1:20", "2024-01-31T24:00:00", "2024-01-31T10:60",
        "2024-01-31T10:20:61", "2024-01-31T10:20:", "2024-01-31T10:20:30.", "2024-01-31T10:20:30.1234567890",
        "2024-01-31T10:20:30ZZ", "2024-01-31T10:20:30Z+01:00", "2024-01-31  10:20", "2024-01-31T10:20:30 UTC",
        "2024-01-31x10:20", "2024-02-30T10:20:30", "2024-01-31T1020", "1706659200"}) {
    EXPECT_EQ(parsed(kTimestamp, text), "bad") << text;
  }
}

TEST(TimeFormat, SubtractsOffsets) {
  for (const char* text : {"2024-01-31T10:20+05:30", "2024-01-31T10:20+0530", "2024-01-31 10:20:00 +05:30"}) {
    EXPECT_EQ(parsed(kTimestamp, text), "1706676600") << text;
  }
  for (const char* text : {"2024-01-31T10:20-08:00", "2024-01-31T10:20-0800", "2024-01-31T10:20-08"}) {
    EXPECT_EQ(parsed(kTimestamp, text), "1706725200") << text;
  }
  EXPECT_EQ(parsed(kTimestamp, "0001-01-01T00:00+01:00"), "-62135600400") << "before the first year, UTC";
  for (const char* text : {"2024-01-31T10:20+24:00", "2024-01-31T10:20+01:60", "2024-01-31T10:20+1",
                           "2024-01-31T10:20+", "2024-01-31T10:20+01:", "2024-01-31T10:20+010"}) {
    EXPECT_EQ(parsed(kTimestamp, text), "bad") << text;
  }
}

TEST(TimeFormat, ALeapSecondIsTheLastOfADayInUtc) {
  EXPECT_EQ(parsed(kTimestamp, "2016-12-31T23:59:60Z"), "1483228800") << "as the second after it";
  EXPECT_EQ(parsed(kTimestamp, "2017-01-01T05:29:60+05:30"), "1483228800");
  EXPECT_EQ(parsed(kTimestamp, "2016-12-31T15:59:60-08:00"), "1483228800");
  EXPECT_EQ(parsed(kTimestamp, "2016-12-31T23:58:60Z"), "bad");
  EXPECT_EQ(parsed(kTimestamp, "2016-12-31T23:59:60+01:00"), "bad");
}

TEST(TimeFormat, FractionsAreNanosecondsAndOnlyInDoubles) {
  EXPECT_EQ(parsed(kTimestamp, "2024-01-31T10:20:30.125Z"), "1706696430.125");
  EXPECT_EQ(parsed(kTimestamp, "2024-01-31T10:20:30.123456789"), "1706696430.1234567");
  EXPECT_EQ(parsed(kTimestamp, "2024-01-31 10:20:30,125"), "1706696430.125") << "ISO 8601 has both, Python logs this";
  EXPECT_EQ(parsed(kTimestamp, "1969-12-31T23:59:59.5"), "-0.5");
  EXPECT_EQ(parsed(kTimestamp, "1970-01-01T00:00:00.000000001"), "1e-09");
  Moment moment;
  ASSERT_TRUE(kTimestamp.parse("1969-12-31T23:59:59.75", moment));
  EXPECT_EQ(moment.nanoseconds, 750000000);
  EXPECT_EQ(moment.as<int64_t>(), -1) << "rounded down";
}

TEST(TimeFormat, ReadsTheLettersOfStrftime) {
  EXPECT_EQ(parsed("%d/%m/%Y %H:%M", "31/12/2024 18:30"), "1735669800");
  EXPECT_EQ(parsed("%d/%m/%Y", "1/2/2024", Kind::date), "1706745600") << "digits that are 0 may be left out";
  EXPECT_EQ(parsed("%Y%m%d%H%M%S", "20240131102030"), "1706696430");
  EXPECT_EQ(parsed("%m/%d/%Y %I:%M:%S %p", "01/31/2024 10:20:30 AM"), "1706696430");
  EXPECT_EQ(parsed("%m/%d/%Y %I:%M %p", "1/31/2024 12:00 AM"), "1706659200");
  EXPECT_EQ(parsed("%m/%d/%Y %I:%M %p", "1/31/2024 12:00 pm"), "1706702400");
  EXPECT_EQ(parsed("%m/%d/%Y %I%p", "1/31/2024 11Pm"), "1706742000");
  for (const char* text : {"31 Jan 2024", "31 January 2024", "31  jan 2024", "31 JANUARY 2024"}) {
    EXPECT_EQ(parsed("%d %b %Y", text, Kind::date), "1706659200") << text;
    EXPECT_EQ(parsed("%d %B %Y", text, Kind::date), "1706659200") << text;
  }
  EXPECT_EQ(parsed("%d-%b-%y", "04-Mar-99", Kind::date), "920505600");
  EXPECT_EQ(parsed("%y%m%d", "680101", Kind::date), parsed(kDate, "2068-01-01"));
  EXPECT_EQ(parsed("%y%m%d", "690101", Kind::date), parsed(kDate, "1969-01-01"));
  EXPECT_EQ(parsed("%Y-%j", "2024-060", Kind::date), "1709164800");
  EXPECT_EQ(parsed("%Y-%j", "2024-366", Kind::date), "1735603200");
  EXPECT_EQ(parsed("%Y-%m", "2024-03", Kind::date), "1709251200") << "its first day";
  EXPECT_EQ(parsed("%Y", "2000", Kind::date), "946684800");
  EXPECT_EQ(parsed("[%d/%b/%Y:%H:%M:%S %z]", "[31/Jan/2024:10:20:30 +0000]"), "1706696430");
  EXPECT_EQ(parsed("%Y-%m-%d %H:%M:%S,%f", "2024-01-31 10:20:30,125"), "1706696430.125");
  EXPECT_EQ(parsed("%Y-%m-%d %H:%M:%S UTC", "2024-01-31 10:20:30 UTC"), "1706696430");
  EXPECT_EQ(parsed("%H:%M%z %d.%m.%Y", "10:20+05 31.01.2024"), parsed(kTimestamp, "2024-01-31T10:20+05:00"));
  EXPECT_EQ(parsed("%Y%%%m", "2024%03", Kind::date), "1709251200");
  for (const char* letters : {"%d  %b %Y", " %d %b %Y", "%d %b %Y  "}) {
    EXPECT_EQ(parsed(letters, " 31  Jan 2024 ", Kind::date), "1706659200") << letters;
    EXPECT_EQ(parsed(letters, "31Jan 2024", Kind::date), "bad") << letters;
  }
}

TEST(TimeFormat, RefusesWhatTheLettersDoNotSay) {
  for (const char* text :
       {"", "31/12/24 18:30", "31/12/2024", "31/12/2024 18:30:00", "31/12/2024 25:30", "32/12/2024 18:30",
        "12/31/2024 18:30", "31-12-2024 18:30", "31/12/202418:30", "x31/12/2024 18:30"}) {
    EXPECT_EQ(parsed("%d/%m/%Y %H:%M", text), "bad") << text;
  }
  EXPECT_EQ(parsed("%Y-%j", "2023-366", Kind::date), "bad");
  EXPECT_EQ(parsed("%Y-%j", "2023-000", Kind::date), "bad");
  EXPECT_EQ(parsed("%m/%d/%Y %I:%M %p", "1/31/2024 0:00 AM"), "bad");
  EXPECT_EQ(parsed("%m/%d/%Y %I:%M %p", "1/31/2024 13:00 PM"), "bad");
  EXPECT_EQ(parsed("%m/%d/%Y %I:%M %p", "1/31/2024 1:00 XM"), "bad");
  EXPECT_EQ(parsed("%d %b %Y", "31 Foo 2024", Kind::date), "bad");
  EXPECT_EQ(parsed("%d %b %Y", "31", Kind::date), "bad");
}

TEST(TimeFormat, RefusesLettersThatLeaveTheDayOpen) {
  const auto error = [](const std::string& letters, Kind kind = Kind::timestamp) {
    return error_of([&] { TimeFormat(kind, letters); });
  };
  EXPECT_EQ(error("%d/%m/%Y %H:%M:%S.%f %z"), "no error");
  EXPECT_EQ(
      error("%Y-%q"),
      "the format has \"%q\", which is not known; known: %Y %y %m %b %B %d %j, %H %I %p %M %S %f %z, and %% for a "
      "percent sign");
  EXPECT_EQ(error("%Y-%m-%"), "the format ends with a single %; write %% for a percent sign");
  EXPECT_EQ(error("%m/%m/%Y"), "the format has %m and %m, which say the same");
  EXPECT_EQ(error("%Y %y"), "the format has %Y and %y, which say the same");
  EXPECT_EQ(error("%Y-%m-%j"), "the format has %m and %j, which say the same");
  EXPECT_EQ(error("%H:%M"), "the format has no year; %Y is a year of four digits, %y of two");
  EXPECT_EQ(error("%d %Y"), "the format has a day without its month, %m, %b or %B");
  EXPECT_EQ(error("%Y-%m-%d %I:%M"), "%I, hours from 1 to 12, and %p, AM or PM, need each other");
  EXPECT_EQ(error("%Y-%m-%d %H:%M %p"), "%I, hours from 1 to 12, and %p, AM or PM, need each other");
  EXPECT_EQ(error("%Y-%m-%d %H:%M", Kind::date), "a date has no time of day, but the format has; set type: timestamp");
}

TEST(TimeFormat, SaysHowToMendAText) {
  const TimeFormat american(Kind::date, "%m/%d/%Y"), german(Kind::timestamp, "%d.%m.%Y %H:%M");
  EXPECT_EQ(american.hint("13/01/2024"), "set type: date, format: \"%d/%m/%Y\"");
  EXPECT_EQ(american.hint("13/13/2024"), "there is no such month");
  EXPECT_EQ(german.hint("31.04.2024 10:00"), "there is no such day");
  EXPECT_EQ(german.hint("30.04.2024 24:00"), "there is no such hour");
  EXPECT_EQ(german.hint("30.04.2024 10:60"), "there is no such minute");
  EXPECT_EQ(kDate.hint("2023-02-29"), "there is no such day");
  EXPECT_EQ(kDate.hint("0000-01-01"), "there is no such year");
  EXPECT_EQ(kTimestamp.hint("2024-01-01T10:00:60"), "there is no such second") << "a leap second is the last of a day";
  EXPECT_EQ(kTimestamp.hint("2024-01-01T10:00+30:00"), "there is no such offset from UTC");
  EXPECT_EQ(TimeFormat(Kind::date, "%Y-%j").hint("2023-366"), "there is no such day");
  EXPECT_EQ(TimeFormat(Kind::timestamp, "%Y-%m-%d %I %p").hint("2024-01-01 13 PM"), "there is no such hour");
  EXPECT_EQ(kDate.hint("2024-01-31T10:00:00Z"), "set type: timestamp without a format");
  EXPECT_EQ(kDate.hint("31/12/2024"), "set type: date, format: \"%d/%m/%Y\"");
  EXPECT_EQ(kDate.hint("12/31/2024"), "set type: date, format: \"%m/%d/%Y\"");
  EXPECT_EQ(kDate.hint("01/02/2024 3:04 PM"),
            "set type: timestamp, format: \"%d/%m/%Y %I:%M %p\", or \"%m/%d/%Y %I:%M %p\" if the month comes first");
  EXPECT_EQ(kDate.hint("1/2/24"), "set type: date, format: \"%d/%m/%y\", or \"%m/%d/%y\" if the month comes first");
  EXPECT_EQ(american.hint("2024-01-31"), "set type: date without a format");
  EXPECT_EQ(kTimestamp.hint("1706659200"), "for seconds since 1970, set type: float64 or int64");
  EXPECT_EQ(kDate.hint("soon"), "");
}

TEST(TimeFormat, HasANameForMessages) {
  EXPECT_EQ(kDate.name(), "date as YYYY-MM-DD");
  EXPECT_EQ(kTimestamp.name(), "timestamp as YYYY-MM-DDTHH:MM:SS");
  EXPECT_EQ(TimeFormat(Kind::date, "%d/%m/%Y").name(), "date as \"%d/%m/%Y\"");
}

TEST(TimeFormat, WritesWhatItReads) {
  EXPECT_EQ(kTimestamp.write(1706696430), "2024-01-31T10:20:30Z");
  EXPECT_EQ(kTimestamp.write(1706696430.125), "2024-01-31T10:20:30.125Z");
  EXPECT_EQ(kTimestamp.write(-0.5), "1969-12-31T23:59:59.5Z");
  EXPECT_EQ(kTimestamp.write(1e-9), "1970-01-01T00:00:00.000000001Z");
  const char* const letters[] = {"%d.%m.%y %H:%M:%S.%f", "%b %d, %Y %I:%M:%S %p", "%d %B %Y %H:%M:%S%z", "%Y%j %H%M%S",
                                 "%Y-%m-%d %%%H:%M:%S"};
  for (const char* one : letters) {
    const TimeFormat format(Kind::timestamp, one);
    for (const double seconds : {1706696430.0, 0.0, 951868799.0, 1e9, 1483228799.0, 946684800.0 + 43200.0}) {
      EXPECT_EQ(parsed(format, format.write(seconds)), cat(seconds)) << one;
    }
  }
  EXPECT_EQ(TimeFormat(Kind::timestamp, letters[1]).write(1706659200), "Jan 31, 2024 12:00:00 AM");
  EXPECT_EQ(TimeFormat(Kind::timestamp, letters[0]).write(1706659200), "31.01.24 00:00:00.0");
}

TEST(TimeFormat, WritesNothingThatItWouldReadAsSomethingElse) {
  for (const double seconds :
       {std::nan(""), std::numeric_limits<double>::infinity(), 253402300800.0, -62135596801.0, 1e300, -1e300, 1e-10}) {
    EXPECT_EQ(kTimestamp.write(seconds), "") << seconds;
  }
  EXPECT_EQ(kDate.write(1706696430), "") << "a date has no time of day";
  EXPECT_EQ(TimeFormat(Kind::timestamp, "%d/%m/%Y %H:%M").write(1706696430), "");
  EXPECT_EQ(TimeFormat(Kind::date, "%d/%m/%y").write(-3600.0 * 24 * 365 * 10), "") << "another century";
}

TEST(TimeFormat, UsualFormatsBeginWithIso) {
  const auto first = [](std::string_view text) {
    Moment moment;
    for (const TimeFormat& format : usual_time_formats()) {
      if (format.parse(text, moment))
        return cat(format.kind() == Kind::date ? "date " : "timestamp ", format.letters());
    }
    return std::string("none");
  };
  EXPECT_EQ(first("2024-01-31"), "date ");
  EXPECT_EQ(first("2024-01-31 10:00"), "timestamp ");
  EXPECT_EQ(first("2024-1-31 10:00"), "timestamp %Y-%m-%d %H:%M");
  EXPECT_EQ(first("2024/01/31"), "date %Y/%m/%d");
  EXPECT_EQ(first("31.12.2024 10:00:00"), "timestamp %d.%m.%Y %H:%M:%S");
  EXPECT_EQ(first("01/02/2024"), "date %d/%m/%Y");
  EXPECT_EQ(first("01/13/2024 01:30:00 PM"), "timestamp %m/%d/%Y %I:%M:%S %p");
  EXPECT_EQ(first("2024-01"), "date %Y-%m");
  EXPECT_EQ(first("11 Mar 2023"), "date %d %b %Y");
  EXPECT_EQ(first("15-Aug-2022"), "date %d-%b-%Y");
  EXPECT_EQ(first("March 11, 2023"), "date %b %d, %Y");
  EXPECT_EQ(first("15-Aug-22"), "date %d-%b-%y");
  EXPECT_EQ(first("29/04/20"), "date %d/%m/%y");
  EXPECT_EQ(first("04/29/20"), "date %m/%d/%y");
  EXPECT_EQ(first("29.04.20"), "date %d.%m.%y");
  EXPECT_EQ(first("10:30"), "none");
}

}  // namespace
}  // namespace millrace
