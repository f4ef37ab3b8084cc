#include "millrace/input/parquet/column_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/input/parquet/list_rows.h"

namespace millrace {

namespace {

template <class Word>
Word word_at(const std::byte* from) {
  Word out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

// Calls body(Word{}) for words as large as the field's numbers.
template <class Body>
void with_word(DType dtype, const Body& body) {
  switch (size_of(dtype)) {
    case 1: return body(uint8_t{});
    case 4: return body(uint32_t{});
    default: return body(uint64_t{});
  }
}

}  // namespace

// How many of the rows lie in the page of the spot, at most kValuesAtOnce.
size_t ColumnReader::begin_rows(size_t count, ReaderScratch& scratch) {
  if (spot_.page != nullptr && row_ == spot_.end) finish();
  if (spot_.page == nullptr) spot_ = pages_->at(row_, scratch);
  return static_cast<size_t>(std::min<uint64_t>({count, spot_.end - row_, kValuesAtOnce}));
}

void ColumnReader::end_rows(size_t count) {
  row_ += count;
  rows_read_ += count;
  spot_.cursor.row = row_;
}

void ColumnReader::finish() {
  if (spot_.page != nullptr) pages_->leave(std::move(spot_), rows_read_);
  spot_ = {};
  rows_read_ = 0;
}

void ColumnReader::read_numbers(size_t count, std::byte* to, int64_t row, ReaderScratch& scratch) {
  with_word(column().field().spec.dtype, [&](auto word) {
    auto* out = reinterpret_cast<decltype(word)*>(to);
    while (count > 0) {
      const size_t some = begin_rows(count, scratch);
      read_block(some, out, row, scratch);
      end_rows(some);
      out += some;
      row += static_cast<int64_t>(some);
      count -= some;
    }
  });
}

template <class Word>
void ColumnReader::read_block(size_t count, Word* to, int64_t row, ReaderScratch& scratch) {
  const size_t there = spot_.page->take_levels(spot_.cursor, count, scratch);
  // The values that are there go to the end, and from there to their places.
  Word* const dense = to + (count - there);
  decode(there, dense, scratch);
  const uint8_t* const levels = scratch.definition.data();
  const uint8_t most = column().column().most_definition;
  const bool all = there == count;
  const bool has_default = column().has_default();
  if (!all) {
    const Word missing = has_default ? word_at<Word>(column().default_number()) : Word{0};
    for (size_t i = 0, next = 0; i < count; ++i) {
      const bool is_there = levels[i] == most;
      to[i] = is_there ? dense[next] : missing;
      next += is_there ? 1 : 0;
    }
  }
  const auto fault = [&](size_t i, ValueFault what) {
    scratch.faults.add({.row = row + static_cast<int64_t>(i), .column = &column(), .fault = what});
  };
  const bool lacks = !all && !has_default;
  for (size_t i = 0, next = 0, bad = 0; i < count && (lacks || bad < scratch.bad.size()); ++i) {
    if (!all && levels[i] != most) {
      if (!has_default) fault(i, ValueFault::required);
      continue;
    }
    if (bad < scratch.bad.size() && scratch.bad[bad].row == static_cast<int64_t>(next)) {
      RowFault& one = scratch.bad[bad++];
      one.row = row + static_cast<int64_t>(i);
      scratch.faults.add(std::move(one));
    }
    ++next;
  }
  if (!column().checks_numbers()) return;
  for (size_t i = 0; i < count; ++i) {
    const ValueFault found = column().fault_of(reinterpret_cast<const std::byte*>(to + i));
    if (found == ValueFault::none) continue;
    if (found == ValueFault::required && has_default) {
      to[i] = word_at<Word>(column().default_number());
    } else {
      fault(i, found);
    }
  }
}

// Sets scratch.bad.
template <class Word>
void ColumnReader::decode(size_t count, Word* to, ReaderScratch& scratch) {
  scratch.bad.clear();
  const PageValues& values = spot_.page->values();
  const Conversion& conversion = column().conversion();
  const auto bad = [&](size_t i, ValueFault fault, std::string value) {
    scratch.bad.push_back(
        {.row = static_cast<int64_t>(i), .column = &column(), .fault = fault, .value = std::move(value)});
  };
  const auto text_at = [&](const std::byte* stored) {
    return conversion.text_of({reinterpret_cast<const char*>(stored), conversion.width()});
  };
  std::byte ignored[sizeof(Word)];
  if (const Dictionary* const dictionary = values.dictionary()) {
    if (dictionary->bad.empty()) return values.look_up(spot_.cursor.values, count, to);
    const uint32_t* const entries = values.entries(spot_.cursor.values, count, scratch.values);
    const auto* const numbers = reinterpret_cast<const Word*>(dictionary->numbers.data());
    for (size_t i = 0; i < count; ++i) to[i] = numbers[entries[i]];
    for (size_t i = 0; i < count; ++i) {
      if (dictionary->bad[entries[i]] == 0) continue;
      if (conversion.from_texts()) {
        const std::string_view text = dictionary->texts[entries[i]];
        bad(i, column().convert_text(text, ignored), conversion.text_of(text));
      } else {
        bad(i, ValueFault::malformed, text_at(dictionary->bytes.data() + entries[i] * conversion.width()));
      }
    }
    return;
  }
  if (conversion.from_texts()) {
    size_t i = 0;
    values.texts(spot_.cursor.values, count, scratch.values, [&](std::string_view text) {
      const ValueFault fault = column().convert_text(text, reinterpret_cast<std::byte*>(to + i));
      if (fault != ValueFault::none) bad(i, fault, conversion.text_of(text));
      ++i;
    });
    return;
  }
  const std::byte* const from = values.fixed(spot_.cursor.values, count, scratch.values);
  if (conversion.convert(from, count, reinterpret_cast<std::byte*>(to))) return;
  for (size_t i = 0; i < count; ++i) {
    const std::byte* const one = from + i * conversion.width();
    if (!conversion.convert(one, 1, ignored)) bad(i, ValueFault::malformed, text_at(one));
  }
}

void ColumnReader::read_varying(size_t count, RowBlock& rows, int64_t row, ReaderScratch& scratch) {
  if (column().column().is_list) return read_lists(count, rows, row, scratch);
  while (count > 0) {
    const size_t some = begin_rows(count, scratch);
    read_texts(some, rows, row, scratch);
    end_rows(some);
    row += static_cast<int64_t>(some);
    count -= some;
  }
}

void ColumnReader::read_texts(size_t count, RowBlock& rows, int64_t row, ReaderScratch& scratch) {
  const size_t there = spot_.page->take_levels(spot_.cursor, count, scratch);
  const uint8_t most = column().column().most_definition;
  const size_t field = column().field_number();
  const Conversion& conversion = column().conversion();
  size_t i = 0;
  const auto add = [&](std::string_view text, bool missing) {
    const int64_t at = row + static_cast<int64_t>(i++);
    if (missing && column().has_default()) text = column().default_text();
    if (missing && !column().has_default()) {
      scratch.faults.add({at, &column(), ValueFault::required, std::string(text)});
    }
    scratch.varying.add(text.size() + sizeof(uint32_t));
    rows.add_text(field, at, text);
  };
  spot_.page->values().texts(spot_.cursor.values, there, scratch.values, [&](std::string_view text) {
    while (there < count && scratch.definition[i] != most) add({}, true);
    std::string made;
    if (conversion.makes_texts()) text = made = conversion.text_of(text);
    add(text, column().is_missing(text));
  });
  while (i < count) add({}, true);
}

void ColumnReader::read_lists(size_t count, RowBlock& rows, int64_t row, ReaderScratch& scratch) {
  ListRows lists({column(), rows, row, scratch.faults, scratch.varying});
  begin_rows(count, scratch);
  size_t begun = 0;
  while (spot_.page != nullptr) {
    const Page& page = *spot_.page;
    if (spot_.cursor.entries == page.entries()) {
      // The last row may go on in the next page.
      spot_.cursor.row = row_ + begun;
      ColumnPages::Spot next = pages_->after(spot_, scratch);
      finish();
      spot_ = std::move(next);
      continue;
    }
    const size_t some = std::min<size_t>(page.entries() - spot_.cursor.entries, kValuesAtOnce);
    const uint8_t* const repetition = page.peek_repetition(spot_.cursor, some, scratch);
    size_t entries = 0;
    for (; entries < some; ++entries) {
      if (repetition[entries] != 0) continue;
      if (begun == count) break;
      ++begun;
      ++rows_read_;
    }
    read_entries(entries, lists, scratch);
    if (entries < some) break;
  }
  lists.end();
  if (begun < count) throw damaged_parquet("it has fewer values than rows");
  row_ += count;
  spot_.cursor.row = row_;
}

void ColumnReader::read_entries(size_t count, ListRows& lists, ReaderScratch& scratch) {
  const size_t there = spot_.page->take_levels(spot_.cursor, count, scratch);
  const uint8_t* const repetition = scratch.repetition.data();
  const uint8_t* const levels = scratch.definition.data();
  const ParquetColumn& kind = column().column();
  size_t i = 0;
  const auto begin_entry = [&] {
    if (repetition[i] == 0) {
      lists.begin_row();
    } else {
      lists.go_on();
    }
    ++i;
  };
  const auto pass_missing = [&] {
    while (i < count && there < count && levels[i] != kind.most_definition) {
      const uint8_t level = levels[i];
      begin_entry();
      if (level <= kind.empty_definition) lists.close();
      if (level < kind.empty_definition) lists.add_missing_list();
      if (level > kind.empty_definition) lists.add_missing_value();
    }
  };
  if (column().field().spec.text) {
    const Conversion& conversion = column().conversion();
    spot_.page->values().texts(spot_.cursor.values, there, scratch.values, [&](std::string_view text) {
      pass_missing();
      begin_entry();
      std::string made;
      if (conversion.makes_texts()) text = made = conversion.text_of(text);
      lists.add_text(text);
    });
    return pass_missing();
  }
  with_word(column().field().spec.dtype, [&](auto word) {
    auto* const numbers = reinterpret_cast<decltype(word)*>(scratch.numbers.data());
    decode(there, numbers, scratch);
    const bool each = column().checks_numbers() || !scratch.bad.empty() || there < count;
    size_t bad = 0;
    for (size_t k = 0; k < there;) {
      pass_missing();
      begin_entry();
      size_t run = 1;
      if (!each) {
        const void* const next = std::memchr(repetition + i, 0, count - i);
        run += next != nullptr ? static_cast<size_t>(static_cast<const uint8_t*>(next) - (repetition + i)) : count - i;
        i += run - 1;
      }
      const bool is_bad = bad < scratch.bad.size() && scratch.bad[bad].row == static_cast<int64_t>(k);
      if (is_bad) {
        lists.add_bad(std::move(scratch.bad[bad++]));
      } else {
        lists.add_numbers(reinterpret_cast<const std::byte*>(numbers + k), run);
      }
      k += run;
    }
    pass_missing();
  });
}

}  // namespace millrace
