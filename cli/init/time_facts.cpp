#include "millrace/cli/init/time_facts.h"

#include <algorithm>
#include <cmath>

#include "millrace/cli/init/value_text.h"
#include "millrace/core/dates.h"

namespace millrace {

namespace {

bool may_be_odd(std::string_view text, const std::vector<std::string>& others) {
  return others.size() < TimeFacts::kMostOdd && text.size() <= TimeFacts::kLongestOdd;
}

}  // namespace

bool TimeFacts::add(std::string_view text) {
  ++count_;
  if (over_ || (forms_.empty() && !begins(text))) return false;
  bool read = false;
  std::erase_if(forms_, [this, text, &read](Form& one) {
    Moment moment;
    // In a column of few different dates most forms would stay, to be asked for each row.
    if (contains(one.odd, text)) return one.count == 0 && count_ > 100;
    if (one.format->parse(text, moment)) {
      add(moment.seconds, one);
      read = true;
    } else if (may_be_odd(text, one.odd)) {
      one.odd.emplace_back(text);
    } else {
      return true;
    }
    return false;
  });
  forms_.shrink_to_fit();
  over_ = forms_.empty();
  return read;
}

bool TimeFacts::begins(std::string_view text) {
  Moment moment;
  const std::vector<TimeFormat>& all = usual_time_formats();
  if (contains(odd_, text)) return false;
  if (std::ranges::none_of(all, [&](const TimeFormat& format) { return format.parse(text, moment); })) {
    over_ = !may_be_odd(text, odd_);
    if (!over_) odd_.emplace_back(text);
    return false;
  }
  for (const TimeFormat& format : all) {
    const bool dates = format.kind() == TimeFormat::Kind::date;
    forms_.push_back({.format = &format, .times = {.dates = dates, .letters = format.letters()}, .odd = odd_});
  }
  return true;
}

void TimeFacts::add(int64_t seconds, Form& to) {
  FoundField::Times& times = to.times;
  const bool is_first = to.count++ == 0;
  if (is_first) to.first = seconds;
  const CalendarTime time(seconds), first(to.first);
  times.first_year = is_first ? time.year : std::min<int64_t>(times.first_year, time.year);
  times.last_year = is_first ? time.year : std::max<int64_t>(times.last_year, time.year);
  times.yeardays = times.yeardays || time.yearday != first.yearday;
  times.weekdays = times.weekdays || time.weekday != first.weekday;
  times.clock = times.clock || time.second != first.second;
  to.sum += static_cast<double>(seconds - to.first);
}

const TimeFacts::Form* TimeFacts::form() const {
  const auto best = std::ranges::max_element(forms_, {}, &Form::count);
  if (best == forms_.end() || (count_ - best->count) * 20 > best->count) return nullptr;
  // Most texts may be of both orders of day and month, and some texts only of the other one.
  const auto contradicts = [best](const Form& one) {
    const auto reads = [&one](const std::string& text) { return !contains(one.odd, text); };
    return one.format->day_first() != best->format->day_first() && 2 * one.count > best->count &&
           std::ranges::any_of(best->odd, reads);
  };
  return std::ranges::any_of(forms_, contradicts) ? nullptr : &*best;
}

bool TimeFacts::ambiguous() const {
  return std::ranges::any_of(forms_, [best = form()](const Form& one) {
    return one.count == best->count && one.format->day_first() != best->format->day_first();
  });
}

std::string TimeFacts::mean_text() const {
  const Form& best = *form();
  const int64_t mean = best.first + static_cast<int64_t>(std::floor(best.sum / static_cast<double>(best.count)));
  const CalendarTime time(mean);
  // The form may have no seconds, no time of day, or no day.
  for (const int64_t seconds : {mean, mean - time.second % 60, time.days * kSecondsOfDay,
                                days_since_1970(time.year, time.month) * kSecondsOfDay}) {
    if (std::string text = best.format->write(static_cast<double>(seconds)); !text.empty()) return text;
  }
  return {};
}

}  // namespace millrace
