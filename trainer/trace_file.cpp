#include <string_view>

#include "millrace/core/trace.h"
#include "millrace/trainer/files/atomic_file.h"
#include "millrace/trainer/trainer.h"

namespace millrace {

void write_trace(const Trace& trace, const std::string& path) {
  AtomicFile file(path);
  trace.write([&file](std::string_view piece) { file.write(piece); });
  file.commit();
}

}  // namespace millrace
