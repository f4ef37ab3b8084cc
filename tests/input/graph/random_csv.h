// RandomCsv: small CSV files with everything that makes CSV hard, and what their records hold.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "tests/input/graph/reference_rows.h"

namespace millrace::testing_support {

// Draws numbers below n, one after another.
class Draws {
 public:
  Draws(uint64_t seed, std::string_view name) : seed_(seed), stream_(reference::fnv1a64(name)) {}
  uint64_t below(uint64_t n) { return reference::scale_to(reference::philox64(seed_, stream_, index_++), n); }
  // From `least` to `most`.
  uint64_t between(uint64_t least, uint64_t most) { return least + below(most - least + 1); }
  bool one_in(uint64_t n) { return below(n) == 0; }
  template <class T>
  T pick(std::initializer_list<T> from) {
    return *(from.begin() + below(from.size()));
  }

 private:
  uint64_t seed_, stream_, index_ = 0;
};

// What is wrong with a file, for ever: it ends the run.
enum class FatalFault { none, record, unterminated, header };

// Rows have the fields k: int32, y: float32, x: float32 (2), w: float64 and n: int64, and there is a column of text.
class RandomCsv {
 public:
  explicit RandomCsv(Draws& draws) : draws_(draws) {
    for (size_t i = kColumns.size(); i-- > 1;) std::swap(order_[i], order_[draws_.below(i + 1)]);
    header_ = draws_.one_in(2);
    delimiter_ = draws_.pick({',', ',', ';', '\t'});
    comments_ = draws_.one_in(3);
    missing_word_ = draws_.one_in(3);
    skip_lines_ = draws_.one_in(4) ? draws_.between(1, 2) : 0;
    skip_bad_ = draws_.one_in(2);
  }

  bool skips_bad_rows() const { return skip_bad_; }
  FatalFault any_fatal_fault(bool first) {
    std::vector<FatalFault> faults = {FatalFault::unterminated};
    if (!skip_bad_) faults.push_back(FatalFault::record);
    if (header_ && !first) faults.push_back(FatalFault::header);
    return faults[draws_.below(faults.size())];
  }

  // The options of csv_reader and decode_csv, as YAML.
  std::string reader_options() const {
    std::string out;
    if (header_) out += "header: true, ";
    if (delimiter_ != ',') out += cat("delimiter: \"", delimiter_ == '\t' ? "\\t" : ";", "\", ");
    if (comments_) out += "comment: \"#\", ";
    if (skip_lines_ > 0) out += cat("skip_lines: ", skip_lines_, ", ");
    return out;
  }
  std::string decode_options() const {
    std::string out = cat("fields: {k: {columns: ", column("k"), ", type: int32}, y: {columns: ", column("y"),
                          ", default: ", kDefault, "}, x: {columns: [", column("x1"), ", ", column("x2"),
                          "]}, w: {columns: ", column("w"), ", type: float64, default: ", kDefault,
                          "}, n: {columns: ", column("n"), ", type: int64}}, ");
    if (missing_word_) out += "missing: NA, ";
    if (skip_bad_) out += "on_bad_row: skip, ";
    return out;
  }

  // `first`: its first record tells how many columns there are.
  reference::DataFile write(const std::string& path, bool first, FatalFault fatal, std::string& text) {
    file_ = {path, {}};
    text_.clear();
    line_ = 1;
    write_records(first, fatal);
    text = text_;
    return std::move(file_);
  }

 private:
  struct Column {
    const char *name, *field;
  };
  static constexpr std::array<Column, 7> kColumns = {
      {{"k", "k"}, {"y", "y"}, {"x1", "x"}, {"x2", "x"}, {"w", "w"}, {"n", "n"}, {"note", ""}}};
  static constexpr const char* kDefault = "7.5";

  enum class Fault { none, too_few, too_many, no_number, required, quote_inside, text_after };

  void write_records(bool first, FatalFault fatal) {
    if (!first && fatal == FatalFault::none && draws_.one_in(6)) return;  // an empty file
    if (draws_.one_in(8)) text_ += "\xef\xbb\xbf";
    for (uint64_t i = 0; i < skip_lines_; ++i) add("\"skipped\" \"line" + line_end());
    if (header_) write_header(fatal == FatalFault::header);
    if (header_ && !first && fatal == FatalFault::none && draws_.one_in(8)) return;
    // The number of fields is learnt from the first record, which is always good.
    const uint64_t records = draws_.between(2, 12);
    const uint64_t bad = fatal == FatalFault::record ? draws_.between(1, records - 1) : records;
    for (uint64_t i = 0; i < records; ++i) {
      add_gap();
      const bool may_be_bad = skip_bad_ && i > 0 && draws_.one_in(6);
      write_record(i == bad || may_be_bad ? any_fault() : Fault::none);
      if (i == bad) file_.records.back().kind = reference::Record::Kind::fatal;
    }
    if (fatal == FatalFault::unterminated) return write_unterminated();
    if (draws_.one_in(3)) {
      while (text_.ends_with('\n') || text_.ends_with('\r')) text_.pop_back();
    }
  }

  Fault any_fault() {
    return draws_.pick(
        {Fault::too_few, Fault::too_many, Fault::no_number, Fault::required, Fault::quote_inside, Fault::text_after});
  }

  void add(std::string_view text) {
    text_ += text;
    line_ += std::count(text.begin(), text.end(), '\n');
  }
  std::string line_end() { return draws_.one_in(3) ? "\r\n" : "\n"; }

  // What stands between two records.
  void add_gap() {
    while (draws_.one_in(6)) add(line_end());
    if (comments_ && draws_.one_in(4)) add("# a \"comment, 1" + line_end());
  }

  void write_header(bool differs) {
    add_gap();
    const int64_t line = line_;
    std::string names;
    for (const size_t column : order_) {
      if (!names.empty()) names += delimiter_;
      names += draws_.one_in(4) ? cat('"', kColumns[column].name, '"') : kColumns[column].name;
    }
    if (differs) names += cat(delimiter_, "more");
    add(names + line_end());
    if (differs) add_fatal(line, 1);
  }

  void add_fatal(int64_t line, size_t column) {
    file_.records.push_back({reference::Record::Kind::fatal, line, {}, cat(file_.path, ':', line, ':', column)});
  }

  void write_record(Fault fault) {
    using Kind = reference::Record::Kind;
    reference::Record record{fault == Fault::none ? Kind::row : Kind::bad, line_, {}, {}};
    record.fields = {{"k", std::vector<int32_t>(1)},
                     {"y", std::vector<float>(1)},
                     {"x", std::vector<float>(2)},
                     {"w", std::vector<double>(1)},
                     {"n", std::vector<int64_t>(1)}};
    const bool of_field = fault == Fault::no_number || fault == Fault::required;
    // Of a misplaced quote the record's end is certain only where nothing before it holds a line end.
    const bool one_line = fault == Fault::quote_inside || fault == Fault::text_after;
    const size_t at_fault = of_field ? index_of(draws_.pick({"k", "x1", "x2", "n"})) : draws_.below(kColumns.size());
    const size_t fields = kColumns.size() - (fault == Fault::too_few ? draws_.between(1, 3) : 0);
    size_t line_start = text_.size();
    for (size_t i = 0; i < fields; ++i) {
      if (i > 0) text_ += delimiter_;
      if (const size_t end = text_.rfind('\n'); end != text_.npos) line_start = std::max(line_start, end + 1);
      if (i == at_fault && (of_field || one_line)) {
        record.fault = cat(file_.path, ':', record.line, ':', text_.size() - line_start + 1);
        add(faulty_text(fault));
      } else {
        add(cell(kColumns[order_[i]], one_line, record.fields));
      }
    }
    if (fault == Fault::too_many) text_ += delimiter_;
    if (record.fault.empty()) record.fault = cat(file_.path, ':', record.line, ":1");
    add(line_end());
    file_.records.push_back(std::move(record));
  }

  size_t index_of(std::string_view name) const {
    for (size_t i = 0;; ++i) {
      if (kColumns[order_[i]].name == name) return i;
    }
  }
  std::string column(std::string_view name) const { return header_ ? std::string(name) : cat(index_of(name)); }

  std::string faulty_text(Fault fault) {
    switch (fault) {
      case Fault::no_number: return draws_.pick<std::string>({"abc", " ", "1.5.2", "0x10", "\"1 2\"", "--1"});
      case Fault::required: return draws_.pick<std::string>({"", "\"\""});
      case Fault::quote_inside: return draws_.pick<std::string>({"1\"2", " \"3\"", "a\"\"b"});
      default: return draws_.pick<std::string>({"\"1\"2", "\"a\" ", "\"\"x"});
    }
  }

  // Text of a cell, whose value is put into the row.
  std::string cell(const Column& column, bool one_line, std::vector<reference::Field>& fields) {
    if (*column.field == '\0') return one_line ? std::string("plain") : note();
    const auto found =
        std::find_if(fields.begin(), fields.end(), [&](const auto& field) { return field.name == column.field; });
    const bool has_default = found->name == "y" || found->name == "w";
    if (has_default && draws_.one_in(8)) {
      set(found->values, 0, kDefault);
      return missing_word_ && draws_.one_in(2) ? "NA" : draws_.pick<std::string>({"", "\"\""});
    }
    const std::string number = std::visit([&](const auto& values) { return number_text(values[0]); }, found->values);
    set(found->values, std::string_view(column.name) == "x2" ? 1 : 0, number);
    const uint64_t look = draws_.below(8);
    return look == 0 ? cat('"', number, '"') : look == 1 ? cat(' ', number, "  ") : number;
  }

  static void set(reference::Values& of, size_t index, const std::string& text) {
    std::visit(
        [&](auto& values) {
          using T = std::decay_t<decltype(values[0])>;
          if constexpr (std::is_same_v<T, float>) values[index] = std::strtof(text.c_str(), nullptr);
          if constexpr (std::is_same_v<T, double>) values[index] = std::strtod(text.c_str(), nullptr);
          if constexpr (std::is_integral_v<T>) values[index] = static_cast<T>(std::strtoll(text.c_str(), nullptr, 10));
        },
        of);
  }

  std::string number_text(int32_t) { return draws_.pick<std::string>({"0", "1", "2", "3", "+1"}); }
  std::string number_text(int64_t) {
    return draws_.pick<std::string>({"0", "5", "-12", "9007199254740993", "4611686018427387904", "9223372036854775807",
                                     "-9223372036854775808", "0001", "+7"});
  }
  std::string number_text(double) {
    if (draws_.one_in(2)) return cat(static_cast<double>(draws_.below(2000)) / 8 - 100);
    return draws_.pick<std::string>(
        {"0.1", "-0", "1e3", "-2.5E-3", "inf", "-Infinity", "nan", "1e400", "1e-42", "3.14159265358979", "+.5", "2."});
  }

  std::string note() {
    if (draws_.one_in(3)) return "plain";
    std::string out = "\"";
    for (uint64_t parts = draws_.below(6); parts > 0; --parts) {
      out += draws_.pick<std::string>({"a", ",", "\n", "\r\n", "\"\"", "1,2;3", "\n\n", "\n# ", " ", "\"\",\"\"\n1,2"});
    }
    return out + '"';
  }

  // Nothing behind it closes the quote.
  void write_unterminated() {
    add(cat("1", delimiter_, "\"two\nlines\"", delimiter_));
    add_fatal(line_, cat("lines\"", delimiter_).size() + 1);
    add("\"and no end,\n1,2\n");
  }

  Draws& draws_;
  bool header_ = false, comments_ = false, missing_word_ = false, skip_bad_ = false;
  char delimiter_ = ',';
  uint64_t skip_lines_ = 0;
  std::array<size_t, kColumns.size()> order_ = {0, 1, 2, 3, 4, 5, 6};

  reference::DataFile file_;
  std::string text_;
  int64_t line_ = 1;
};

}  // namespace millrace::testing_support
