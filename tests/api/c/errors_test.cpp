#include "millrace/api/c/errors.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace millrace::c {
namespace {

// The status of what `body` throws, whose text is `text`.
template <class F>
millrace_status status_of(const F& body, const std::string& text) {
  millrace_error* error = nullptr;
  const millrace_status status = guarded(&error, body);
  EXPECT_EQ(millrace_error_text(error), text);
  EXPECT_EQ(millrace_error_status(error), status);
  millrace_error_free(error);
  EXPECT_EQ(guarded(nullptr, body), status);  // a caller that wants no error
  return status;
}

TEST(CErrors, EachKindHasAStatus) {
  EXPECT_EQ(status_of([] {}, ""), MILLRACE_OK);
  EXPECT_EQ(status_of([] { throw ArgumentError("bad"); }, "bad"), MILLRACE_ERROR_ARGUMENT);
  EXPECT_EQ(status_of([] { throw ConfigError("bad"); }, "bad"), MILLRACE_ERROR_CONFIG);
  EXPECT_EQ(status_of([] { throw ShapeError("bad"); }, "bad"), MILLRACE_ERROR_CONFIG);
  EXPECT_EQ(status_of([] { throw DataError("bad"); }, "bad"), MILLRACE_ERROR_DATA);
  EXPECT_EQ(status_of([] { throw MissingError("bad"); }, "bad"), MILLRACE_ERROR_MISSING);
  EXPECT_EQ(status_of([] { throw IoError("bad"); }, "bad"), MILLRACE_ERROR_IO);
  EXPECT_EQ(status_of([] { throw DeviceError("bad"); }, "bad"), MILLRACE_ERROR_DEVICE);
  EXPECT_EQ(status_of([] { throw InternalError("bad"); }, "bad"), MILLRACE_ERROR_INTERNAL);
  EXPECT_EQ(status_of([] { throw CallError("late"); }, "late"), MILLRACE_ERROR_CALL);
}

TEST(CErrors, WhatIsNoErrorOfOursHasOneToo) {
  EXPECT_EQ(status_of([] { throw std::bad_alloc(); }, "out of memory"), MILLRACE_ERROR_INTERNAL);
  EXPECT_EQ(status_of([] { throw std::runtime_error("odd"); }, "odd"), MILLRACE_ERROR_INTERNAL);
  struct Silent : std::exception {
    const char* what() const noexcept override { return nullptr; }
  };
  EXPECT_EQ(status_of([] { throw Silent(); }, "an exception without a text"), MILLRACE_ERROR_INTERNAL);
  EXPECT_EQ(status_of([] { throw 7; }, "an exception of unknown type"), MILLRACE_ERROR_INTERNAL);
}

TEST(CErrors, KeepPlaceAndHint) {
  millrace_error* error = nullptr;
  guarded(&error, [] { throw DataError("no number", {"rows.csv", 3, 7}, "mend it"); });
  EXPECT_STREQ(millrace_error_message(error), "no number");
  EXPECT_STREQ(millrace_error_file(error), "rows.csv");
  EXPECT_EQ(millrace_error_line(error), 3);
  EXPECT_EQ(millrace_error_column(error), 7);
  EXPECT_STREQ(millrace_error_hint(error), "mend it");
  millrace_error_free(error);
}

TEST(CErrors, NoErrorIsEmpty) {
  EXPECT_EQ(millrace_error_status(nullptr), MILLRACE_OK);
  for (const auto text : {millrace_error_text, millrace_error_message, millrace_error_hint, millrace_error_file}) {
    EXPECT_STREQ(text(nullptr), "");
  }
  EXPECT_EQ(millrace_error_line(nullptr), 0);
  EXPECT_EQ(millrace_error_column(nullptr), 0);
  millrace_error_free(nullptr);
}

TEST(CErrors, WhatIsRequiredIsNamed) {
  EXPECT_EQ(status_of([] { require(nullptr, "path"); }, "path is NULL"), MILLRACE_ERROR_ARGUMENT);
  EXPECT_EQ(status_of([] { require("", "path"); }, ""), MILLRACE_OK);
  EXPECT_EQ(status_of([] { require_size(8, "result->size"); }, "result->size is 8, expected the size of the structure"),
            MILLRACE_ERROR_ARGUMENT);
  EXPECT_EQ(status_of([] { require_size(9, "result->size"); }, ""), MILLRACE_OK);
}

}  // namespace
}  // namespace millrace::c
