#include "millrace/trainer/files/trace_file.h"

#include <string_view>

#include "millrace/trainer/files/atomic_file.h"

namespace millrace {

void write_trace(const Trace& trace, const std::string& path) {
  AtomicFile file(path);
  trace.write([&file](std::string_view piece) { file.write(piece); });
  file.commit();
}

}  // namespace millrace
