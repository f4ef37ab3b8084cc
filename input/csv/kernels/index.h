// Functions that find where delimiters, line feeds and quotes lie, one for each kind of processor. All give the same
// result.
//
// Stateless: any thread may call at any time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/input/csv/text_index.h"

namespace millrace {

// The end of an index: new entries are written from the pointers on.
struct IndexEnd {
  uint32_t* separators = nullptr;
  TextIndex::Event* events = nullptr;
  uint32_t separator_count = 0;  // how many lie before `separators`
};

// How many entries of an index may be overwritten beyond those that are needed.
inline constexpr size_t kSpareEntries = 64;

// Adds the marks in text[from, to) to the index, and returns its new end. REQUIRES: there is room for to - from +
// kSpareEntries separators and as many events.
using IndexFunction = IndexEnd(const char* text, size_t from, size_t to, const TextMarks& marks, IndexEnd end);

IndexFunction index_words;  // 8 bytes at a time, on any processor
#if defined(__x86_64__)
IndexFunction index_sse2;  // on every x86-64
IndexFunction index_avx2;
IndexFunction index_avx512;
#endif

}  // namespace millrace
