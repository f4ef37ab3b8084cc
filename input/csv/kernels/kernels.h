// CsvKernels: the two inner loops of reading CSV, for one kind of processor. One finds the marks; the other parses the
// numbers between them.
//
// They give the same bits on every processor. Stateless: any thread may call them at any time, in FloatMode.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

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
  template <class T>
  using Parse = size_t (*)(const FieldRun& run, T* out);

  std::tuple<Parse<float>, Parse<double>, Parse<int32_t>, Parse<int64_t>> parse;  // parse_run() for each type
  IndexFunction* index;
};

// The kernels of `level`; nullptr if this processor, or this build, lacks them.
const CsvKernels* csv_kernels(ProcessorLevel level);
// The kernels in use; by default the best that this processor has.
const CsvKernels& csv_kernels();
// Uses other kernels, to test or measure them. REQUIRES: nothing is being read.
void use_csv_kernels(const CsvKernels& kernels);

// The kernels of the levels; all give the same results. Only a processor of the level may call them.
const CsvKernels* scalar_csv_kernels();
IndexFunction index_words;  // 8 bytes at a time, on any processor
#if defined(__x86_64__)
const CsvKernels* avx2_csv_kernels();
const CsvKernels* avx512_csv_kernels();
IndexFunction index_sse2;  // on every x86-64
IndexFunction index_avx2;
IndexFunction index_avx512;
#endif

// Parses the run's fields into `out` until one is not a number; returns how many are done. Gives the same values as
// parse_number() for each field.
template <class T>
[[nodiscard]] size_t parse_run(const FieldRun& run, T* out) {
  // For one number the set-up of the vector kernels costs too much: see bench/csv_bench.cpp.
  const CsvKernels& kernels = run.count > 1 ? csv_kernels() : *scalar_csv_kernels();
  return std::get<CsvKernels::Parse<T>>(kernels.parse)(run, out);
}

// Bytes are parsed as wider numbers, some at a time.
[[nodiscard]] inline size_t parse_run(const FieldRun& run, uint8_t* out) {
  std::array<int32_t, 64> wide;
  size_t done = 0;
  while (done < run.count) {
    const FieldRun some = {run.text, run.start(done), run.ends + done, std::min(wide.size(), run.count - done)};
    const size_t parsed = parse_run(some, wide.data());
    for (size_t i = 0; i < parsed; ++i, ++done) {
      out[done] = static_cast<uint8_t>(wide[i]);
      if (out[done] != wide[i]) return done;
    }
    if (parsed < some.count) return done;
  }
  return done;
}

}  // namespace millrace
