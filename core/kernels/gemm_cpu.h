// The implementations of matrix products on the CPU. make_gemm() (gemm.h) fills in a spec's leading dimensions and
// chooses one. Each result depends only on spec and values.
#pragma once

#include <memory>

#include "millrace/core/kernels/gemm.h"

namespace millrace::cpu {

// f64, for checks, any shape, in plain loops: element (i, j) is summed over k in order.
std::unique_ptr<Gemm> make_loop_gemm(Context& context, const GemmSpec& spec);

// f32, if m, n or k is 1: dot products, rows times a matrix, outer products. REQUIRES: one of them is 1.
std::unique_ptr<Gemm> make_narrow_gemm(Context& context, const GemmSpec& spec);

// f32, any shape: tiles by dnnl_sgemm, which writes in place but packs transposed operands into memory of its own.
std::unique_ptr<Gemm> make_sgemm_gemm(Context& context, const GemmSpec& spec);

// f32, any shape: tiles by oneDNN's matmul primitive into buffers made here; faster if rows of op(a) and columns of
// op(b) are contiguous.
std::unique_ptr<Gemm> make_matmul_gemm(Context& context, const GemmSpec& spec);

// f32, any shape. Every element of c is the dot product of two rows, in an order that depends only on k. REQUIRES: rows
// of op(a) and columns of op(b) are contiguous.
std::unique_ptr<Gemm> make_dots_gemm(Context& context, const GemmSpec& spec);

}  // namespace millrace::cpu
