// The CPU's ways to a matrix product. make_gemm (gemm.h) checks a spec, fills in its leading dimensions and chooses.
// Each result depends on spec and values alone.
#pragma once

#include <memory>

#include "millrace/core/kernels/gemm.h"

namespace millrace::cpu {

// f32 and f64, any shape, in plain loops: element (i, j) is summed over k in order, in its own type.
std::unique_ptr<Gemm> make_loop_gemm(const GemmSpec& spec);

// f32 where m, n or k is 1: dot products, rows times a matrix, outer products. REQUIRES one of them to be 1.
std::unique_ptr<Gemm> make_narrow_gemm(const GemmSpec& spec);

// f32, any shape, by oneDNN on a grid of tiles that depends on the shape alone.
std::unique_ptr<Gemm> make_tiled_gemm(const GemmSpec& spec);

}  // namespace millrace::cpu
