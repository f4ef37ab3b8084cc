#include "millrace/cli/init/time_facts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "millrace/core/dates.h"

namespace millrace {

void TimeFacts::add(std::string_view text) {
  if (count_++ == 0) {
    for (const TimeFormat& format : usual_time_formats()) {
      const bool dates = format.kind() == TimeFormat::Kind::date;
      forms_.push_back({.format = &format, .times = {.dates = dates, .letters = format.letters()}});
    }
  }
  size_t left = 0;
  for (size_t i = 0; i < forms_.size(); ++i) {
    Moment moment;
    if (!forms_[i].format->parse(text, moment)) continue;
    if (i != left) forms_[left] = std::move(forms_[i]);
    add(moment.seconds, count_ == 1, forms_[left++]);
  }
  forms_.resize(left);
}

void TimeFacts::add(int64_t seconds, bool is_first, Form& to) {
  FoundField::Times& times = to.times;
  if (is_first) to.first = seconds;
  const CalendarTime time(seconds), first(to.first);
  times.first_year = is_first ? time.year : std::min<int64_t>(times.first_year, time.year);
  times.last_year = is_first ? time.year : std::max<int64_t>(times.last_year, time.year);
  times.yeardays = times.yeardays || time.yearday != first.yearday;
  times.weekdays = times.weekdays || time.weekday != first.weekday;
  times.clock = times.clock || time.second != first.second;
  to.sum += static_cast<double>(seconds - to.first);
}

bool TimeFacts::ambiguous() const {
  return std::ranges::any_of(
      forms_, [&](const Form& one) { return one.format->day_first() != forms_.front().format->day_first(); });
}

std::string TimeFacts::mean_text() const {
  const Form& best = forms_.front();
  const int64_t mean = best.first + static_cast<int64_t>(std::floor(best.sum / static_cast<double>(count_)));
  const CalendarTime time(mean);
  // The form may have no seconds, no time of day, or no day.
  for (const int64_t seconds : {mean, mean - time.second % 60, time.days * kSecondsOfDay,
                                days_since_1970(time.year, time.month) * kSecondsOfDay}) {
    if (std::string text = best.format->write(static_cast<double>(seconds)); !text.empty()) return text;
  }
  return {};
}

}  // namespace millrace
