#include "millrace/input/parquet/list_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/parquet/thrift_reader.h"

namespace millrace {

void VaryingLimit::add(uint64_t bytes) {
  constexpr uint64_t kMost = uint64_t{256} << 20;
  bytes_ += bytes;
  if (bytes_ <= kMost) return;
  throw DataError(cat("texts and lists that are read at once take more than ", kMost, " bytes"), {},
                  "set a smaller chunk_bytes");
}

ListRows::ListRows(const Args& args)
    : args_(args),
      spec_(args.column.field().spec),
      number_bytes_(args.column.value_bytes()),
      size_(spec_.ragged() ? 0 : static_cast<size_t>(spec_.shape.elements())),
      row_(args.row - 1) {}

void ListRows::begin_row() {
  end();
  ++row_;
  length_ = 0;
  closed_ = false;
  judged_ = spec_.ragged();
  if (spec_.ragged()) {
    list_ = &args_.rows.varying(args_.column.field_number(), row_);
    list_->clear();
  } else {
    fixed_ = args_.rows.at(args_.column.field_number(), row_);
  }
}

void ListRows::go_on() const {
  if (closed_) throw damaged_parquet("a list without values goes on");
}

void ListRows::close() {
  closed_ = true;
  if (length_ > 0) go_on();
}

void ListRows::end() {
  if (std::exchange(judged_, true) || length_ == size_) return;
  RowFault found = fault(ValueFault::malformed);
  found.length = length_;
  args_.faults.add(std::move(found));
}

RowFault ListRows::fault(ValueFault what) const { return {.row = row_, .column = &args_.column, .fault = what}; }

void ListRows::add_text(std::string_view text) {
  args_.limit.add(text.size() + sizeof(uint32_t));
  list_->add_text(text);
  ++length_;
}

void ListRows::add_numbers(const std::byte* numbers, size_t count) {
  if (!args_.column.checks_numbers()) return put(numbers, count);
  const ValueFault what = args_.column.fault_of(numbers);
  if (what == ValueFault::required) return add_missing_value();
  if (what != ValueFault::none) add_bad(fault(what));
  if (what == ValueFault::none) put(numbers, count);
}

void ListRows::put(const std::byte* numbers, size_t count) {
  if (spec_.ragged()) {
    args_.limit.add(count * number_bytes_);
    list_->add_bytes({numbers, count * number_bytes_});
  } else if (length_ < size_) {
    std::memcpy(fixed_ + length_ * number_bytes_, numbers, std::min(count, size_ - length_) * number_bytes_);
  }
  length_ += count;
}

void ListRows::add_bad(RowFault bad) {
  bad.row = row_;
  bad.element = length_++;
  args_.faults.add(std::move(bad));
}

// The default of a field of lists of any length is a whole list.
void ListRows::add_missing_value() {
  if (spec_.ragged() || !args_.column.has_default() || length_ >= size_) return add_bad(fault(ValueFault::required));
  put(args_.column.default_number(length_), 1);
}

void ListRows::add_missing_list() {
  judged_ = true;
  if (!args_.column.has_default()) return args_.faults.add(fault(ValueFault::required));
  const DefaultValues& defaults = args_.column.field().defaults;
  for (const std::string& text : defaults.texts) add_text(text);
  put(defaults.numbers.data(), defaults.numbers.size() / number_bytes_);
}

}  // namespace millrace
