// A fault point: the program kills itself before a certain call of the system by which it writes files (FileCalls), as
// a loss of power at that moment would end it.
//
//   MILLRACE_KILL_BEFORE_CALL=sync:3 trainer train ..        before the third sync
//
// `trainer verify-resume` sets this variable for the trainings that it kills, and only `trainer train` reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::cli {

inline constexpr const char* kKillBeforeCall = "MILLRACE_KILL_BEFORE_CALL";

struct FaultPoint {
  std::string call;   // its name in FileCalls
  uint64_t time = 1;  // which one of these calls, counted from 1

  // The value of the variable: "sync:3".
  std::string text() const;
  // Throws UsageError.
  static FaultPoint parse(std::string_view text);
};

// Takes the fault point from the variable, if it is set. Before the program kills itself it says so on standard error,
// in one line: "killed before sync". Throws UsageError. REQUIRES: no file was written yet; called once.
void take_fault_point();

// The call in such a line, if there is one in `text`.
std::optional<std::string> killed_before(std::string_view text);

}  // namespace millrace::cli
