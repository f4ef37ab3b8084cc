// Any bytes as a model file: they are refused with a DataError that says where, or every value in them can be read.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/files/model_file.h"

namespace millrace {
namespace {

// A file in memory that has a path.
class MemoryFile {
 public:
  MemoryFile(const uint8_t* data, size_t size) {
    if (descriptor_ < 0 || ::write(descriptor_, data, size) != static_cast<ssize_t>(size)) std::abort();
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return cat("/proc/self/fd/", descriptor_); }

 private:
  const int descriptor_ = ::memfd_create("model", MFD_CLOEXEC);
};

void check(const std::string& path) {
  try {
    const ModelFile file = ModelFile::read(path);
    [[maybe_unused]] volatile unsigned char last = 0;
    for (const ModelFile::Entry& entry : file.entries()) {
      const auto* bytes = static_cast<const unsigned char*>(file.values(entry).data());
      for (size_t i = 0; i < entry.spec.bytes(); ++i) last = bytes[i];
    }
  } catch (const DataError& error) {
    if (error.place().file == path) return;
    std::fprintf(stderr, "an error at another place: %s\n", error.what());
    std::abort();
  }
}

}  // namespace
}  // namespace millrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const millrace::MemoryFile file(data, size);
  millrace::check(file.path());
  return 0;
}
