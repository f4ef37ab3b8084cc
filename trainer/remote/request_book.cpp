#include "millrace/trainer/remote/request_book.h"

#include <algorithm>
#include <utility>

namespace millrace {

namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// A request that a link has had for so many times the median is given to a second link that has nothing else to do.
// Much later it is given to any link, and a link that has had it for so long does not count any more.
constexpr int kSlow = 4;
constexpr Clock::duration kLeastSlow = 20ms, kDeadline = 20s;

}  // namespace

RequestBook::RequestBook(Settings settings) : settings_(std::move(settings)), links_(settings_.links) {}

RequestBook::Outcome RequestBook::ask(uint32_t topic, std::string message, Answer& answer,
                                      const std::atomic<bool>* abandoned) {
  const auto is_abandoned = [abandoned] { return abandoned != nullptr && abandoned->load(); };
  std::list<Entry> own(1);
  Entry& entry = own.front();
  entry.topic = topic;
  entry.message = std::move(message);
  {
    const MutexLock lock(mutex_);
    entry.id = next_id_++;
    entries_.splice(entries_.end(), own);
    if (settings_.patience == Clock::duration::zero()) look_for_lonely({});
  }
  if (settings_.wake_links) settings_.wake_links();
  const MutexLock lock(mutex_);
  while (!entry.done && !entry.nobody && !failure_ && !is_abandoned()) mutex_.wait(entry.changed);
  const auto at = std::ranges::find(entries_, &entry, [](const Entry& one) { return &one; });
  own.splice(own.end(), entries_, at);
  if (failure_) std::rethrow_exception(failure_);
  if (!entry.done) return entry.nobody ? Outcome::nobody : Outcome::abandoned;
  answer = std::move(entry.answer);
  return Outcome::answered;
}

void RequestBook::wake() {
  const MutexLock lock(mutex_);
  for (Entry& entry : entries_) entry.changed.notify_all();
}

void RequestBook::fail(std::exception_ptr error) {
  const MutexLock lock(mutex_);
  if (!failure_) failure_ = std::move(error);
  for (Entry& entry : entries_) entry.changed.notify_all();
}

void RequestBook::give_topic(size_t link, uint32_t topic) {
  const MutexLock lock(mutex_);
  links_[link].topics.insert(topic);
}

void RequestBook::lose(size_t link, Clock::time_point now) {
  {
    const MutexLock lock(mutex_);
    links_[link] = {};
    if (files_link_ == link) files_link_.reset();
    for (Entry& entry : entries_) {
      std::erase_if(entry.asked, [link](const Ask& one) { return one.link == link; });
    }
    look_for_lonely(now);
  }
  if (settings_.wake_links) settings_.wake_links();
}

std::optional<RequestBook::Asked> RequestBook::take(size_t link, Clock::time_point now) {
  const MutexLock lock(mutex_);
  Link& own = links_[link];
  if (own.has >= settings_.credits) return {};
  const bool has_files = !files_link_ || *files_link_ == link;
  const auto fits = [&](const Entry& entry) { return !entry.done && own.topics.contains(entry.topic); };
  auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return fits(entry) && entry.asked.empty() && (entry.topic != kFiles || has_files);
  });
  if (found == entries_.end()) {
    const Clock::duration slow = this->slow(), late = std::max<Clock::duration>(kDeadline, 4 * slow);
    found = std::ranges::find_if(entries_, [&](const Entry& entry) {
      if (!fits(entry) || entry.asked.empty() || std::ranges::find(entry.asked, link, &Ask::link) != entry.asked.end())
        return false;
      const Clock::duration age = now - entry.asked.back().since;
      return (entry.asked.size() == 1 && age > slow && entry.topic != kFiles) || age > late;
    });
    if (found == entries_.end()) return {};
  }
  found->asked.push_back({link, now});
  if (found->topic == kFiles) files_link_ = link;
  ++own.has;
  return Asked{found->id, found->message};
}

bool RequestBook::answer(size_t link, uint64_t id, ZmqParts&& parts, Clock::time_point now) {
  const MutexLock lock(mutex_);
  if (links_[link].has > 0) --links_[link].has;
  const auto found = std::ranges::find(entries_, id, &Entry::id);
  const bool waits = found != entries_.end() && !found->done;
  const auto asked = waits ? std::ranges::find(found->asked, link, &Ask::link) : decltype(found->asked.begin())();
  if (!waits || asked == found->asked.end()) return false;
  times_[answered_++ % times_.size()] = now - asked->since;
  found->answer = {link, std::move(parts)};
  found->done = true;
  found->changed.notify_all();
  return true;
}

void RequestBook::tick(Clock::time_point now) {
  const MutexLock lock(mutex_);
  look_for_lonely(now);
}

void RequestBook::look_for_lonely(Clock::time_point now) {
  for (Entry& entry : entries_) {
    if (entry.done || may_be_taken(entry, now)) {
      entry.alone_since.reset();
      continue;
    }
    if (!entry.alone_since) entry.alone_since = now;
    if (!settings_.patience || now - *entry.alone_since < *settings_.patience) continue;
    entry.nobody = true;
    entry.changed.notify_all();
  }
}

// Whether some link has it, and not for too long, or may take it.
bool RequestBook::may_be_taken(const Entry& entry, Clock::time_point now) const {
  const Clock::duration limit = std::max<Clock::duration>(kDeadline, 4 * slow());
  if (std::ranges::any_of(entry.asked, [&](const Ask& one) { return now - one.since <= limit; })) return true;
  for (size_t link = 0; link < links_.size(); ++link) {
    const bool has_it = std::ranges::find(entry.asked, link, &Ask::link) != entry.asked.end();
    if (!has_it && links_[link].topics.contains(entry.topic)) return true;
  }
  return false;
}

Clock::duration RequestBook::slow() const { return std::max<Clock::duration>(kLeastSlow, kSlow * median()); }

Clock::duration RequestBook::median() const {
  const size_t count = std::min<size_t>(answered_, times_.size());
  if (count == 0) return 1s;
  auto times = times_;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(times.begin(), middle, times.begin() + static_cast<std::ptrdiff_t>(count));
  return *middle;
}

}  // namespace millrace
