// TimeFormat: how texts write dates and times, as ISO 8601 does or in the letters of strftime; and Moment, what they
// say.
//
//   const TimeFormat format(TimeFormat::Kind::timestamp, "%d/%m/%Y %H:%M");
//   Moment moment;
//   if (format.parse("31/12/2024 18:30", moment)) use(moment.as<double>());
//
// A time without an offset is UTC. The names of months are English, whatever the locale. Constant after construction:
// any thread may use it. parse() allocates nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace millrace {

// Seconds since 1970-01-01T00:00:00 UTC, and nanoseconds, fewer than 10^9, after them.
struct Moment {
  int64_t seconds = 0;
  int32_t nanoseconds = 0;

  // An integer has no fraction of a second. In a double the fraction and the sum are rounded once each.
  template <class T>
  T as() const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(seconds);
    } else {
      return static_cast<T>(static_cast<double>(seconds) + nanoseconds / 1e9);
    }
  }
};

class TimeFormat {
 public:
  enum class Kind : uint8_t {
    date,       // its value is the start of the day
    timestamp,  // a date and a time of day
  };

  // `format` is in letters; without any: ISO 8601. Throws ConfigError, without a place, for a letter that is not known
  // and for letters that do not say which day it is, or say something twice.
  explicit TimeFormat(Kind of, std::string format = {});

  Kind kind() const { return kind_; }
  const std::string& letters() const { return letters_; }
  // Whether the number of the day comes before the number of the month.
  bool day_first() const { return letters_.find("%d") < letters_.find("%m"); }
  // For messages: `date as "%d/%m/%Y"`, "timestamp as YYYY-MM-DDTHH:MM:SS".
  std::string name() const;

  // False if the text is no such date or time. Blanks around it do not count.
  [[nodiscard]] bool parse(std::string_view text, Moment& out) const;
  // How to mend a text that parse() refuses, or the options; empty if nothing is likely to help.
  std::string hint(std::string_view text) const;
  // The text that parse() reads as so many seconds; empty if there is none.
  std::string write(double seconds) const;

 private:
  Kind kind_;
  std::string letters_;
};

// ISO 8601 first, then the usual orders of year, month and day with the usual times of day, then dates with names of
// months or years of two digits. A day that comes before its month has its counterpart, the month first, after it.
const std::vector<TimeFormat>& usual_time_formats();

}  // namespace millrace
