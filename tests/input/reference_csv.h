// The CSV rules of docs/input_graph.md written down once more, byte by byte over whole files, in the plainest way: what
// csv_reader and decode_csv are compared with. Everything is read to its end before anything is judged; only what
// records of more than 2^24 bytes do is not in here.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/op.h"

namespace millrace::testing_support {

struct ReferenceFile {
  std::string path, bytes;
};

struct ReferenceField {
  // `first` to `last`, both included; or, where there is one, a name of the header.
  struct Item {
    size_t first = 0, last = 0;
    std::string name = {};
  };
  std::string name = "x";
  std::vector<Item> items;
  std::string type = "float32";
  std::string split = {};                                       // empty: not ragged
  std::optional<std::vector<std::string>> default_values = {};  // one for all columns or one each; the list if ragged
};

class ReferenceCsv {
 public:
  std::vector<ReferenceFile> files;  // as matched and read
  char delimiter = ',';
  char quote_byte = '"';  // 0: none
  char comment = 0;       // 0: none
  bool header = false;
  bool skip_blank = true;
  int skip_lines = 0;
  int readers = 1, epochs = 1;
  std::vector<ReferenceField> fields;
  std::vector<std::string> missing;
  bool allow_nonfinite = true;
  bool skip_bad = false;
  std::optional<uint64_t> max_bad_rows;

  std::vector<BadRow> bad_rows;  // that run() met

  // One line each: "a.csv:1 x=1,2", "bad a.csv:3:5 why", and last "error a.csv:4:1: why". A graph that is not built has
  // one line: "build config", or "build data a.csv:1:1: why".
  std::vector<std::string> run() {
    for (const ReferenceFile& file : files) cut_files_.push_back(Cutter(*this, file).cut());
    if (!learn() || !select()) return lines_;
    for (int epoch = 0; epoch < epochs && run_pass(); ++epoch) {
    }
    return lines_;
  }

 private:
  struct Text {
    std::string text;
    int64_t line = 1, column = 1;  // where it starts
  };

  struct Record {
    int64_t line = 1;
    bool blank = false;
    std::vector<Text> fields;
    // What is wrong with its quotes; empty: nothing.
    std::string fault = {};
    int64_t fault_line = 1, fault_column = 1;
    bool certain_end = true;
  };

  struct CutFile {
    std::optional<Record> header;
    std::vector<Record> records;  // up to the first whose end is not certain
  };

  // Whether a value could be had: its text as a row shows it, or what is wrong with it.
  struct Value {
    std::string shown, fault;
  };

  class Cutter {
   public:
    Cutter(const ReferenceCsv& rules, const ReferenceFile& file) : rules_(rules), text_(file.bytes) {}

    CutFile cut() {
      CutFile out;
      if (text_.starts_with("\xef\xbb\xbf")) text_.erase(0, 3);
      for (int i = 0; i < rules_.skip_lines && at_ < text_.size(); ++i) pass_line();
      while (start_record()) {
        const bool is_header = rules_.header && !out.header;
        const bool last = !record_.certain_end || (is_header && !record_.fault.empty());
        if (is_header) {
          out.header = std::move(record_);
        } else {
          out.records.push_back(std::move(record_));
        }
        if (last) break;
      }
      return out;
    }

   private:
    void pass_line() {
      at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1;
      line_start_ = at_;
      ++line_;
    }

    // How many bytes the line end at `at` has; 0: none is there.
    size_t line_end(size_t at) const {
      if (text_.compare(at, 1, "\n") == 0) return 1;
      return text_.compare(at, 2, "\r\n") == 0 ? 2 : 0;
    }
    bool is_quote(size_t at) const {
      return rules_.quote_byte != 0 && at < text_.size() && text_[at] == rules_.quote_byte;
    }
    bool ends_field(size_t at) const { return at >= text_.size() || text_[at] == rules_.delimiter || line_end(at) > 0; }

    // Cuts the next record; false when there is none.
    bool start_record() {
      for (;; pass_line()) {
        if (at_ >= text_.size()) return false;
        const bool is_comment = rules_.comment != 0 && text_[at_] == rules_.comment;
        if (!is_comment && (line_end(at_) == 0 || !rules_.skip_blank)) break;
      }
      record_ = Record();
      record_.line = line_;
      if (line_end(at_) > 0) {
        record_.blank = true;
        record_.fault = "a blank line";
        record_.fault_line = line_;
        pass_line();
        return true;
      }
      while (cut_field()) {
      }
      return true;
    }

    // False when it was the record's last.
    bool cut_field() {
      Text field;
      field.line = line_;
      field.column = static_cast<int64_t>(at_ - line_start_) + 1;
      const std::string below =
          line_ == record_.line ? "" : cat(", on line ", line_ - record_.line + 1, " of the record");
      if (is_quote(at_)) {
        for (++at_; !is_quote(at_) || is_quote(at_ + 1); ++at_) {
          if (at_ >= text_.size()) {
            return fail("unterminated quote: the field that starts here has no closing quote", field, field.line,
                        false);
          }
          if (is_quote(at_)) ++at_;
          field.text += text_[at_];
          if (text_[at_] != '\n') continue;
          ++line_;
          line_start_ = at_ + 1;
        }
        ++at_;
        if (!ends_field(at_)) {
          return fail(cat("text after a closing quote", below, ": expected ", quote({&rules_.delimiter, 1}),
                          " or the end of the line, got ", quote({&text_[at_], 1})),
                      field, record_.line, line_ == record_.line && line_ends_outside_quotes());
        }
      }
      for (; !ends_field(at_); ++at_) {
        if (is_quote(at_)) {
          return fail(cat("a quote inside an unquoted field", below), field, record_.line,
                      line_ == record_.line && line_ends_outside_quotes());
        }
        field.text += text_[at_];
      }
      record_.fields.push_back(field);
      if (at_ >= text_.size() || line_end(at_) > 0) {
        if (at_ < text_.size()) pass_line();
        return false;
      }
      ++at_;
      return true;
    }

    bool fail(std::string what, const Text& field, int64_t line, bool certain_end) {
      record_.fault = std::move(what);
      record_.fault_line = line;
      record_.fault_column = field.column;
      record_.certain_end = certain_end;
      if (certain_end) pass_line();
      return false;
    }

    // Of the line's rest, which begins in the middle of a field. Behind a delimiter a quote opens a field; what follows
    // its closing one is passed, up to the next delimiter.
    bool line_ends_outside_quotes() const {
      size_t at = at_;
      while (at < text_.size() && text_[at] != '\n') {
        if (text_[at++] != rules_.delimiter || !is_quote(at)) continue;
        for (++at; !is_quote(at) || is_quote(at + 1); ++at) {
          if (at >= text_.size() || text_[at] == '\n') return false;
          if (is_quote(at)) ++at;
        }
        ++at;
      }
      return true;
    }

    const ReferenceCsv& rules_;
    std::string text_;
    size_t at_ = 0, line_start_ = 0;
    int64_t line_ = 1;
    Record record_;
  };

  // How many columns there are, and their names. False for a header that is none.
  bool learn() {
    for (size_t file = 0; file < files.size() && columns_ == 0; ++file) {
      if (const std::optional<Record>& names = cut_files_[file].header) {
        if (!names->fault.empty()) {
          lines_.push_back(cat("build data ", Place{files[file].path, names->fault_line, names->fault_column}.text(),
                               ": in the header: ", names->fault));
          return false;
        }
        for (const Text& name : names->fields) names_.push_back(name.text);
        columns_ = names_.size();
        names_file_ = files[file].path;
      }
      for (const Record& record : cut_files_[file].records) {
        if (columns_ == 0 && !record.blank && record.fault.empty()) columns_ = record.fields.size();
      }
    }
    return true;
  }

  // Which columns the fields have. False where there is none such.
  bool select() {
    for (const ReferenceField& field : fields) {
      std::vector<size_t>& selected = selected_.emplace_back();
      const char split = field.split.empty() ? '\0' : field.split.front();
      if (split != '\0' && split == (quote_byte == '\0' ? delimiter : quote_byte)) {
        lines_.emplace_back("build config");
        return false;
      }
      for (const ReferenceField::Item& item : field.items) {
        const auto named = static_cast<size_t>(std::count(names_.begin(), names_.end(), item.name));
        const auto at = static_cast<size_t>(std::find(names_.begin(), names_.end(), item.name) - names_.begin());
        const size_t first = item.name.empty() ? item.first : at;
        const size_t last = item.name.empty() ? item.last : at;
        if (columns_ > 0 && (last >= columns_ || (!item.name.empty() && named != 1))) {
          lines_.emplace_back("build config");
          return false;
        }
        for (size_t column = first; column <= last; ++column) selected.push_back(column);
      }
    }
    return true;
  }

  // The records of all files, in turns. False behind an error.
  bool run_pass() {
    struct Turn {
      size_t file, next;  // record
    };
    std::vector<std::optional<Turn>> places(static_cast<size_t>(readers));
    size_t next_file = 0;
    for (;;) {
      bool any = false;
      for (std::optional<Turn>& place : places) {
        while ((!place || place->next == turns_of(place->file)) && next_file < files.size()) {
          place = Turn{next_file++, 0};
        }
        if (!place || place->next == turns_of(place->file)) continue;
        any = true;
        if (!give(place->file, place->next++)) return false;
      }
      if (!any) return true;
    }
  }

  // A header that is not the first one's is all that comes of its file.
  bool has_wrong_header(const CutFile& file) const {
    if (!file.header) return false;
    return !file.header->fault.empty() || texts_of(file.header->fields) != names_;
  }
  size_t turns_of(size_t file) const {
    return has_wrong_header(cut_files_[file]) ? 1 : cut_files_[file].records.size();
  }

  bool give(size_t file, size_t index) {
    const std::string& path = files[file].path;
    if (has_wrong_header(cut_files_[file])) {
      const Record& names = *cut_files_[file].header;
      if (!names.fault.empty()) {
        return fail({path, names.fault_line, names.fault_column}, cat("in the header: ", names.fault));
      }
      return fail({path, names.line, 1},
                  cat("the header differs from the header of ", names_file_, ": expected ", quote(joined(names_), 200),
                      ", got ", quote(joined(texts_of(names.fields)), 200)));
    }
    const Record& record = cut_files_[file].records[index];
    BadRow bad;
    if (!record.fault.empty()) {
      bad.place = {path, record.fault_line, record.fault_column};
      bad.reason = record.fault;
    } else if (record.fields.size() != columns_) {
      bad.place = {path, record.line, 1};
      bad.reason = cat("expected ", count_of(static_cast<int64_t>(columns_), "field"), ", got ", record.fields.size());
    } else if (!find_bad_value(path, record, bad)) {
      lines_.push_back(cat(path, ':', record.line, ' ', row_of(record)));
      return true;
    }
    if (!skip_bad || !record.certain_end) return fail(bad.place, bad.reason);
    lines_.push_back(cat("bad ", bad.place.text(), ' ', bad.reason));
    bad_rows.push_back(bad);
    if (!max_bad_rows || bad_rows.size() <= *max_bad_rows) return true;
    return fail(bad.place,
                cat(bad.reason, " (bad row ", bad_rows.size(), " of the run; max_bad_rows is ", *max_bad_rows, ')'));
  }

  bool fail(const Place& place, const std::string& what) {
    lines_.push_back(cat("error ", place.text(), ": ", what));
    return false;
  }

  // The leftmost; where a column serves several fields, that of the first.
  bool find_bad_value(const std::string& path, const Record& record, BadRow& bad) const {
    for (size_t column = 0; column < columns_; ++column) {
      for (size_t field = 0; field < fields.size(); ++field) {
        for (size_t element = 0; element < selected_[field].size(); ++element) {
          if (selected_[field][element] != column) continue;
          const Text& text = record.fields[column];
          const Value value = value_of(fields[field], element, text.text);
          if (value.fault.empty()) continue;
          bad.place = {path, record.line, text.column};
          bad.field = fields[field].name;
          bad.text = text.text;
          bad.reason =
              cat("column ", column, names_.empty() ? "" : cat(' ', quote(names_[column])), " (", bad.field, ')',
                  text.line == record.line ? "" : cat(", on line ", text.line - record.line + 1, " of the record"),
                  value.fault);
          return true;
        }
      }
    }
    return false;
  }

  std::string row_of(const Record& record) const {
    std::string out;
    for (size_t field = 0; field < fields.size(); ++field) {
      out += cat(field == 0 ? "" : " ", fields[field].name, '=');
      for (size_t element = 0; element < selected_[field].size(); ++element) {
        const std::string& text = record.fields[selected_[field][element]].text;
        out += cat(element == 0 ? "" : ",", value_of(fields[field], element, text).shown);
      }
    }
    return out;
  }

  // `fault` begins as a message goes on behind its column: ": expected ..", ", value 2: expected ..".
  Value value_of(const ReferenceField& field, size_t element, const std::string& text) const {
    const bool is_missing = text.empty() || std::find(missing.begin(), missing.end(), text) != missing.end();
    if (is_missing && !field.default_values) return {"", cat(": the value is required, got ", quote(text))};
    if (is_missing && field.split.empty()) {
      const std::vector<std::string>& values = *field.default_values;
      return {single(field.type, values[values.size() == 1 ? 0 : element]).shown, ""};
    }
    if (field.split.empty()) {
      Value value = single(field.type, text);
      if (!value.fault.empty()) value.fault = ": " + value.fault;
      return value;
    }
    const std::vector<std::string> parts = is_missing ? *field.default_values : split(text, field.split.front());
    Value out;
    for (size_t i = 0; i < parts.size(); ++i) {
      const Value part = single(field.type, parts[i]);
      if (!is_missing && !part.fault.empty()) return {"", cat(", value ", i, ": ", part.fault)};
      out.shown += cat(i == 0 ? "" : ",", part.shown);
    }
    return out;
  }

  static std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
      if (c == separator) {
        parts.emplace_back();
      } else {
        parts.back() += c;
      }
    }
    if (is_blank(separator)) std::erase(parts, std::string());
    return parts;
  }

  Value single(const std::string& type, const std::string& text) const {
    if (type == "string") return {quote(text, SIZE_MAX), ""};
    size_t first = 0, last = text.size();
    while (first < last && is_blank(text[first])) ++first;
    while (first < last && is_blank(text[last - 1])) --last;
    const std::string number = text.substr(first, last - first);
    if (type == "float32" || type == "float64") {
      if (!is_float(number)) return {"", cat("expected ", type, ", got ", quote(text))};
      const bool is_single = type == "float32";
      const double value = is_single ? std::strtof(number.c_str(), nullptr) : std::strtod(number.c_str(), nullptr);
      if (!allow_nonfinite && !std::isfinite(value)) return {"", cat(quote(text), " is not finite as ", type)};
      return {is_single ? cat(static_cast<float>(value)) : cat(value), ""};
    }
    const std::string digits = number.substr(number.starts_with('+') || number.starts_with('-') ? 1 : 0);
    if (digits.empty() || count_digits(digits) < digits.size()) {
      return {"", cat("expected ", type, ", got ", quote(text))};
    }
    errno = 0;
    const long long value = std::strtoll(number.c_str(), nullptr, 10);
    const bool fits = errno == 0 && (type == "int64" || (value >= INT32_MIN && value <= INT32_MAX));
    if (!fits) return {"", cat(quote(text), " is out of the range of ", type)};
    return {cat(value), ""};
  }

  // An optional sign; inf, infinity or nan, or digits with at most one point and perhaps an exponent.
  static bool is_float(std::string text) {
    if (text.starts_with('+') || text.starts_with('-')) text.erase(0, 1);
    std::string word = text;
    for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (word == "inf" || word == "infinity" || word == "nan") return true;
    size_t digits = count_digits(text);
    text.erase(0, digits);
    if (text.starts_with('.')) {
      text.erase(0, 1);
      const size_t fraction = count_digits(text);
      text.erase(0, fraction);
      digits += fraction;
    }
    if (digits == 0) return false;
    if (!text.starts_with('e') && !text.starts_with('E')) return text.empty();
    text.erase(0, text.substr(1).starts_with('+') || text.substr(1).starts_with('-') ? 2 : 1);
    return !text.empty() && count_digits(text) == text.size();
  }

  static size_t count_digits(const std::string& text) {
    return std::min(text.find_first_not_of("0123456789"), text.size());
  }
  static bool is_blank(char c) { return c == ' ' || c == '\t'; }
  static std::vector<std::string> texts_of(const std::vector<Text>& fields) {
    std::vector<std::string> out;
    for (const Text& field : fields) out.push_back(field.text);
    return out;
  }
  static std::string joined(const std::vector<std::string>& names) {
    std::string out;
    for (size_t i = 0; i < names.size(); ++i) out += (i == 0 ? "" : ",") + names[i];
    return out;
  }

  std::vector<CutFile> cut_files_;
  size_t columns_ = 0;  // 0: there is no record
  std::vector<std::string> names_;
  std::string names_file_;
  std::vector<std::vector<size_t>> selected_;  // for each of `fields`
  std::vector<std::string> lines_;
};

}  // namespace millrace::testing_support
