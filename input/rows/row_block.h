// Rows: FieldSpec and RowSpec say what a row holds, RowBlock holds rows, RowSpan is a run of them, RowId says where a
// row came from.
//
// A RowBlock stores each field as its own array with a fixed distance between rows (a multiple of 64 bytes). This is
// the layout that a step reads, so a row moves by one memcpy for each field. Fields whose size varies from row to row
// are arrays of Varying instead. A RowBlock is reused: clear() keeps its memory. Not synchronised.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/export.h"
#include "millrace/core/tensor.h"

namespace millrace {

// One field: `shape` is the shape of one row, (n) for n columns.
struct MILLRACE_EXPORT FieldSpec {
  std::string name;
  DType dtype = DType::f32;  // the type of numbers
  Shape shape;
  bool text = false;               // texts, not numbers
  std::optional<char> split = {};  // ragged: any number of values in a row; in text this byte separates them

  bool ragged() const { return split.has_value(); }
  // Whether the number of bytes differs from row to row. If so, the values of a row are a Varying.
  bool varies() const { return text || ragged(); }
  // Bytes of a row in the block; a Varying has its own memory.
  size_t row_bytes() const {
    return varies() ? 0 : aligned_bytes(size_of(dtype) * static_cast<size_t>(shape.elements()));
  }
  // REQUIRES: !varies().
  TensorSpec tensor() const { return {shape, dtype}; }
  // The type of the values: "float32", "string".
  std::string_view type_name() const { return text ? "string" : to_string(dtype); }
  std::string type_text() const;  // "float32 (1024)", "string (1)", "int32 (ragged)"
  bool operator==(const FieldSpec&) const = default;
};

// The values of one row in a field whose size varies: numbers of one type, or texts. clear() keeps the memory.
class Varying {
 public:
  void clear() {
    bytes_.clear();
    ends_.clear();
  }
  template <class T>
  std::span<const T> numbers() const {
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }
  template <class T>
  std::span<T> numbers() {
    return {reinterpret_cast<T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }
  template <class T>
  void add_number(T value) {
    const auto* begin = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), begin, begin + sizeof value);
  }
  // Adds numbers of the field's type, as they lie in memory.
  void add_bytes(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  size_t texts() const { return ends_.size(); }
  std::string_view text(size_t index) const {
    const size_t begin = index == 0 ? 0 : ends_[index - 1];
    return {reinterpret_cast<const char*>(bytes_.data()) + begin, ends_[index] - begin};
  }
  // REQUIRES: all texts together have fewer than 2^32 bytes; the texts of one record always do.
  void add_text(std::string_view text) {
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), begin, begin + text.size());
    ends_.push_back(static_cast<uint32_t>(bytes_.size()));
  }
  size_t bytes() const { return bytes_.size() + ends_.size() * sizeof(uint32_t); }
  // Calls body(string_view) with pieces of bytes; two values give the same pieces only if they are equal.
  template <class Body>
  void visit_bytes(const Body& body) const {
    body(std::string_view(reinterpret_cast<const char*>(bytes_.data()), bytes_.size()));
    body(std::string_view(reinterpret_cast<const char*>(ends_.data()), ends_.size() * sizeof(uint32_t)));
  }
  bool operator==(const Varying&) const = default;

 private:
  std::vector<std::byte> bytes_;
  std::vector<uint32_t> ends_;  // for texts: where each one ends
};

struct MILLRACE_EXPORT RowSpec {
  std::vector<FieldSpec> fields;

  // Index of the field, or -1.
  int find(std::string_view name) const;
  // Bytes of a row in the block, without the values whose size varies.
  size_t row_bytes() const;
  bool varies() const;
  std::string text() const;  // "features: float32 (1024), label: float32 (1)"
  bool operator==(const RowSpec&) const = default;
};

// A spec that many blocks share, so that none of them copies it.
using SharedRowSpec = std::shared_ptr<const RowSpec>;

// Where a row came from: enough to find and read it again. Equal ids are the same record of the same pass.
struct RowId {
  uint32_t source = 0;     // which source of the graph
  uint32_t pass = 0;       // which time the source runs
  uint32_t file = 0;       // the source's number of the file; 0 for sources without files
  uint32_t length = 0;     // bytes of the record with its line end; 0 for sources without files
  uint64_t offset = 0;     // byte offset of the record, or the row's number
  uint64_t line = 0;       // 1-based line where the record starts, or the row's number + 1
  uint64_t next_line = 0;  // line of the record after it

  bool operator==(const RowId&) const = default;
};

// How much memory a RowBlock holds, whatever its rows look like.
struct RowMemory {
  size_t bytes = 0;
  size_t ids = 0;
  size_t fields = 0;

  // Whether it is at least as much as `other` in all three.
  bool covers(const RowMemory& other) const {
    return bytes >= other.bytes && ids >= other.ids && fields >= other.fields;
  }
  void cover(const RowMemory& other) {
    *this = {std::max(bytes, other.bytes), std::max(ids, other.ids), std::max(fields, other.fields)};
  }
  size_t total() const { return bytes + ids * sizeof(RowId); }
};

class MILLRACE_EXPORT RowBlock {
 public:
  RowBlock() = default;
  RowBlock(RowBlock&& other) noexcept { swap(other); }
  RowBlock& operator=(RowBlock&& other) noexcept;
  void swap(RowBlock& other) noexcept;

  // Makes an empty block for rows of `spec`, with room for at least `capacity`. Memory is kept if it is enough.
  // If `reader` is a CUDA device, it is host memory that this device can copy from; memory that is pinned stays pinned.
  // Give a shared spec to a block that changes its fields again and again: then the change allocates nothing.
  void configure(const SharedRowSpec& spec, int64_t capacity, Device reader = Device::cpu());
  void configure(const RowSpec& spec, int64_t capacity, Device reader = Device::cpu());

  const RowSpec& spec() const { return *shared_spec(); }
  const SharedRowSpec& shared_spec() const { return spec_ ? spec_ : no_fields(); }
  int64_t size() const { return size_; }
  int64_t capacity() const { return capacity_; }
  // Whether its memory is pinned, so that a device may copy from it while the host goes on.
  bool pinned() const { return !reader_.is_cpu(); }
  void clear() { size_ = 0; }
  // REQUIRES: size <= capacity(). New rows have undefined contents.
  void resize(int64_t size) { size_ = size; }
  // Makes room for at least `capacity` rows, keeping the rows that are there.
  void grow(int64_t capacity);
  // Takes at least as much memory as `memory`, which another block holds. configure() and grow() then allocate nothing
  // for rows that fitted into that block. REQUIRES: size() == 0.
  void reserve(const RowMemory& memory);
  RowMemory memory() const { return {memory_.bytes(), ids_.bytes() / sizeof(RowId), base_.capacity()}; }

  // Start of field `field` of row `row`. REQUIRES: the field does not vary.
  std::byte* at(size_t field, int64_t row) { return base_[field] + static_cast<size_t>(row) * stride_[field]; }
  const std::byte* at(size_t field, int64_t row) const {
    return base_[field] + static_cast<size_t>(row) * stride_[field];
  }
  template <class T>
  T* row(size_t field, int64_t row) {
    return reinterpret_cast<T*>(at(field, row));
  }
  template <class T>
  const T* row(size_t field, int64_t row) const {
    return reinterpret_cast<const T*>(at(field, row));
  }
  // REQUIRES: the field varies.
  Varying& varying(size_t field, int64_t row) { return varying_[field][static_cast<size_t>(row)]; }
  const Varying& varying(size_t field, int64_t row) const { return varying_[field][static_cast<size_t>(row)]; }
  // The numbers of a field, ragged or not.
  template <class T>
  std::span<T> numbers(size_t field, int64_t row) {
    const FieldSpec& spec = spec_->fields[field];
    if (spec.ragged()) return varying(field, row).numbers<T>();
    return {this->row<T>(field, row), static_cast<size_t>(spec.shape.elements())};
  }
  template <class T>
  std::span<const T> numbers(size_t field, int64_t row) const {
    const FieldSpec& spec = spec_->fields[field];
    if (spec.ragged()) return varying(field, row).numbers<T>();
    return {this->row<T>(field, row), static_cast<size_t>(spec.shape.elements())};
  }
  // The texts of a row: set_text() replaces what the field holds by one text, add_text() adds one for the next column.
  // REQUIRES: a field of texts; all texts of a row together have fewer than 2^32 bytes.
  void set_text(size_t field, int64_t row, std::string_view text) {
    varying(field, row).clear();
    add_text(field, row, text);
  }
  void add_text(size_t field, int64_t row, std::string_view text) { varying(field, row).add_text(text); }
  // Empties all values whose size varies, in all rows.
  void clear_varying();
  // Throws ShapeError if a row has texts, but not as many as their field has columns. Messages count rows from `first`.
  void check_texts(int64_t first = 0) const;
  // Gives a field of texts empty ones in rows where it has none. Ragged fields stay as they are.
  void complete_texts();
  // The bytes of a row's values whose size varies.
  size_t varying_bytes(int64_t row) const;
  RowId& id(int64_t row) { return static_cast<RowId*>(ids_.data())[row]; }
  const RowId& id(int64_t row) const { return static_cast<const RowId*>(ids_.data())[row]; }
  std::span<const RowId> ids() const { return {static_cast<const RowId*>(ids_.data()), static_cast<size_t>(size_)}; }

  // Field `field` of all rows, with the shape (size(), ...). REQUIRES: it does not vary.
  TensorView view(size_t field);
  ConstTensorView view(size_t field) const;

  // Copies row `from` of `source` over row `to`. REQUIRES: the specs are equal.
  void copy_row(const RowBlock& source, int64_t from, int64_t to);
  // Copies only field `field`; the other fields of the two blocks may differ.
  void copy_field(size_t field, const RowBlock& source, int64_t from, int64_t to) {
    if (stride_[field] > 0) {
      std::memcpy(at(field, to), source.at(field, from), stride_[field]);
    } else if (&source != this || from != to) {
      varying(field, to) = source.varying(field, from);
    }
  }

 private:
  static const SharedRowSpec& no_fields();
  // Sets where the fields lie in `memory_`, with room for `capacity` rows.
  void place(int64_t capacity);
  // Makes room for the ids of `count` rows, keeping the ids of the rows that are there.
  void reserve_ids(size_t count);

  SharedRowSpec spec_;  // null: no fields
  int64_t size_ = 0, capacity_ = 0;
  std::vector<std::byte*> base_;
  std::vector<size_t> stride_;                 // 0: the field varies
  std::vector<std::vector<Varying>> varying_;  // by field; empty if the field does not vary
  Memory ids_;                                 // an array of RowId
  Memory memory_;
  Device reader_;
};

// `count` neighbouring rows of a block; count 0 means the end of the data. Valid until the next call to the object that
// gave it.
struct RowSpan {
  const RowBlock* block = nullptr;
  int64_t begin = 0;
  int64_t count = 0;

  explicit operator bool() const { return count > 0; }
};

}  // namespace millrace
