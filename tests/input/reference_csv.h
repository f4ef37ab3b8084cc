// The CSV rules written down once more, byte by byte over the whole file, in the plainest way: what the decoder is
// compared with. Knows float32 fields of single columns.
#pragma once

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "millrace/core/text.h"

namespace millrace::testing_support {

struct ReferenceCsv {
  std::string text;
  char delimiter = ',';
  char quote = '"';  // 0: none
  char comment = 0;  // 0: none
  bool skip_blank = true;
  bool header = false;
  int skip_lines = 0;
  bool skip_bad = false;
  std::vector<size_t> columns;  // of the field x
  bool has_default = false;     // which is 7

  // One line each: "t.csv:1 x=1,2", "bad t.csv:3:5", "error t.csv:4:1 kind".
  std::vector<std::string> run() {
    for (int i = 0; i < skip_lines && at_ < text.size(); ++i) pass_line();
    while (next_record()) {
      if (blank_) {
        if (!fault("blank", 1, true)) break;
      } else if (!problem_.empty()) {
        if (!fault(problem_, problem_column_, certain_, problem_line_)) break;
      } else if (header && expected_ == 0) {
        expected_ = fields_.size();
      } else {
        if (expected_ == 0) expected_ = fields_.size();
        if (fields_.size() != expected_) {
          if (!fault("fields", 1, true)) break;
        } else if (!convert()) {
          break;
        }
      }
    }
    return out_;
  }

 private:
  struct Field {
    std::string text;
    size_t line_column = 1;  // byte column in its line
  };

  void pass_line() {
    while (at_ < text.size() && text[at_] != '\n') ++at_;
    if (at_ < text.size()) ++at_;
    ++line_;
  }

  // Whether a line ends at `at`, and how many bytes long that end is.
  size_t line_end(size_t at) const {
    if (at >= text.size()) return 0;
    if (text[at] == '\n') return 1;
    return text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n' ? 2 : 0;
  }
  bool ends_field(size_t at) const { return at >= text.size() || text[at] == delimiter || line_end(at) > 0; }

  bool next_record() {
    for (;;) {
      if (at_ >= text.size()) return false;
      blank_ = line_end(at_) > 0;
      const bool is_comment = comment != 0 && text[at_] == comment;
      if (!is_comment && !(blank_ && skip_blank)) break;
      pass_line();
    }
    start_line_ = line_;
    if (blank_) {
      pass_line();
    } else {
      cut();
    }
    return true;
  }

  void cut() {
    fields_.clear();
    problem_.clear();
    size_t line_start = at_;
    const size_t record_start = at_;
    for (;;) {
      Field field;
      const size_t start = at_;
      field.line_column = start - line_start + 1;
      if (quote != 0 && at_ < text.size() && text[at_] == quote) {
        const int quote_line = line_;
        ++at_;
        for (;;) {
          if (at_ >= text.size()) return found("unterminated", field.line_column, false, quote_line);
          if (text[at_] == quote && at_ + 1 < text.size() && text[at_ + 1] == quote) {
            field.text += quote;
            at_ += 2;
          } else if (text[at_] == quote) {
            ++at_;
            break;
          } else {
            if (text[at_] == '\n') {
              ++line_;
              line_start = at_ + 1;
            }
            field.text += text[at_++];
          }
        }
        if (!ends_field(at_)) return misplaced("text after", record_start, field.line_column);
      } else {
        for (; !ends_field(at_); ++at_) {
          if (quote != 0 && text[at_] == quote) return misplaced("quote inside", record_start, field.line_column);
          field.text += text[at_];
        }
      }
      fields_.push_back(field);
      if (at_ < text.size() && text[at_] == delimiter) {
        ++at_;
        continue;
      }
      at_ += line_end(at_);
      ++line_;
      return;
    }
  }

  void found(const std::string& what, size_t column, bool certain, int line) {
    problem_ = what;
    problem_column_ = column;
    certain_ = certain;
    problem_line_ = line;
  }

  // A misplaced quote: the record may be left out when its line ends outside quotes.
  void misplaced(const std::string& what, size_t record_start, size_t column) {
    found(what, column, false, start_line_);
    const bool one_line = text.substr(record_start, at_ - record_start).find('\n') == std::string::npos;
    const size_t end = std::min(text.find('\n', at_), text.size());
    // Behind a delimiter a quote opens a field; what follows its end, up to the next delimiter, is passed.
    bool in_quotes = false, at_start = false;
    for (size_t i = at_; i < end; ++i) {
      const char c = text[i];
      if (in_quotes && c == quote && i + 1 < end && text[i + 1] == quote) {
        ++i;
      } else if (in_quotes) {
        in_quotes = c != quote;
      } else {
        in_quotes = at_start && c == quote;
        at_start = c == delimiter;
      }
    }
    certain_ = one_line && !in_quotes;
    if (!certain_) return;
    at_ = std::min(end + 1, text.size());
    ++line_;
  }

  bool convert() {
    std::string row;
    size_t worst = expected_;
    for (const size_t column : columns) {
      if (column >= expected_) return false;  // no graph is made for such columns
      float value = 0;
      const bool good = parse(fields_[column].text, value);
      if (!good) worst = std::min(worst, column);
      row += cat(row.empty() ? "" : ",", value);
    }
    if (worst < expected_) {
      return fault(fields_[worst].text.empty() ? "required" : "value", fields_[worst].line_column, true);
    }
    out_.push_back(cat("t.csv:", start_line_, " x=", row));
    return true;
  }

  bool parse(std::string field, float& value) const {
    if (field.empty()) {
      value = 7;
      return has_default;
    }
    const auto blank = [](char c) { return c == ' ' || c == '\t'; };
    while (!field.empty() && blank(field.front())) field.erase(0, 1);
    while (!field.empty() && blank(field.back())) field.pop_back();
    if (field.empty() || field.find_first_of("xXpP(\r\n\v\f \t") != std::string::npos) return false;
    if (field.find('\0') != std::string::npos) return false;
    char* end = nullptr;
    value = std::strtof(field.c_str(), &end);
    return *end == '\0';
  }

  // False: the run ends here.
  bool fault(const std::string& what, size_t column, bool certain, int line = 0) {
    const bool left_out = skip_bad && certain;
    out_.push_back(cat(left_out ? "bad" : "error", " t.csv:", line == 0 ? start_line_ : line, ':', column, ' ', what));
    return left_out;
  }

  size_t at_ = 0;
  int line_ = 1, start_line_ = 1;
  size_t expected_ = 0;
  bool blank_ = false;
  std::vector<Field> fields_;
  std::string problem_;
  size_t problem_column_ = 1;
  int problem_line_ = 1;
  bool certain_ = false;
  std::vector<std::string> out_;
};

}  // namespace millrace::testing_support
