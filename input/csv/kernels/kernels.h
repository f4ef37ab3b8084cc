// CsvKernels: the two inner loops of reading CSV, for one kind of processor. One finds the marks; the other parses the
// numbers between them.
//
// They give the same bits on every processor. Stateless: any thread may call them at any time, in FloatMode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "millrace/input/csv/kernels/index.h"
#include "millrace/input/csv/number_parser.h"

namespace millrace {

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

// Each of these is defined in a file of its own; nullptr on other architectures.
const CsvKernels* scalar_csv_kernels();
const CsvKernels* avx2_csv_kernels();
const CsvKernels* avx512_csv_kernels();

}  // namespace millrace
