#include "millrace/trainer/remote/worker_news.h"

#include <cstddef>
#include <utility>

#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr Clock::duration kTellAgain = std::chrono::minutes(1);
constexpr size_t kMostLines = 1000;

}  // namespace

void WorkerNews::tell(const std::string& endpoint, std::string_view what) {
  const MutexLock lock(mutex_);
  if (lines_.size() < kMostLines) lines_.push_back(cat("worker ", endpoint, ' ', what));
}

void WorkerNews::tell_unused(const std::string& endpoint, std::string_view what, std::string_view why,
                             Clock::time_point now) {
  {
    const MutexLock lock(mutex_);
    Reason& reason = reasons_[endpoint];
    const bool same = reason.text == why;
    if (same && reason.stands) return;
    const bool said = !same || now - reason.told > kTellAgain;
    reason = {.text = std::string(why), .told = said ? now : reason.told, .stands = true, .said = said};
    if (!said) return;
  }
  tell(endpoint, cat(what, why));
}

bool WorkerNews::end_unused(const std::string& endpoint) {
  const MutexLock lock(mutex_);
  Reason& reason = reasons_[endpoint];
  return std::exchange(reason.stands, false) && reason.said;
}

std::string WorkerNews::reasons() const {
  const MutexLock lock(mutex_);
  std::string out;
  for (const auto& [endpoint, why] : reasons_) {
    if (why.stands) out += cat(out.empty() ? "" : "; ", endpoint, " is not used: ", why.text);
  }
  return out;
}

std::vector<std::string> WorkerNews::take() {
  const MutexLock lock(mutex_);
  return std::exchange(lines_, {});
}

}  // namespace millrace
