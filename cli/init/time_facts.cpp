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
    add(moment, count_ == 1, forms_[left++]);
  }
  forms_.resize(left);
}

void TimeFacts::add(const Moment& moment, bool is_first, Form& to) {
  FoundField::Times& times = to.times;
  if (is_first) to.first = moment.seconds;
  const int64_t days = floor_divide(moment.seconds, kSecondsOfDay), first_days = floor_divide(to.first, kSecondsOfDay);
  const Date date = date_of(days), first = date_of(first_days);
  times.first_year = is_first ? date.year : std::min(times.first_year, date.year);
  times.last_year = is_first ? date.year : std::max(times.last_year, date.year);
  times.yeardays = times.yeardays || day_of_year(date) != day_of_year(first);
  times.weekdays = times.weekdays || weekday_of(days) != weekday_of(first_days);
  times.clock = times.clock || moment.seconds - to.first != (days - first_days) * kSecondsOfDay;
  to.sum += static_cast<double>(moment.seconds - to.first);
}

bool TimeFacts::ambiguous() const {
  return std::ranges::any_of(
      forms_, [&](const Form& one) { return one.format->day_first() != forms_.front().format->day_first(); });
}

std::string TimeFacts::mean_text() const {
  const Form& best = forms_.front();
  const int64_t mean = best.first + static_cast<int64_t>(std::floor(best.sum / static_cast<double>(count_)));
  const int64_t days = floor_divide(mean, kSecondsOfDay);
  const Date date = date_of(days);
  // The form may have no seconds, no time of day, or no day.
  for (const int64_t seconds : {mean, mean - (mean - days * kSecondsOfDay) % 60, days * kSecondsOfDay,
                                days_since_1970({.year = date.year, .month = date.month}) * kSecondsOfDay}) {
    if (std::string text = best.format->write(static_cast<double>(seconds)); !text.empty()) return text;
  }
  return {};
}

}  // namespace millrace
