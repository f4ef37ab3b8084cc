#include "millrace/core/kernels/onednn_planning.h"

#include <sys/mman.h>

#include <cerrno>
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
      require_code_memory();
      plan(dnnl::engine(dnnl::engine::kind::cpu, 0));
    } catch (const dnnl::error& failure) {
      throw InternalError(cat("oneDNN could not plan ", what, ": ",
                              failure.status == dnnl_out_of_memory ? status_text(failure.status) : failure.what()));
    }
  });
}

void require_code_memory() {
  // The first product writes 6 MB (2.6, AVX-512).
  constexpr size_t kMostBytes = size_t{16} << 20;
  void* const memory = ::mmap(nullptr, kMostBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw InternalError(cat("out of memory: ", kMostBytes, " bytes for code of oneDNN"));
  const int failure = ::mprotect(memory, kMostBytes, PROT_READ | PROT_WRITE | PROT_EXEC) == 0 ? 0 : errno;
  ::munmap(memory, kMostBytes);
  if (failure == ENOMEM) throw InternalError(cat("out of memory: ", kMostBytes, " bytes for code of oneDNN"));
  if (failure != 0) {
    throw DeviceError(cat("oneDNN cannot write code for this processor: ", errno_text(failure)), {},
                      "the system must allow memory that is written and executed");
  }
}

std::string status_text(dnnl_status_t status) {
  return status == dnnl_out_of_memory ? "out of memory" : cat("status ", static_cast<int>(status));
}

std::string onednn_version() {
  const dnnl_version_t& loaded = *dnnl_version();
  return cat("oneDNN ", loaded.major, '.', loaded.minor, '.', loaded.patch);
}

}  // namespace millrace::cpu
