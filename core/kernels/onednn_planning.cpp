#include "millrace/core/kernels/onednn_planning.h"

namespace millrace::cpu {

namespace {

constinit std::mutex planning;

}  // namespace

OneDnnPlanning::OneDnnPlanning() : lock_(planning), engine_(dnnl::engine::kind::cpu, 0) {}

}  // namespace millrace::cpu
