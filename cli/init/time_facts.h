// TimeFacts: in which of the usual forms the texts of a column are dates or times, and what they say. In bounded
// memory; one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/registry.h"
#include "millrace/input/csv/time_format.h"

namespace millrace {

class TimeFacts {
 public:
  // A form that reads all texts so far.
  struct Form {
    const TimeFormat* format = nullptr;
    FoundField::Times times = {};
    int64_t first = 0;  // the seconds of the first text
    double sum = 0;     // of all differences from it
  };

  void add(std::string_view text);

  uint64_t count() const { return count_; }
  // Null if no form reads all texts.
  const Form* form() const { return forms_.empty() ? nullptr : &forms_.front(); }
  // Whether another form reads all texts, too, and takes the day for the month.
  bool ambiguous() const;
  // The mean of all texts, written as they are. REQUIRES: form().
  std::string mean_text() const;

 private:
  static void add(int64_t seconds, bool is_first, Form& to);

  uint64_t count_ = 0;
  std::vector<Form> forms_;
};

}  // namespace millrace
