#include "millrace/api/c/rows.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "millrace/api/c/errors.h"
#include "millrace/core/text.h"

namespace millrace::c {

namespace {

constexpr std::pair<millrace_type, DType> kTypes[] = {{MILLRACE_FLOAT32, DType::f32},
                                                      {MILLRACE_FLOAT64, DType::f64},
                                                      {MILLRACE_INT32, DType::i32},
                                                      {MILLRACE_INT64, DType::i64},
                                                      {MILLRACE_UINT8, DType::u8}};

FieldSpec field_of(const millrace_field& field) {
  FieldSpec out{field.name, DType::f32, Shape{field.width}};
  out.text = field.type == MILLRACE_TEXT;
  if (out.text) return out;
  for (const auto& [type, dtype] : kTypes) {
    if (static_cast<int32_t>(type) != field.type) continue;
    out.dtype = dtype;
    return out;
  }
  throw ArgumentError(cat("there is no type ", field.type));
}

millrace_type type_of(const FieldSpec& field) {
  if (field.text) return MILLRACE_TEXT;
  for (const auto& [type, dtype] : kTypes) {
    if (dtype == field.dtype) return type;
  }
  return MILLRACE_FLOAT32;
}

// Bytes of a row in the program's array.
size_t row_bytes(const FieldSpec& field) {
  const size_t value = field.text ? sizeof(const char*) : size_of(field.dtype);
  return value * static_cast<size_t>(field.shape.elements());
}

void copy_texts(const char* const* texts, const FieldSpec& field, Varying& out) {
  out.clear();
  size_t bytes = 0;
  for (int64_t i = 0; i < field.shape.elements(); ++i) {
    const std::string_view text = texts[i] != nullptr ? texts[i] : "";
    bytes += text.size();
    if (bytes > UINT32_MAX) throw ArgumentError(cat("a row has texts of ", bytes, " bytes in the field ", field.name));
    out.add_text(text);
  }
}

}  // namespace

millrace_field field_to_c(const FieldSpec& field) {
  return {field.name.c_str(), type_of(field), field.ragged() ? 0 : field.shape.elements()};
}

RowSpec rows_of(const millrace_field* fields, size_t count) {
  require(fields, "fields");
  RowSpec rows;
  for (size_t i = 0; i < count; ++i) {
    require(fields[i].name, cat("fields[", i, "].name"));
    if (fields[i].width < 1) throw ArgumentError(cat("fields[", i, "].width is ", fields[i].width));
    if (rows.find(fields[i].name) >= 0) throw ArgumentError(cat("two fields are called ", quote(fields[i].name)));
    rows.fields.push_back(field_of(fields[i]));
  }
  return rows;
}

void require_each(const void* const* values, size_t count) {
  if (count > 0) require(values, "values");
  for (size_t i = 0; i < count; ++i) require(values[i], cat("values[", i, "]"));
}

void copy_in(const void* const* values, int64_t begin, int64_t count, RowBlock& block) {
  for (size_t field = 0; field < block.spec().fields.size(); ++field) {
    const FieldSpec& spec = block.spec().fields[field];
    const size_t bytes = row_bytes(spec);
    const auto* from = static_cast<const std::byte*>(values[field]) + static_cast<size_t>(begin) * bytes;
    for (int64_t row = 0; row < count; ++row, from += bytes) {
      if (spec.text) {
        copy_texts(reinterpret_cast<const char* const*>(from), spec, block.varying(field, row));
      } else {
        std::memcpy(block.at(field, row), from, bytes);
      }
    }
  }
}

JoinedValues join_values(const RowBlock& block, size_t index) {
  const FieldSpec& field = block.spec().fields[index];
  JoinedValues out;
  int64_t values = 0;
  for (int64_t row = 0; row < block.size(); ++row) {
    const Varying& varying = block.varying(index, row);
    if (field.text) {
      for (size_t i = 0; i < varying.texts(); ++i) {
        const auto text = std::as_bytes(std::span(varying.text(i)));
        out.bytes.insert(out.bytes.end(), text.begin(), text.end());
        out.text_ends.push_back(std::ssize(out.bytes));
      }
      values += static_cast<int64_t>(varying.texts());
    } else {
      const auto numbers = varying.numbers<std::byte>();
      out.bytes.insert(out.bytes.end(), numbers.begin(), numbers.end());
      values = std::ssize(out.bytes) / static_cast<int64_t>(size_of(field.dtype));
    }
    if (field.ragged()) out.row_ends.push_back(values);
  }
  return out;
}

void Filler::operator()(RowBlock& block, uint32_t pass) {
  const int64_t room = block.capacity();
  values_.clear();
  memory_.resize(rows_.fields.size());
  for (size_t i = 0; i < memory_.size(); ++i) {
    const FieldSpec& field = rows_.fields[i];
    memory_[i].resize(row_bytes(field) * static_cast<size_t>(room));
    values_.push_back(memory_[i].data());
    if (field.text) std::fill_n(static_cast<const char**>(values_[i]), room * field.shape.elements(), nullptr);
  }
  const int64_t count = fill_(user_, pass, room, values_.data());
  if (count < 0) throw DataError(cat("the callback of ", kind_, " failed: it returned ", count));
  if (count > room)
    throw ConfigError(cat("the callback of ", kind_, " made ", count, " rows, but there was room for ", room));
  block.resize(count);
  copy_in(values_.data(), 0, count, block);
}

}  // namespace millrace::c
