#include "millrace/core/kernels/onednn_planning.h"

#include "millrace/core/errors.h"
#include "millrace/core/library_call.h"
#include "millrace/core/text.h"

namespace millrace::cpu {

namespace {

constinit std::mutex planning;

}  // namespace

OneDnnPlanning::OneDnnPlanning() : lock_(planning), engine_(dnnl::engine::kind::cpu, 0) {}

void plan_inside(Context& context, const std::string& what, FunctionRef<void(const dnnl::engine&)> plan) {
  context.executor().run([&] {
    try {
      const LibraryCall mark;
      plan(OneDnnPlanning().engine());
    } catch (const dnnl::error& failure) {
      throw InternalError(cat("oneDNN could not plan ", what, ": ", failure.what()));
    }
  });
}

std::string onednn_version() {
  const dnnl_version_t& loaded = *dnnl_version();
  return cat("oneDNN ", loaded.major, '.', loaded.minor, '.', loaded.patch);
}

}  // namespace millrace::cpu
