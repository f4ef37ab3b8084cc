// LibraryJump: the way out of a C library that gives up. Its error handler jumps back to where it was called.
//
//   LibraryJump jump;
//   if (!jump.calls([&] { png_read_info(png, info); })) return jump.text;
#pragma once

#include <csetjmp>
#include <cstdio>

#include "millrace/core/context.h"
#include "millrace/core/library_call.h"

namespace millrace {

struct LibraryJump {
  std::jmp_buf back = {};
  char text[200] = {};  // why the library gave up

  // Whether `body`, which calls the library, came to its end. The jump passes over `body` and the library, so nothing
  // there may wait to be destroyed while the library runs.
  bool calls(FunctionRef<void()> body) {
    const LibraryCall library;
    if (setjmp(back) != 0) return false;
    body();
    return true;
  }

  // For the library's error handler. REQUIRES: called inside of calls().
  [[noreturn]] void leave(const char* why) {
    std::snprintf(text, sizeof text, "%s", why);
    std::longjmp(back, 1);
  }
};

}  // namespace millrace
