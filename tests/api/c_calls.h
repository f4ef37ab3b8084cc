// Calls of the C interface, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "millrace/c.h"

namespace millrace {

// Takes what a call left in `error` and frees it.
inline std::string text_of(millrace_error* error) {
  std::string text = millrace_error_text(error);
  millrace_error_free(error);
  return text;
}

// `call` names the error that it fills in `error`.
#define EXPECT_DONE(call)                                         \
  do {                                                            \
    millrace_error* error = nullptr;                              \
    EXPECT_EQ((call), MILLRACE_OK) << millrace_error_text(error); \
    EXPECT_EQ(error, nullptr);                                    \
    millrace_error_free(error);                                   \
  } while (false)

}  // namespace millrace
