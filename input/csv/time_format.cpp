#include "millrace/input/csv/time_format.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "millrace/core/dates.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/csv/month_names.h"
#include "millrace/input/csv/number_parser.h"

namespace millrace {

namespace {

constexpr std::string_view kIsoDate = "%Y-%m-%d", kIsoTime = "%Y-%m-%dT%H:%M:%SZ",
                           kIsoFraction = "%Y-%m-%dT%H:%M:%S.%fZ";
constexpr int kNanoseconds = 1'000'000'000;

// What a text says, part by part.
struct TimeParts {
  int year = 0, month = 1, day = 1;
  int yearday = -1;  // instead of month and day, unless it is -1
  int hour = 0, minute = 0, second = 0, nanoseconds = 0;
  int afternoon = -1;  // with hours from 1 to 12: whether it is; else -1
  int offset_sign = 1, offset_hours = 0, offset_minutes = 0;

  int offset() const { return offset_sign * (60 * offset_hours + offset_minutes); }
  // In minutes since midnight, UTC.
  int time_of_day() const {
    const int hours = afternoon < 0 ? hour : hour % 12 + 12 * afternoon;
    return 60 * hours + minute - offset();
  }
  Moment moment() const {
    const int64_t days = yearday < 0 ? days_since_1970(year, month, day) : days_since_1970(year) + yearday - 1;
    return {days * kSecondsOfDay + int64_t{60} * time_of_day() + second, nanoseconds};
  }
};

// Takes parts from the start of a text. Each function is false if the text does not go on so.
class TimeText {
 public:
  explicit TimeText(std::string_view text) : rest_(text) {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    while (!rest_.empty() && is_blank(rest_.back())) rest_.remove_suffix(1);
  }

  bool ended() const { return rest_.empty(); }
  bool take(std::string_view any) {
    if (rest_.empty() || any.find(rest_.front()) == any.npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool blanks() {
    const bool some = take(" \t");
    while (take(" \t")) {
    }
    return some;
  }
  // A number of `least` to `most` digits.
  bool number(size_t least, size_t most, int& out) {
    size_t digits = 0;
    out = 0;
    while (digits < most && digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9') {
      out = 10 * out + (rest_[digits++] - '0');
    }
    rest_.remove_prefix(digits);
    return digits >= least;
  }
  bool fraction(int& nanoseconds) {
    const size_t before = rest_.size();
    if (!number(1, 9, nanoseconds)) return false;
    for (size_t digits = before - rest_.size(); digits < 9; ++digits) nanoseconds *= 10;
    return true;
  }
  // Z, +hh:mm, +hhmm or +hh.
  bool offset(TimeParts& out) {
    if (take("Zz")) return true;
    out.offset_sign = rest_.starts_with('-') ? -1 : 1;
    if (!take("+-") || !number(2, 2, out.offset_hours)) return false;
    const bool goes_on = !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9';
    return take(":") || goes_on ? number(2, 2, out.offset_minutes) : true;
  }
  // The name of one of `names`, or its first `least` letters, whatever their case; `out` counts from 0.
  template <size_t n>
  bool name(const std::string_view (&names)[n], size_t least, int& out) {
    for (size_t i = 0; i < n; ++i) {
      for (const size_t length : {names[i].size(), least}) {
        if (!same_text(rest_.substr(0, length), names[i].substr(0, length))) continue;
        rest_.remove_prefix(length);
        out = static_cast<int>(i);
        return true;
      }
    }
    return false;
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t'; }

  std::string_view rest_;
};

bool read_iso(TimeText text, TimeFormat::Kind kind, TimeParts& out) {
  if (!text.number(4, 4, out.year)) return false;
  const bool dashes = text.take("-");
  if (!text.number(2, 2, out.month) || (dashes && !text.take("-")) || !text.number(2, 2, out.day)) return false;
  if (text.ended() || kind == TimeFormat::Kind::date) return text.ended();
  if (!text.take("Tt ") || !text.number(2, 2, out.hour) || !text.take(":") || !text.number(2, 2, out.minute)) {
    return false;
  }
  if (text.take(":")) {
    if (!text.number(2, 2, out.second) || (text.take(".,") && !text.fraction(out.nanoseconds))) return false;
  }
  if (text.ended()) return true;
  text.take(" ");
  return text.offset(out) && text.ended();
}

bool read_part(char letter, TimeText& text, TimeParts& out) {
  static constexpr std::string_view kHalves[] = {"AM", "PM"};
  switch (letter) {
    case 'Y': return text.number(4, 4, out.year);
    case 'y':
      if (!text.number(2, 2, out.year)) return false;
      out.year += out.year < 69 ? 2000 : 1900;
      return true;
    case 'm': return text.number(1, 2, out.month);
    case 'b':
    case 'B':
      if (!text.name(kMonthNames, 3, out.month)) return false;
      ++out.month;
      return true;
    case 'd': return text.number(1, 2, out.day);
    case 'j': return text.number(1, 3, out.yearday);
    case 'H':
    case 'I': return text.number(1, 2, out.hour);
    case 'M': return text.number(1, 2, out.minute);
    case 'S': return text.number(1, 2, out.second);
    case 'f': return text.fraction(out.nanoseconds);
    case 'p': return text.name(kHalves, 2, out.afternoon);
    case 'z': return text.offset(out);
    default: return text.take({&letter, 1});
  }
}

// Blanks stand for one or more; at the ends they do not count.
bool read_letters(TimeText text, std::string_view letters, TimeParts& out) {
  for (size_t i = 0; i < letters.size(); ++i) {
    const char c = letters[i];
    const bool good = c == '%'   ? read_part(letters[++i], text, out)
                      : c == ' ' ? text.blanks() || i == 0 || letters[i - 1] == ' ' || text.ended()
                                 : text.take(letters.substr(i, 1));
    if (!good) return false;
  }
  return text.ended();
}

bool read(std::string_view text, const TimeFormat& format, TimeParts& out) {
  return format.letters().empty() ? read_iso(TimeText(text), format.kind(), out)
                                  : read_letters(TimeText(text), format.letters(), out);
}

// The part that no calendar or no clock has; empty if there is none. A leap second is the last second of a day, UTC; it
// counts as the first of the next day.
std::string_view fault_in(const TimeParts& parts) {
  if (parts.year < 1) return "year";
  if (parts.month < 1 || parts.month > 12) return "month";
  const bool has_day = parts.yearday < 0 ? date_of(parts.year, parts.month, parts.day).ok()
                                         : parts.yearday > 0 && parts.yearday <= days_of_year(parts.year);
  if (!has_day) return "day";
  const bool half = parts.afternoon >= 0;
  if (parts.hour > (half ? 12 : 23) || (half && parts.hour < 1)) return "hour";
  if (parts.minute > 59) return "minute";
  if (parts.offset_hours > 23 || parts.offset_minutes > 59) return "offset from UTC";
  constexpr int kDay = 24 * 60;
  const bool leap = parts.second == 60 && (parts.time_of_day() + kDay) % kDay == kDay - 1;
  return parts.second > 59 && !leap ? "second" : "";
}

// Throws for letters that do not say which day it is.
void check_letters(TimeFormat::Kind kind, std::string_view letters) {
  constexpr std::string_view kKnown = "YymbBdjHIpMSfz%";
  std::string seen;
  for (size_t i = 0; i < letters.size(); ++i) {
    if (letters[i] != '%') continue;
    if (++i == letters.size()) throw ConfigError("the format ends with a single %", {}, "write %% for a percent sign");
    if (kKnown.find(letters[i]) == kKnown.npos) {
      throw ConfigError(cat("the format has ", quote(letters.substr(i - 1, 2)), ", which is not known"), {},
                        "known: %Y %y %m %b %B %d %j, %H %I %p %M %S %f %z, and %% for a percent sign");
    }
    if (letters[i] != '%') seen += letters[i];
  }
  const auto has = [&](std::string_view any) { return seen.find_first_of(any) != seen.npos; };
  for (const std::string_view alike : {"Yy", "mbBj", "dj", "HI", "p", "M", "S", "f", "z"}) {
    const size_t first = seen.find_first_of(alike);
    const size_t next = first == seen.npos ? first : seen.find_first_of(alike, first + 1);
    if (next == seen.npos) continue;
    throw ConfigError(cat("the format has %", seen[first], " and %", seen[next], ", which say the same"));
  }
  if (kind == TimeFormat::Kind::date && has("HIpMSfz")) {
    throw ConfigError("a date has no time of day, but the format has", {}, "set type: timestamp");
  }
  if (!has("Yy")) throw ConfigError("the format has no year", {}, "%Y is a year of four digits, %y of two");
  if (has("d") && !has("mbB")) throw ConfigError("the format has a day without its month, %m, %b or %B");
  if (has("I") != has("p")) throw ConfigError("%I, hours from 1 to 12, and %p, AM or PM, need each other");
}

std::string options_of(const TimeFormat& format) {
  const std::string type = cat("type: ", format.kind() == TimeFormat::Kind::date ? "date" : "timestamp");
  return format.letters().empty() ? type + " without a format" : cat(type, ", format: ", quote(format.letters()));
}

// The options that read a text.
std::string other_format_hint(std::string_view text) {
  Moment ignored;
  std::string out;
  const TimeFormat* first = nullptr;
  for (const TimeFormat& format : usual_time_formats()) {
    if (!format.parse(text, ignored)) continue;
    if (first == nullptr) {
      out = cat("set ", options_of(format));
      first = &format;
    } else if (first->day_first() && !format.day_first()) {
      return cat(out, ", or ", quote(format.letters()), " if the month comes first");
    }
  }
  return out;
}

std::string digits(int64_t value, size_t width) {
  const std::string text = cat(value);
  return std::string(width - std::min(width, text.size()), '0') + text;
}

std::string part_text(char letter, const Moment& moment) {
  const CalendarTime time(moment.seconds);
  const int hour = time.second / 3600;
  std::string month(kMonthNames[time.month - 1]);
  switch (letter) {
    case 'Y': return digits(time.year, 4);
    case 'y': return digits(time.year % 100, 2);
    case 'm': return digits(time.month, 2);
    case 'b': return month.substr(0, 3);
    case 'B': return month;
    case 'd': return digits(time.day, 2);
    case 'j': return digits(time.yearday, 3);
    case 'H': return digits(hour, 2);
    case 'I': return digits((hour + 11) % 12 + 1, 2);
    case 'p': return hour < 12 ? "AM" : "PM";
    case 'M': return digits(time.second / 60 % 60, 2);
    case 'S': return digits(time.second % 60, 2);
    case 'z': return "+0000";
    case 'f': {
      const std::string all = digits(moment.nanoseconds, 9);
      return all.substr(0, std::max<size_t>(all.find_last_not_of('0') + 1, 1));
    }
    default: return {letter};
  }
}

std::string written(std::string_view letters, const Moment& moment) {
  std::string out;
  for (size_t i = 0; i < letters.size(); ++i) {
    out += letters[i] == '%' ? part_text(letters[++i], moment) : std::string(1, letters[i]);
  }
  return out;
}

// The moment of the fewest digits that is so many seconds as a double.
Moment moment_of(double seconds) {
  const double whole = std::floor(seconds);
  Moment out{static_cast<int64_t>(whole), 0};
  for (int unit = kNanoseconds; unit > 0 && out.as<double>() != seconds; unit /= 10) {
    const int units = kNanoseconds / unit;
    out.nanoseconds = static_cast<int32_t>(std::lround((seconds - whole) * units)) * unit;
  }
  return out;
}

}  // namespace

TimeFormat::TimeFormat(Kind of, std::string format) : kind_(of), letters_(std::move(format)) {
  if (!letters_.empty()) check_letters(kind_, letters_);
}

std::string TimeFormat::name() const {
  const bool date = kind_ == Kind::date;
  if (!letters_.empty()) return cat(date ? "date" : "timestamp", " as ", quote(letters_));
  return date ? "date as YYYY-MM-DD" : "timestamp as YYYY-MM-DDTHH:MM:SS";
}

bool TimeFormat::parse(std::string_view text, Moment& out) const {
  TimeParts parts;
  if (!read(text, *this, parts) || !fault_in(parts).empty()) return false;
  out = parts.moment();
  return true;
}

std::string TimeFormat::hint(std::string_view text) const {
  if (std::string other = other_format_hint(text); !other.empty()) return other;
  TimeParts parts;
  if (read(text, *this, parts)) return cat("there is no such ", fault_in(parts));
  const bool has_digits = text.find_first_of("0123456789") != text.npos;
  return has_digits && is_number(text) ? "for seconds since 1970, set type: float64 or int64" : std::string();
}

std::string TimeFormat::write(double seconds) const {
  constexpr auto kFirst = static_cast<double>(days_since_1970(1) * kSecondsOfDay);
  constexpr auto kEnd = static_cast<double>(days_since_1970(10000) * kSecondsOfDay);
  if (!(seconds >= kFirst && seconds < kEnd)) return {};
  const Moment moment = moment_of(seconds);
  const std::string_view iso = kind_ == Kind::date ? kIsoDate : moment.nanoseconds == 0 ? kIsoTime : kIsoFraction;
  std::string out = written(letters_.empty() ? iso : letters_, moment);
  Moment back;
  return parse(out, back) && back.as<double>() == seconds ? out : std::string();
}

const std::vector<TimeFormat>& usual_time_formats() {
  using Kind = TimeFormat::Kind;
  static const std::vector<TimeFormat> kFormats = [] {
    std::vector<TimeFormat> out = {TimeFormat(Kind::date), TimeFormat(Kind::timestamp)};
    for (const std::string_view date :
         {"%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"}) {
      out.emplace_back(Kind::date, std::string(date));
      for (const char* time : {" %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p"}) {
        out.emplace_back(Kind::timestamp, cat(date, time));
      }
    }
    for (const char* date :
         {"%Y-%m", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%d-%b-%y", "%d/%m/%y", "%m/%d/%y", "%d.%m.%y"}) {
      out.emplace_back(Kind::date, date);
    }
    return out;
  }();
  return kFormats;
}

}  // namespace millrace
