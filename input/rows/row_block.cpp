#include "millrace/input/rows/row_block.h"

#include <cstring>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/sizes.h"
#include "millrace/core/text.h"

namespace millrace {

std::string FieldSpec::type_text() const {
  return ragged() ? cat(type_name(), " (ragged)") : text ? cat("string ", shape.text()) : tensor().text();
}

int RowSpec::find(std::string_view name) const {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

size_t RowSpec::row_bytes() const {
  size_t bytes = 0;
  for (const FieldSpec& field : fields) bytes += field.row_bytes();
  return bytes;
}

bool RowSpec::varies() const {
  return std::any_of(fields.begin(), fields.end(), [](const FieldSpec& field) { return field.varies(); });
}

std::string RowSpec::text() const {
  std::string out;
  for (const FieldSpec& field : fields) {
    out += cat(out.empty() ? "" : ", ", field.name, ": ", field.type_text());
  }
  return out;
}

RowBlock& RowBlock::operator=(RowBlock&& other) noexcept {
  RowBlock taken(std::move(other));
  swap(taken);
  return *this;
}

void RowBlock::swap(RowBlock& other) noexcept {
  std::swap(spec_, other.spec_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  std::swap(base_, other.base_);
  std::swap(stride_, other.stride_);
  std::swap(varying_, other.varying_);
  std::swap(ids_, other.ids_);
  std::swap(memory_, other.memory_);
  std::swap(reader_, other.reader_);
}

const SharedRowSpec& RowBlock::no_fields() {
  static const SharedRowSpec none = std::make_shared<const RowSpec>();
  return none;
}

void RowBlock::configure(const RowSpec& spec, int64_t capacity, Device reader) {
  configure(spec == this->spec() ? shared_spec() : std::make_shared<const RowSpec>(spec), capacity, reader);
}

void RowBlock::configure(const SharedRowSpec& spec, int64_t capacity, Device reader) {
  const bool to_pin = reader_.is_cpu() && !reader.is_cpu();
  const bool same = spec == spec_ || *spec == this->spec();
  size_ = 0;
  if (same && capacity <= capacity_ && !to_pin) return;
  try {
    const size_t needed = multiply_bytes(spec->row_bytes(), static_cast<size_t>(capacity));
    if (to_pin || needed > memory_.bytes()) {
      if (to_pin) reader_ = reader;
      capacity_ = 0;
      memory_ = Memory();
      memory_ = Memory::pinned(reader_, needed);
    }
    if (!same) {
      spec_ = spec;
      stride_.clear();
      for (const FieldSpec& field : spec_->fields) stride_.push_back(field.row_bytes());
      varying_.resize(std::max(varying_.size(), stride_.size()));
    }
    reserve_ids(static_cast<size_t>(capacity));
    place(capacity);
  } catch (...) {
    // The block may be used again, so it must not stay half made.
    *this = RowBlock();
    throw;
  }
}

void RowBlock::place(int64_t capacity) {
  base_.resize(stride_.size());
  auto* next = static_cast<std::byte*>(memory_.data());
  for (size_t field = 0; field < stride_.size(); ++field) {
    base_[field] = next;
    next += stride_[field] * static_cast<size_t>(capacity);
    if (stride_[field] == 0) varying_[field].resize(static_cast<size_t>(capacity));
  }
  capacity_ = capacity;
}

void RowBlock::reserve_ids(size_t count) {
  const size_t needed = multiply_bytes(sizeof(RowId), count);
  if (needed <= ids_.bytes()) return;
  Memory larger(Device::cpu(), needed);
  if (size_ > 0) std::memcpy(larger.data(), ids_.data(), static_cast<size_t>(size_) * sizeof(RowId));
  ids_ = std::move(larger);
}

void RowBlock::grow(int64_t capacity) {
  if (capacity <= capacity_) return;
  const size_t needed = multiply_bytes(spec().row_bytes(), static_cast<size_t>(capacity));
  // Everything that may fail comes first. If it fails, the block stays as it is.
  reserve_ids(static_cast<size_t>(capacity));
  for (size_t field = 0; field < stride_.size(); ++field) {
    if (stride_[field] == 0) varying_[field].resize(static_cast<size_t>(capacity));
  }
  Memory old;
  if (needed > memory_.bytes()) {
    Memory larger = Memory::pinned(reader_, needed);
    old = std::exchange(memory_, std::move(larger));
  }
  // In the same memory every field moves up, so the last field moves first.
  std::byte* next = static_cast<std::byte*>(memory_.data()) + needed;
  for (size_t field = stride_.size(); field-- > 0;) {
    next -= stride_[field] * static_cast<size_t>(capacity);
    const size_t bytes = stride_[field] * static_cast<size_t>(size_);
    if (bytes > 0) std::memmove(next, base_[field], bytes);
    base_[field] = next;
  }
  capacity_ = capacity;
}

void RowBlock::reserve(const RowMemory& memory) {
  reserve_ids(memory.ids);
  base_.reserve(memory.fields);
  stride_.reserve(memory.fields);
  varying_.reserve(memory.fields);
  if (memory_.bytes() >= memory.bytes) return;
  capacity_ = 0;
  memory_ = Memory();
  memory_ = Memory::pinned(reader_, memory.bytes);
}

void RowBlock::clear_varying() {
  for (size_t field = 0; field < stride_.size(); ++field) {
    if (stride_[field] > 0) continue;
    for (int64_t row = 0; row < size_; ++row) varying(field, row).clear();
  }
}

void RowBlock::check_texts(int64_t first) const {
  for (size_t field = 0; field < stride_.size(); ++field) {
    const FieldSpec& spec = spec_->fields[field];
    if (!spec.text || spec.ragged()) continue;
    const auto columns = static_cast<size_t>(spec.shape.elements());
    for (int64_t row = 0; row < size_; ++row) {
      const size_t texts = varying(field, row).texts();
      if (texts == 0 || texts == columns) continue;
      throw ShapeError(cat("row ", first + row, " has ", count_of(static_cast<int64_t>(texts), "text"),
                           " in the field ", spec.name, ", which is ", spec.type_text()));
    }
  }
}

void RowBlock::complete_texts() {
  for (size_t field = 0; field < stride_.size(); ++field) {
    const FieldSpec& spec = spec_->fields[field];
    if (!spec.text || spec.ragged()) continue;
    for (int64_t row = 0; row < size_; ++row) {
      Varying& texts = varying(field, row);
      if (texts.texts() > 0) continue;
      for (int64_t i = 0; i < spec.shape.elements(); ++i) texts.add_text({});
    }
  }
}

size_t RowBlock::varying_bytes(int64_t row) const {
  size_t bytes = 0;
  for (size_t field = 0; field < stride_.size(); ++field) {
    if (stride_[field] == 0) bytes += sizeof(Varying) + varying(field, row).bytes();
  }
  return bytes;
}

TensorView RowBlock::view(size_t field) {
  const FieldSpec& spec = spec_->fields[field];
  return TensorView(base_[field], spec.dtype, spec.shape.with_batch(size_), stride_[field]);
}

ConstTensorView RowBlock::view(size_t field) const {
  const FieldSpec& spec = spec_->fields[field];
  return ConstTensorView(base_[field], spec.dtype, spec.shape.with_batch(size_), stride_[field]);
}

void RowBlock::copy_row(const RowBlock& source, int64_t from, int64_t to) {
  for (size_t field = 0; field < stride_.size(); ++field) copy_field(field, source, from, to);
  id(to) = source.id(from);
}

}  // namespace millrace
