// The program from its arguments to its exit code.
#pragma once

namespace millrace::cli {

// `words` are the `count` arguments after the program's name. Reports every failure, and needs no memory to report that
// there is none.
int run(int count, const char* const* words) noexcept;

}  // namespace millrace::cli
