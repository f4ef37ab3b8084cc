// TimeFacts: in which of the usual forms the texts of a column are dates or times, and what they say. A form may leave
// a few odd texts, such as a day that no calendar has. In bounded memory; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/registry.h"
#include "millrace/input/csv/time_format.h"

namespace millrace {

class TimeFacts {
 public:
  struct Form {
    const TimeFormat* format = nullptr;
    FoundField::Times times = {};
    int64_t first = 0;             // the seconds of the first text that it reads
    double sum = 0;                // of all differences from it
    uint64_t count = 0;            // of the texts that it reads
    std::vector<std::string> odd;  // the other texts, each once, as they were written
  };

  static constexpr size_t kMostOdd = 3, kLongestOdd = 64;

  // Whether it is a date or a time of a form that is still possible.
  bool add(std::string_view text);

  uint64_t count() const { return count_; }
  // The form that reads most of the texts. Null if it leaves more than kMostOdd different ones, one of more than
  // kLongestOdd bytes, or one for fewer than twenty others; or if an odd text says that the day or the month comes
  // first, and the others do not say otherwise.
  const Form* form() const;
  // Whether another form reads as many, and takes the day for the month. REQUIRES: form().
  bool ambiguous() const;
  // The mean of what the form reads, written as the texts are. REQUIRES: form().
  std::string mean_text() const;

 private:
  static void add(int64_t seconds, Form& to);
  // Makes the forms, if this is the first text that one of them reads: most columns of texts need none.
  bool begins(std::string_view text);

  uint64_t count_ = 0;
  bool over_ = false;             // no form is possible
  std::vector<std::string> odd_;  // before there are forms
  std::vector<Form> forms_;       // in the order of usual_time_formats()
};

}  // namespace millrace
