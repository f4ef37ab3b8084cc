#include "millrace/cli/convert/field_rows.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "millrace/core/crc32.h"

namespace millrace::cli {

FieldRows::FieldRows(const RowSpec& spec, std::string path, size_t group_bytes) : path_(std::move(path)) {
  size_t row_bytes = 0;
  for (const FieldSpec& field : spec.fields) {
    fields_.push_back({.bytes = field.tensor().bytes()});
    row_bytes += fields_.back().bytes;
  }
  group_rows_ = std::max<size_t>(group_bytes / std::max<size_t>(row_bytes, 1), 1);
  size_t begin = 0;
  for (Field& field : fields_) {
    field.begin = begin;
    begin += group_rows_ * field.bytes;
  }
  group_.resize(begin);
}

void FieldRows::add(const RowSpan& span) {
  for (int64_t row = span.begin; row < span.begin + span.count; ++row) {
    for (size_t i = 0; i < fields_.size(); ++i) {
      const Field& field = fields_[i];
      std::memcpy(group_.data() + field.begin + held_ * field.bytes, span.block->at(i, row), field.bytes);
    }
    if (++held_ == group_rows_) write_group();
  }
}

void FieldRows::write_group() {
  for (Field& field : fields_) field.crc = crc32_of(held(field), field.crc);
  if (!file_) file_.emplace(path_);  // is never committed
  file_->write({group_.data(), group_.size()});
  ++groups_;
  held_ = 0;
}

std::string_view FieldRows::held(const Field& field) const {
  return {group_.data() + field.begin, held_ * field.bytes};
}

uint32_t FieldRows::crc(size_t field) const { return crc32_of(held(fields_[field]), fields_[field].crc); }

bool FieldRows::read(size_t index, FunctionRef<bool(std::string_view)> use) {
  const Field& field = fields_[index];
  std::vector<char> piece(groups_ > 0 ? group_rows_ * field.bytes : 0);
  for (uint64_t group = 0; group < groups_; ++group) {
    file_->read(group * group_.size() + field.begin, piece);
    if (!use({piece.data(), piece.size()})) return false;
  }
  return held_ == 0 || use(held(field));
}

}  // namespace millrace::cli
