#include "millrace/input/csv/row_converter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "millrace/input/csv/kernels/kernels.h"
#include "millrace/input/csv/number_parser.h"

namespace millrace {

namespace {

template <class T>
bool all_finite(const T* values, size_t count) {
  bool finite = true;
  if constexpr (std::is_floating_point_v<T>) {
    for (size_t i = 0; i < count; ++i) finite &= std::abs(values[i]) <= std::numeric_limits<T>::max();
  }
  return finite;
}

// The default of a ragged field, as a list.
Varying list_of(const SelectedField& field) {
  Varying out;
  for (const std::string& text : field.defaults.texts) out.add_text(text);
  const std::vector<std::byte>& numbers = field.defaults.numbers;
  with_parsed_type(field.spec.dtype, [&](auto number) {
    for (size_t at = 0; at < numbers.size(); at += sizeof number) {
      std::memcpy(&number, numbers.data() + at, sizeof number);
      out.add_number(number);
    }
  });
  return out;
}

}  // namespace

RowConverter::RowConverter(std::vector<SelectedField> fields, ValueRules rules)
    : fields_(std::move(fields)), rules_(std::move(rules)) {
  for (const SelectedField& field : fields_) {
    Missing& missing = missing_.emplace_back();
    missing.texts = field.missing.value_or(rules_.missing);
    std::erase(missing.texts, std::string());
    for (const std::string& text : missing.texts) {
      double number;
      if (parse_number(text, number) != NumberStatus::ok) continue;
      (std::isfinite(number) ? missing.finite : missing.nonfinite) = true;
    }
  }
  for (size_t field = 0; field < fields_.size(); ++field) {
    const std::vector<uint32_t>& columns = fields_[field].columns;
    for (size_t element = 0; element < columns.size(); ++element) {
      if (fields_[field].spec.varies()) {
        if (element == 0) varying_.push_back(field);
      } else if (element > 0 && columns[element] == columns[element - 1] + 1) {
        ++runs_.back().count;
      } else {
        runs_.push_back({field, element, columns[element], 1});
      }
    }
  }
}

RowSpec RowConverter::spec() const {
  RowSpec out;
  for (const SelectedField& field : fields_) out.fields.push_back(field.spec);
  return out;
}

bool RowConverter::convert(const Record& record, RowBlock& rows, int64_t row) const {
  for (const Run& run : runs_) {
    const bool good = with_parsed_type(fields_[run.field].spec.dtype, [&](auto zero) {
      return convert_run(record, run, rows.row<decltype(zero)>(run.field, row) + run.element);
    });
    if (!good) return false;
  }
  for (const size_t field : varying_) {
    if (!convert_varying(record, field, rows.varying(field, row))) return false;
  }
  return true;
}

void RowConverter::convert_bad(const Record* record, RowBlock& rows, int64_t row) const {
  for (size_t field = 0; field < fields_.size(); ++field) {
    const FieldSpec& spec = fields_[field].spec;
    if (!spec.varies()) {
      std::memset(rows.at(field, row), 0, spec.row_bytes());
    } else if (record == nullptr || !convert_varying(*record, field, rows.varying(field, row))) {
      rows.varying(field, row).clear();
    }
  }
}

bool RowConverter::convert_varying(const Record& record, size_t index, Varying& out) const {
  const SelectedField& field = fields_[index];
  out.clear();
  if (field.spec.ragged()) {
    return convert_list(record.field(field.columns.front()), index, &out).fault == ValueFault::none;
  }
  for (size_t element = 0; element < field.columns.size(); ++element) {
    const std::string_view text = record.field(field.columns[element]);
    if (convert_text(text, index, element, &out) != ValueFault::none) return false;
  }
  return true;
}

ValueFault RowConverter::convert_text(std::string_view text, size_t index, size_t element, Varying* out) const {
  if (is_missing(text, index)) {
    const DefaultValues& defaults = fields_[index].defaults;
    if (!defaults.given) return ValueFault::required;
    text = defaults.texts[element];
  }
  if (out != nullptr) out->add_text(text);
  return ValueFault::none;
}

BadValue RowConverter::convert_list(std::string_view text, size_t index, Varying* out) const {
  const SelectedField& field = fields_[index];
  if (is_missing(text, index)) {
    if (!field.defaults.given) return {.fault = ValueFault::required};
    if (out != nullptr) *out = list_of(field);
    return {};
  }
  const char split = *field.spec.split;
  const bool blank = split == ' ' || split == '\t';  // several count as one; at the ends they do not count
  size_t value = 0;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(split, begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() && blank) continue;
    if (field.spec.text) {
      if (out != nullptr) out->add_text(part);
    } else {
      const ValueFault fault = with_parsed_type(field.spec.dtype, [&](auto number) {
        const ValueFault found = convert_number(part, index, number);
        if (found == ValueFault::none && out != nullptr) out->add_number(number);
        return found;
      });
      if (fault != ValueFault::none) return {.fault = fault, .value = value, .text = part};
    }
    ++value;
  }
  return {};
}

template <class T>
bool RowConverter::convert_run(const Record& record, const Run& run, T* out) const {
  const Missing& missing = missing_[run.field];
  const bool in_runs = record.kind == Record::Kind::plain && !missing.finite && !fields_[run.field].time;
  size_t done = 0;
  while (done < run.count) {
    const size_t column = run.column + done;
    if (in_runs) {
      const FieldRun& all = record.plain;
      const size_t parsed =
          parse_run(FieldRun{all.text, all.start(column), all.ends + column, run.count - done}, out + done);
      // A number that is not finite may be refused, or stand for a missing value, so it is looked at alone.
      const bool each = (!rules_.allow_nonfinite || missing.nonfinite) && !all_finite(out + done, parsed);
      for (size_t i = done; each && i < done + parsed; ++i) {
        if (!all_finite(out + i, 1) &&
            convert_value(record.field(run.column + i), run.field, run.element + i, out[i]) != ValueFault::none) {
          return false;
        }
      }
      done += parsed;
      if (done == run.count) break;
    }
    const std::string_view text = record.field(run.column + done);
    if (convert_value(text, run.field, run.element + done, out[done]) != ValueFault::none) return false;
    ++done;
  }
  return true;
}

template <class T>
ValueFault RowConverter::convert_value(std::string_view text, size_t index, size_t element, T& out) const {
  if (is_missing(text, index)) {
    const DefaultValues& defaults = fields_[index].defaults;
    if (!defaults.given) return ValueFault::required;
    std::memcpy(&out, defaults.numbers.data() + element * sizeof(T), sizeof(T));
    return ValueFault::none;
  }
  return convert_number(text, index, out);
}

template <class T>
ValueFault RowConverter::convert_number(std::string_view text, size_t index, T& out) const {
  if (const std::optional<TimeFormat>& time = fields_[index].time) {
    Moment moment;
    if (!time->parse(text, moment)) return ValueFault::malformed;
    out = moment.as<T>();
    return ValueFault::none;
  }
  switch (parse_number(text, out)) {
    case NumberStatus::ok: break;
    case NumberStatus::malformed: return ValueFault::malformed;
    case NumberStatus::out_of_range: return ValueFault::out_of_range;
  }
  return rules_.allow_nonfinite || all_finite(&out, 1) ? ValueFault::none : ValueFault::nonfinite;
}

bool RowConverter::is_missing(std::string_view text, size_t field) const {
  if (text.empty()) return true;
  const std::vector<std::string>& texts = missing_[field].texts;
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

BadValue RowConverter::convert_one(std::string_view text, size_t index, size_t element, Varying* out) const {
  const SelectedField& field = fields_[index];
  if (field.spec.ragged()) return convert_list(text, index, out);
  if (field.spec.text) return {.fault = convert_text(text, index, element, out)};
  return {.fault = with_parsed_type(field.spec.dtype, [&](auto value) {
            const ValueFault fault = convert_value(text, index, element, value);
            if (fault == ValueFault::none && out != nullptr) out->add_number(value);
            return fault;
          })};
}

bool RowConverter::read(std::string_view text, size_t index, size_t element, Varying& out) const {
  out.clear();
  return convert_one(text, index, element, &out).fault == ValueFault::none;
}

std::string RowConverter::text_of(size_t index, double value) const {
  const std::optional<TimeFormat>& time = fields_[index].time;
  return time ? time->write(value) : std::string();
}

BadValue RowConverter::find_fault(const Record& record) const {
  BadValue leftmost;
  for (size_t field = 0; field < fields_.size(); ++field) {
    const std::vector<uint32_t>& columns = fields_[field].columns;
    for (size_t element = 0; element < columns.size(); ++element) {
      if (leftmost.fault != ValueFault::none && columns[element] >= leftmost.column) continue;
      BadValue bad = convert_one(record.field(columns[element]), field, element, nullptr);
      if (bad.fault == ValueFault::none) continue;
      bad.column = columns[element];
      bad.field = field;
      leftmost = bad;
    }
  }
  return leftmost;
}

}  // namespace millrace
