#include "millrace/trainer/cli/exit_code.h"

namespace millrace::cli {

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::config: return kExitConfig;
    case ErrorKind::data: return kExitData;
    case ErrorKind::missing: return kExitMissing;
    case ErrorKind::io: return kExitIo;
    case ErrorKind::device: return kExitIo;
    case ErrorKind::internal: return kExitInternal;
  }
  return kExitInternal;
}

int exit_code_of_signal(int number) { return 128 + number; }

}  // namespace millrace::cli
