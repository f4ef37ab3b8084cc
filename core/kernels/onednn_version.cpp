#include "millrace/core/kernels/onednn_version.h"

#include <dnnl.h>

#include "millrace/core/text.h"

namespace millrace {

std::string onednn_version() {
  const dnnl_version_t& loaded = *dnnl_version();
  return cat("oneDNN ", loaded.major, '.', loaded.minor, '.', loaded.patch);
}

}  // namespace millrace
