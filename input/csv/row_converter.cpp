#include "millrace/input/csv/row_converter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "millrace/input/csv/number_parser.h"

namespace millrace {

namespace {

// Calls body(T{}) for the C++ type of `dtype`.
template <class Body>
auto with_type(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::f64: return body(double{});
    case DType::i32: return body(int32_t{});
    case DType::i64: return body(int64_t{});
    case DType::f32:
    case DType::u8: break;
  }
  return body(float{});
}

template <class T>
bool all_finite(const T* values, size_t count) {
  if constexpr (std::is_floating_point_v<T>) {
    for (size_t i = 0; i < count; ++i) {
      if (!std::isfinite(values[i])) return false;
    }
  }
  return true;
}

}  // namespace

RowConverter::RowConverter(std::vector<SelectedField> fields, ValueRules rules)
    : fields_(std::move(fields)), rules_(std::move(rules)) {
  std::erase(rules_.missing, std::string());
  for (size_t field = 0; field < fields_.size(); ++field) {
    const std::vector<uint32_t>& columns = fields_[field].columns;
    for (size_t element = 0; element < columns.size(); ++element) {
      if (element > 0 && columns[element] == columns[element - 1] + 1) {
        ++runs_.back().count;
      } else {
        runs_.push_back({field, element, columns[element], 1});
      }
      by_column_.push_back({columns[element], static_cast<uint32_t>(field), static_cast<uint32_t>(element)});
    }
  }
  std::stable_sort(by_column_.begin(), by_column_.end(),
                   [](const Target& a, const Target& b) { return a.column < b.column; });
}

RowSpec RowConverter::spec() const {
  RowSpec out;
  for (const SelectedField& field : fields_) out.fields.push_back(field.spec);
  return out;
}

bool RowConverter::convert(const Record& record, RowBlock& rows, int64_t row) const {
  for (const Run& run : runs_) {
    const bool good = with_type(fields_[run.field].spec.dtype, [&](auto zero) {
      return convert_run(record, run, rows.row<decltype(zero)>(run.field, row) + run.element);
    });
    if (!good) return false;
  }
  return true;
}

template <class T>
bool RowConverter::convert_run(const Record& record, const Run& run, T* out) const {
  const SelectedField& field = fields_[run.field];
  // A text that stands for no value may be a number ("-999"), so each is compared before it is parsed.
  const bool in_runs = record.kind == Record::Kind::plain && rules_.missing.empty();
  size_t done = 0;
  while (done < run.count) {
    const size_t column = run.column + done;
    if (in_runs) {
      const size_t begin = column == 0 ? record.begin : record.ends[column - 1] + size_t{1};
      const size_t parsed =
          parse_run(NumberRun{record.text, begin, record.ends + column, run.count - done}, out + done);
      if (!rules_.allow_nonfinite && !all_finite(out + done, parsed)) return false;
      done += parsed;
      if (done == run.count) break;
    }
    const std::string_view text = record.field(run.column + done);
    if (convert_value(text, field, run.element + done, out[done]) != ValueFault::none) return false;
    ++done;
  }
  return true;
}

template <class T>
ValueFault RowConverter::convert_value(std::string_view text, const SelectedField& field, size_t element,
                                       T& out) const {
  if (is_missing(text)) {
    if (field.default_values.empty()) return ValueFault::required;
    std::memcpy(&out, field.default_values.data() + element * sizeof(T), sizeof(T));
    return ValueFault::none;
  }
  switch (parse_number(text, out)) {
    case NumberStatus::ok: break;
    case NumberStatus::malformed: return ValueFault::malformed;
    case NumberStatus::out_of_range: return ValueFault::out_of_range;
  }
  return rules_.allow_nonfinite || all_finite(&out, 1) ? ValueFault::none : ValueFault::nonfinite;
}

bool RowConverter::is_missing(std::string_view text) const {
  if (text.empty()) return true;
  return std::find(rules_.missing.begin(), rules_.missing.end(), text) != rules_.missing.end();
}

ValueFault RowConverter::check_value(std::string_view text, const Target& target) const {
  const SelectedField& field = fields_[target.field];
  return with_type(field.spec.dtype, [&](auto value) { return convert_value(text, field, target.element, value); });
}

BadValue RowConverter::find_fault(const Record& record) const {
  for (const Target& target : by_column_) {
    const ValueFault fault = check_value(record.field(target.column), target);
    if (fault != ValueFault::none) return {fault, target.column, target.field};
  }
  return {};
}

}  // namespace millrace
