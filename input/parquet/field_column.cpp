#include "millrace/input/parquet/field_column.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/input/csv/number_parser.h"
#include "millrace/input/parquet/thrift_reader.h"

namespace millrace {

namespace {

template <class T>
T number_at(const std::byte* from) {
  T out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

// NaN stands for NaN here.
template <class T>
bool same_number(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a == b || (std::isnan(a) && std::isnan(b));
  return a == b;
}

}  // namespace

FieldColumn::FieldColumn(const FieldColumnArgs& args)
    : field_(args.field),
      field_number_(args.field_number),
      element_(args.element),
      column_(args.column),
      number_(args.number),
      conversion_(args.column, args.field.spec, args.field.time),
      missing_texts_(args.field.missing.value_or(args.rules.missing)),
      allow_nonfinite_(args.rules.allow_nonfinite) {
  if (field_.spec.text) return;
  with_parsed_type(field_.spec.dtype, [&](auto number) {
    checks_numbers_ = !allow_nonfinite_ && std::is_floating_point_v<decltype(number)>;
    for (const std::string& text : missing_texts_) {
      if (field_.time || parse_number(text, number) != NumberStatus::ok) continue;
      const auto* bytes = reinterpret_cast<const std::byte*>(&number);
      missing_numbers_.insert(missing_numbers_.end(), bytes, bytes + sizeof number);
      checks_numbers_ = true;
    }
  });
}

std::string FieldColumn::name() const {
  return cat("column ", number_, ' ', quote(column_.name), " (", field_.spec.name, ')');
}

bool FieldColumn::is_missing(std::string_view text) const {
  return !missing_texts_.empty() && std::ranges::find(missing_texts_, text) != missing_texts_.end();
}

ValueFault FieldColumn::fault_of(const std::byte* number) const {
  return with_parsed_type(field_.spec.dtype, [&](auto value) {
    using T = decltype(value);
    value = number_at<T>(number);
    for (size_t at = 0; at < missing_numbers_.size(); at += sizeof(T)) {
      if (same_number(value, number_at<T>(missing_numbers_.data() + at))) return ValueFault::required;
    }
    if constexpr (std::is_floating_point_v<T>) {
      if (!allow_nonfinite_ && !std::isfinite(value)) return ValueFault::nonfinite;
    }
    return ValueFault::none;
  });
}

ValueFault FieldColumn::convert_text(std::string_view text, std::byte* to) const {
  const bool missing = column_.meaning == Meaning::text && (text.empty() || is_missing(text));
  if (!missing) return conversion_.convert_text(text, to) ? ValueFault::none : ValueFault::malformed;
  if (has_default()) {
    std::memcpy(to, default_number(), value_bytes());
    return ValueFault::none;
  }
  std::memset(to, 0, value_bytes());
  return ValueFault::required;
}

std::shared_ptr<const Dictionary> FieldColumn::dictionary(PageBytes bytes, size_t byte_count, size_t size,
                                                          ValueScratch& scratch) const {
  auto out = std::make_shared<Dictionary>();
  out->bytes = std::move(bytes);
  out->size = size;
  const PageValues values(column_, PageEncoding::plain, {out->bytes.data(), byte_count}, nullptr, size);
  const bool texts = field_.spec.text || conversion_.from_texts();
  const size_t least = texts ? sizeof(uint32_t) : conversion_.width();  // bytes of a value
  if (size > byte_count / (column_.width > 0 ? column_.width : least)) {
    throw damaged_parquet("a dictionary has fewer values than it says");
  }
  if (!field_.spec.text) out->numbers.reserve(size * value_bytes());
  ValueCursor at = values.begin();
  for (size_t done = 0; done < size; done += kValuesAtOnce) {
    const size_t some = std::min(size - done, kValuesAtOnce);
    std::byte* to = field_.spec.text ? nullptr : out->numbers.data() + done * value_bytes();
    if (texts) {
      values.texts(at, some, scratch, [&](std::string_view text) {
        out->texts.push_back(text);
        if (to == nullptr) return;
        if (convert_text(text, to) != ValueFault::none) out->bad.resize(size);
        if (!out->bad.empty()) out->bad[out->texts.size() - 1] = convert_text(text, to) == ValueFault::none ? 0 : 1;
        to += value_bytes();
      });
      continue;
    }
    const std::byte* const from = values.fixed(at, some, scratch);
    if (conversion_.convert(from, some, to)) continue;
    out->bad.resize(size);
    for (size_t i = 0; i < some; ++i) {
      const bool good = conversion_.convert(from + i * conversion_.width(), 1, to + i * value_bytes());
      out->bad[done + i] = good ? 0 : 1;
    }
  }
  // Later, only texts and bad values are asked for as they were stored.
  if (!texts && out->bad.empty()) out->bytes = {};
  return out;
}

}  // namespace millrace
