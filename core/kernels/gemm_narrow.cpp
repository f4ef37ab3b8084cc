#include "millrace/core/kernels/gemm_cpu.h"

namespace millrace::cpu {

std::unique_ptr<Gemm> make_narrow_gemm(const GemmSpec& spec) { return make_loop_gemm(spec); }

}  // namespace millrace::cpu
