// CsvKernels: the two inner loops of CSV, where marks lie and which numbers stand between them, for one kind of
// processor.
//
// Whatever the processor, they give the same bits. Stateless: any thread may call at any time, in FloatMode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "millrace/input/csv/kernels/index.h"
#include "millrace/input/csv/number_parser.h"

namespace millrace {

// What a processor can do, each with all that comes before it.
enum class ProcessorLevel : uint8_t { scalar, avx2, avx512 };
std::string_view to_string(ProcessorLevel level);

struct CsvKernels {
  // parse_run() of each type.
  size_t (*parse_f32)(const NumberRun& run, float* out);
  size_t (*parse_f64)(const NumberRun& run, double* out);
  size_t (*parse_i32)(const NumberRun& run, int32_t* out);
  size_t (*parse_i64)(const NumberRun& run, int64_t* out);
  IndexFunction* index;
};

// Those of `level`; nullptr where this processor, or this build, lacks them.
const CsvKernels* csv_kernels(ProcessorLevel level);
// Those in use: the best that this processor has.
const CsvKernels& csv_kernels();
// Takes others, to test or measure them. REQUIRES: nothing is being read.
void use_csv_kernels(const CsvKernels& kernels);

// What one file each defines; nullptr on other architectures.
const CsvKernels* scalar_csv_kernels();
const CsvKernels* avx2_csv_kernels();
const CsvKernels* avx512_csv_kernels();

}  // namespace millrace
