#include "millrace/input/csv/given_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/csv/number_parser.h"

namespace millrace {

GivenValues::GivenValues(std::vector<FieldRequest> requests, ValueRules rules)
    : requests_(std::move(requests)), rules_(std::move(rules)) {}

Port GivenValues::bind(const BindArgs& args) {
  const Port& rows = args.inputs.front();
  for (size_t i = 0; i < rows.rows.fields.size(); ++i) {
    const FieldSpec& spec = rows.rows.fields[i];
    const auto request =
        std::ranges::find_if(requests_, [&](const FieldRequest& one) { return one.field.spec.name == spec.name; });
    if (request == requests_.end() || spec.type_name() != request->field.spec.type_name()) continue;
    if (spec.ragged() || request->field.spec.ragged()) continue;
    Field field{i, field_of_columns(*request, static_cast<size_t>(spec.shape.elements()))};
    if (!spec.text && !field.selected.defaults.given) continue;
    field.missing = field.selected.missing.value_or(rules_.missing);
    with_parsed_type(spec.dtype, [&](auto number) {
      for (const std::string& text : field.missing) {
        if (spec.text || request->field.time || parse_number(text, number) != NumberStatus::ok) continue;
        const auto* bytes = reinterpret_cast<const std::byte*>(&number);
        field.numbers.insert(field.numbers.end(), bytes, bytes + sizeof number);
      }
    });
    fields_.push_back(std::move(field));
  }
  return rows;
}

void GivenValues::apply(Chunk& chunk) const {
  RowBlock& rows = chunk.rows;
  auto& spare = chunk.work().get<Varying>(this);
  for (int64_t row = 0; row < rows.size(); ++row) {
    for (const Field& field : fields_) {
      if (!field.selected.spec.text) {
        with_parsed_type(field.selected.spec.dtype,
                         [&](auto zero) { give_numbers(field, rows.row<decltype(zero)>(field.index, row)); });
      } else if (!give_texts(field, rows.varying(field.index, row), spare)) {
        const DataError error(cat("the field ", field.selected.spec.name, " lacks a text, and has no default"));
        return chunk.fail(row, std::make_exception_ptr(error));
      }
    }
  }
}

// Returns false if a text is missing, and there is no default. `spare` is memory for the old texts.
bool GivenValues::give_texts(const Field& field, Varying& texts, Varying& spare) {
  const auto is_missing = [&](std::string_view text) {
    return text.empty() || std::ranges::find(field.missing, text) != field.missing.end();
  };
  bool whole = true;
  for (size_t i = 0; i < texts.texts(); ++i) whole = whole && !is_missing(texts.text(i));
  if (whole) return true;
  if (!field.selected.defaults.given) return false;
  std::swap(texts, spare);
  texts.clear();
  for (size_t i = 0; i < spare.texts(); ++i) {
    const std::string_view text = spare.text(i);
    texts.add_text(is_missing(text) ? field.selected.defaults.texts[i] : text);
  }
  return true;
}

template <class T>
void GivenValues::give_numbers(const Field& field, T* values) {
  const auto is_missing = [&](T value) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value)) return true;
    }
    const auto* numbers = reinterpret_cast<const T*>(field.numbers.data());
    const T* const end = numbers + field.numbers.size() / sizeof(T);
    return std::find(numbers, end, value) != end;
  };
  for (int64_t i = 0; i < field.selected.spec.shape.elements(); ++i) {
    if (!is_missing(values[i])) continue;
    std::memcpy(values + i, field.selected.defaults.numbers.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  }
}

}  // namespace millrace
