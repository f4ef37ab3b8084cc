// CsvKernels: the two inner loops of reading CSV, for one kind of processor. One finds the marks; the other parses the
// numbers between them.
//
// They give the same bits on every processor. Stateless: any thread may call them at any time, in FloatMode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "millrace/input/csv/number_parser.h"
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

// The abilities of a processor; each level includes the levels before it.
enum class ProcessorLevel : uint8_t { scalar, avx2, avx512 };
std::string_view to_string(ProcessorLevel level);

struct CsvKernels {
  // parse_run() for each type.
  size_t (*parse_f32)(const NumberRun& run, float* out);
  size_t (*parse_f64)(const NumberRun& run, double* out);
  size_t (*parse_i32)(const NumberRun& run, int32_t* out);
  size_t (*parse_i64)(const NumberRun& run, int64_t* out);
  IndexFunction* index;
};

// The kernels of `level`; nullptr if this processor, or this build, lacks them.
const CsvKernels* csv_kernels(ProcessorLevel level);
// The kernels in use; by default the best that this processor has.
const CsvKernels& csv_kernels();
// Uses other kernels, to test or measure them. REQUIRES: nothing is being read.
void use_csv_kernels(const CsvKernels& kernels);

// What the levels are made of; all give the same results. Only a processor of the level may call it.
const CsvKernels* scalar_csv_kernels();
IndexFunction index_words;  // 8 bytes at a time, on any processor
#if defined(__x86_64__)
const CsvKernels* avx2_csv_kernels();
const CsvKernels* avx512_csv_kernels();
IndexFunction index_sse2;  // on every x86-64
IndexFunction index_avx2;
IndexFunction index_avx512;
#endif

}  // namespace millrace
