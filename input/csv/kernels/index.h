// Where delimiters, line feeds and quotes lie, for each kind of processor; all give the same.
//
// Stateless: any thread may call at any time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/input/csv/text_index.h"

namespace millrace {

// What an index gains: entries are written from the pointers on.
struct IndexEnd {
  uint32_t* separators = nullptr;
  TextIndex::Event* events = nullptr;
  uint32_t separator_count = 0;  // that lie before `separators`
};

// Behind what is needed, so many entries of an index may be overwritten.
inline constexpr size_t kSpareEntries = 64;

// Adds the marks of text[from, to) to the index and returns its new end. REQUIRES: room for to - from + kSpareEntries
// of each.
using IndexFunction = IndexEnd(const char* text, size_t from, size_t to, const TextMarks& marks, IndexEnd end);

IndexFunction index_words;  // 8 bytes at a time, on any processor
#if defined(__x86_64__)
IndexFunction index_sse2;  // on every x86-64
IndexFunction index_avx2;
IndexFunction index_avx512;
#endif

}  // namespace millrace
