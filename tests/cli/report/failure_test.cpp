#include "millrace/cli/report/failure.h"

#include <gtest/gtest.h>

#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "millrace/cli/process/exit_code.h"
#include "millrace/core/text.h"

namespace millrace::cli {
namespace {

TEST(ReportTest, TextHasPlaceMessageAndHint) {
  const DataError error("expected a number, got \"x\"", {"a.csv", 3, 7}, "look at it");
  EXPECT_EQ(failure_text(error, false), "error: a.csv:3:7: expected a number, got \"x\"\nhint: look at it\n");
}

TEST(ReportTest, TextWithoutPlaceAndHintIsOneLine) {
  EXPECT_EQ(failure_text(IoError("no space left on device"), false), "error: no space left on device\n");
}

TEST(ReportTest, ControlCharactersNeverReachTheTerminal) {
  const DataError error("got \x1b[31m\n", {"a\x07.csv", 1, 1}, "\r");
  EXPECT_EQ(failure_text(error, false), "error: a\\x07.csv:1:1: got \\x1b[31m\\n\nhint: \\r\n");
}

TEST(ReportTest, ColorsStandAroundTheFirstWords) {
  const ConfigError error("m", {}, "h");
  EXPECT_EQ(failure_text(error, true), "\x1b[1;31merror:\x1b[0m m\n\x1b[1;36mhint:\x1b[0m h\n");
}

TEST(ReportTest, EventHasEveryKey) {
  const DataError error("expected a number, got \"\xff\"", {"a.csv", 3, 7}, "look at it");
  EXPECT_EQ(failure_event(error),
            "{\"v\":1,\"event\":\"error\",\"kind\":\"data\",\"file\":\"a.csv\",\"line\":3,\"column\":7,"
            "\"message\":\"expected a number, got \\\"\xef\xbf\xbd\\\"\",\"hint\":\"look at it\"}\n");
}

TEST(ReportTest, WhatIsUnknownIsNullInTheEvent) {
  const auto event = nlohmann::json::parse(failure_event(MissingError("no file", {"x.csv"})));
  EXPECT_EQ(event["kind"], "missing");
  EXPECT_EQ(event["file"], "x.csv");
  EXPECT_TRUE(event["line"].is_null());
  EXPECT_TRUE(event["column"].is_null());
  EXPECT_TRUE(event["hint"].is_null());
}

TEST(ReportTest, TheEventWithoutMemoryIsTheSame) {
  EXPECT_EQ(failure_event(InternalError("out of memory")), kOutOfMemoryEvent);
}

TEST(ReportTest, KindFollowsTheType) {
  EXPECT_NE(failure_event(UsageError("m")).find("\"kind\":\"usage\""), std::string::npos);
  EXPECT_NE(failure_event(ShapeError("m")).find("\"kind\":\"config\""), std::string::npos);
}

TEST(ReportTest, ForeignExceptionsAreInternal) {
  const auto message = [](const auto& thrown) {
    try {
      std::rethrow_exception(reported(std::make_exception_ptr(thrown)));
    } catch (const Error& error) {
      return cat(to_string(error.kind()), ": ", error.message());
    }
  };
  EXPECT_EQ(message(std::bad_alloc()), "internal: out of memory");
  EXPECT_EQ(message(std::runtime_error("odd")), "internal: odd");
  EXPECT_EQ(message(5), "internal: an exception of unknown type");
  EXPECT_EQ(message(DataError("bad")), "data: bad");
}

}  // namespace
}  // namespace millrace::cli
