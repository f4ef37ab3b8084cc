#include "millrace/core/kernels/onednn_planning.h"

#include <mutex>

#include "millrace/core/errors.h"
#include "millrace/core/library_call.h"
#include "millrace/core/text.h"

namespace millrace::cpu {

namespace {

constinit std::mutex planning;

}  // namespace

void plan_inside(Context& context, const std::string& what, FunctionRef<void(const dnnl::engine&)> plan) {
  context.executor().run([&] {
    try {
      const LibraryCall mark;
      const std::lock_guard lock(planning);
      plan(dnnl::engine(dnnl::engine::kind::cpu, 0));
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
