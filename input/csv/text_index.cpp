#include "millrace/input/csv/text_index.h"

#include <algorithm>

#include "millrace/input/csv/kernels/kernels.h"

namespace millrace {

void TextIndex::reserve(size_t entries) {
  entries += kSpareEntries;
  if (separators_.size() < entries) separators_.resize(entries);
  if (events_.size() < entries) events_.resize(entries);
}

void TextIndex::clear() { size_ = separator_count_ = event_count_ = 0; }

void TextIndex::keep(size_t first, size_t last) {
  std::copy(separators_.begin() + static_cast<ptrdiff_t>(first), separators_.begin() + static_cast<ptrdiff_t>(last),
            separators_.begin());
  separator_count_ = last - first;
  event_count_ = 0;
}

void TextIndex::make_room(size_t bytes) {
  const auto grow = [bytes](auto& list, size_t used) {
    if (list.size() < used + bytes) list.resize(std::max(used + bytes, list.size() * 2));
  };
  grow(separators_, separator_count_);
  grow(events_, event_count_);
}

void TextIndex::extend(const char* text, size_t to, const TextMarks& marks) {
  make_room(to - size_ + kSpareEntries);
  uint32_t* separators = separators_.data() + separator_count_;
  Event* events = events_.data() + event_count_;
  const IndexEnd end =
      csv_kernels().index(text, size_, to, marks, {separators, events, static_cast<uint32_t>(separator_count_)});
  size_ = to;
  separator_count_ = end.separator_count;
  event_count_ = static_cast<size_t>(end.events - events_.data());
}

void TextIndex::finish() {
  make_room(1);
  events_[event_count_++] = {static_cast<uint32_t>(size_), static_cast<uint32_t>(separator_count_)};
  separators_[separator_count_++] = static_cast<uint32_t>(size_);
}

}  // namespace millrace
