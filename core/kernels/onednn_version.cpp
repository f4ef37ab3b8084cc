#include "millrace/core/kernels/onednn_version.h"

#include <dnnl.h>

#include "millrace/core/text.h"

namespace millrace {

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return cat(version->major, '.', version->minor, '.', version->patch);
}

}  // namespace millrace
