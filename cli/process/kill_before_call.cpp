#include "millrace/cli/process/kill_before_call.h"

#include <unistd.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/output.h"
#include "millrace/core/text.h"
#include "millrace/input/files/file_calls.h"

namespace millrace::cli {

namespace {

constexpr std::string_view kKilledBefore = "killed before ";

class KillingCalls final : public FileCalls {
 public:
  explicit KillingCalls(FaultPoint point) : point_(std::move(point)) {}

 private:
  int before(std::string_view call) override {
    if (call != point_.call || ++times_ != point_.time) return 0;
    write_to_stderr(cat(kKilledBefore, call, '\n'));
    ::kill(::getpid(), SIGKILL);
    for (;;) ::pause();
  }

  const FaultPoint point_;
  std::atomic<uint64_t> times_{0};
};

}  // namespace

std::string FaultPoint::text() const { return cat(call, ':', time); }

FaultPoint FaultPoint::parse(std::string_view text) {
  FaultPoint out;
  const size_t colon = text.find(':');
  out.call = text.substr(0, colon);
  const std::string_view time = colon == text.npos ? "" : text.substr(colon + 1);
  const auto [end, fault] = std::from_chars(time.data(), time.data() + time.size(), out.time);
  const bool is_number = fault == std::errc() && end == time.data() + time.size() && out.time > 0;
  if (out.call.empty() || !is_number) {
    throw UsageError(cat(kKillBeforeCall, ": expected a call and a number, such as sync:3, got ", quote(text)));
  }
  return out;
}

void take_fault_point() {
  const char* const text = std::getenv(kKillBeforeCall);
  if (text == nullptr) return;
  static KillingCalls calls(FaultPoint::parse(text));
  FileCalls::replace_system(calls);
}

std::optional<std::string> killed_before(std::string_view text) {
  const size_t begin = text.find(kKilledBefore);
  if (begin == text.npos) return {};
  text.remove_prefix(begin + kKilledBefore.size());
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace millrace::cli
