#include "millrace/input/csv/given_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/csv/number_parser.h"
#include "millrace/input/ops/shared/fields.h"

namespace millrace {

namespace {

DataError lack_of_text(const SelectedField& field) {
  return DataError(cat("the field ", field.spec.name, " lacks a text, and has no default"));
}

}  // namespace

GivenValues::GivenValues(std::vector<FieldRequest> requests, ValueRules rules)
    : requests_(std::move(requests)), rules_(std::move(rules)) {}

void GivenValues::take_times_as_texts(const std::vector<FieldRequest>& requests, RowSpec& rows) {
  for (const FieldRequest& request : requests) {
    const int index = request.field.time ? rows.find(request.field.spec.name) : -1;
    if (index < 0 || rows.fields[static_cast<size_t>(index)].varies()) continue;
    rows.fields[static_cast<size_t>(index)].text = true;
  }
}

Port GivenValues::bind(const BindArgs& args) {
  Port out = args.inputs.front();
  for (size_t i = 0; i < out.rows.fields.size(); ++i) {
    FieldSpec& spec = out.rows.fields[i];
    const auto request =
        std::ranges::find_if(requests_, [&](const FieldRequest& one) { return one.field.spec.name == spec.name; });
    if (request == requests_.end() || spec.ragged() || request->field.spec.ragged()) continue;
    const bool is_time = request->field.time && spec.text;
    if (!is_time && spec.type_name() != request->field.spec.type_name()) continue;
    Field field{i, field_of_columns(*request, static_cast<size_t>(spec.shape.elements()))};
    if (!spec.text && !field.selected.defaults.given) continue;
    field.missing = field.selected.missing.value_or(rules_.missing);
    if (is_time) {
      spec = field.selected.spec;
      times_.push_back(std::move(field));
      time_indices_.push_back(i);
      continue;
    }
    with_parsed_type(spec.dtype, [&](auto number) {
      for (const std::string& text : field.missing) {
        if (spec.text || parse_number(text, number) != NumberStatus::ok) continue;
        const auto* bytes = reinterpret_cast<const std::byte*>(&number);
        field.numbers.insert(field.numbers.end(), bytes, bytes + sizeof number);
      }
    });
    fields_.push_back(std::move(field));
  }
  spec_ = std::make_shared<const RowSpec>(out.rows);
  return out;
}

void GivenValues::apply(Chunk& chunk) const {
  auto& spare = chunk.work().get<Varying>(this);
  if (!times_.empty()) copy_fields(chunk, spec_, time_indices_);
  for (int64_t row = 0; row < chunk.rows.size(); ++row) {
    for (const Field& field : fields_) {
      if (!field.selected.spec.text) {
        with_parsed_type(field.selected.spec.dtype,
                         [&](auto zero) { give_numbers(field, chunk.rows.row<decltype(zero)>(field.index, row)); });
      } else if (!give_texts(field, chunk.rows.varying(field.index, row), spare)) {
        return chunk.fail(row, std::make_exception_ptr(lack_of_text(field.selected)));
      }
    }
    for (const Field& field : times_) {
      const Varying& texts = std::as_const(chunk.spare).varying(field.index, row);
      const std::exception_ptr failure = with_parsed_type(field.selected.spec.dtype, [&](auto zero) {
        return give_times(field, texts, chunk.rows.row<decltype(zero)>(field.index, row));
      });
      if (failure) return chunk.fail(row, failure);
    }
  }
}

template <class T>
std::exception_ptr GivenValues::give_times(const Field& field, const Varying& texts, T* values) {
  const SelectedField& selected = field.selected;
  for (size_t i = 0; i < texts.texts(); ++i) {
    const std::string_view text = texts.text(i);
    Moment moment;
    if (selected.time->parse(text, moment) && !is_missing(text, field)) {
      values[i] = moment.as<T>();
    } else if (!is_missing(text, field)) {
      return std::make_exception_ptr(
          DataError(cat("the field ", selected.spec.name, " holds ", quote(text), ", expected ", selected.time->name()),
                    {}, selected.time->hint(text)));
    } else if (selected.defaults.given) {
      std::memcpy(values + i, selected.defaults.numbers.data() + i * sizeof(T), sizeof(T));
    } else {
      return std::make_exception_ptr(lack_of_text(selected));
    }
  }
  return nullptr;
}

bool GivenValues::is_missing(std::string_view text, const Field& field) {
  return text.empty() || std::ranges::find(field.missing, text) != field.missing.end();
}

// Returns false if a text is missing, and there is no default. `spare` is memory for the old texts.
bool GivenValues::give_texts(const Field& field, Varying& texts, Varying& spare) {
  bool whole = true;
  for (size_t i = 0; i < texts.texts(); ++i) whole = whole && !is_missing(texts.text(i), field);
  if (whole) return true;
  if (!field.selected.defaults.given) return false;
  std::swap(texts, spare);
  texts.clear();
  for (size_t i = 0; i < spare.texts(); ++i) {
    const std::string_view text = spare.text(i);
    texts.add_text(is_missing(text, field) ? field.selected.defaults.texts[i] : text);
  }
  return true;
}

template <class T>
void GivenValues::give_numbers(const Field& field, T* values) {
  const auto stands_for_none = [&](T value) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value)) return true;
    }
    const auto* numbers = reinterpret_cast<const T*>(field.numbers.data());
    const T* const end = numbers + field.numbers.size() / sizeof(T);
    return std::find(numbers, end, value) != end;
  };
  for (int64_t i = 0; i < field.selected.spec.shape.elements(); ++i) {
    if (!stands_for_none(values[i])) continue;
    std::memcpy(values + i, field.selected.defaults.numbers.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  }
}

}  // namespace millrace
