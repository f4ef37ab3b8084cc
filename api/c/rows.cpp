#include "millrace/api/c/rows.h"

#include <cstring>
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

DType dtype_of(int32_t type) {
  for (const auto& [known, dtype] : kTypes) {
    if (static_cast<int32_t>(known) == type) return dtype;
  }
  throw ArgumentError(cat("there is no type ", type));
}

}  // namespace

millrace_type type_of(DType dtype) {
  for (const auto& [type, known] : kTypes) {
    if (known == dtype) return type;
  }
  return MILLRACE_FLOAT32;
}

RowSpec rows_of(const millrace_field* fields, size_t count) {
  require(fields, "fields");
  RowSpec rows;
  for (size_t i = 0; i < count; ++i) {
    require(fields[i].name, cat("fields[", i, "].name"));
    if (fields[i].width < 1) throw ArgumentError(cat("fields[", i, "].width is ", fields[i].width));
    if (rows.find(fields[i].name) >= 0) throw ArgumentError(cat("two fields are called ", quote(fields[i].name)));
    rows.fields.push_back({fields[i].name, dtype_of(fields[i].type), Shape{fields[i].width}});
  }
  return rows;
}

void require_each(const void* const* values, size_t count) {
  if (count > 0) require(values, "values");
  for (size_t i = 0; i < count; ++i) require(values[i], cat("values[", i, "]"));
}

void copy_in(const void* const* values, int64_t begin, int64_t count, RowBlock& block) {
  for (size_t field = 0; field < block.spec().fields.size(); ++field) {
    const size_t bytes = block.spec().fields[field].tensor().bytes();
    const auto* from = static_cast<const std::byte*>(values[field]) + static_cast<size_t>(begin) * bytes;
    for (int64_t row = 0; row < count; ++row) {
      std::memcpy(block.at(field, row), from + static_cast<size_t>(row) * bytes, bytes);
    }
  }
}

void Filler::operator()(RowBlock& block, uint32_t pass) {
  const int64_t room = block.capacity();
  values_.clear();
  memory_.resize(rows_.fields.size());
  for (size_t i = 0; i < memory_.size(); ++i) {
    memory_[i].resize(rows_.fields[i].tensor().bytes() * static_cast<size_t>(room));
    values_.push_back(memory_[i].data());
  }
  const int64_t count = fill_(user_, pass, room, values_.data());
  if (count < 0) throw DataError(cat("the callback of ", kind_, " failed: it returned ", count));
  if (count > room)
    throw ConfigError(cat("the callback of ", kind_, " made ", count, " rows, but there was room for ", room));
  block.resize(count);
  copy_in(values_.data(), 0, count, block);
}

}  // namespace millrace::c
