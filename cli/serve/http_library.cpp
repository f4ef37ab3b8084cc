#include "millrace/cli/serve/http_library.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

constexpr char kMhdHint[] = "install libmicrohttpd12 (Debian 12), or GNU libmicrohttpd 0.9.73 or later";
constexpr int kOldest[] = {0, 9, 73};

}  // namespace

MhdCalls::MhdCalls()
    : library_(
          {.name = "libmicrohttpd", .purpose = "trainer serve", .sonames = {"libmicrohttpd.so.12"}, .hint = kMhdHint}) {
  if (!is_too_old(version())) return;
  throw ConfigError(cat(library_.path(), " is libmicrohttpd ", version(), ", which is too old"), {}, kMhdHint);
}

bool MhdCalls::is_too_old(const char* version) {
  int parts[3] = {};
  if (std::sscanf(version, "%d.%d.%d", &parts[0], &parts[1], &parts[2]) < 2) return true;
  return std::lexicographical_compare(std::begin(parts), std::end(parts), std::begin(kOldest), std::end(kOldest));
}

const MhdCalls& mhd() {
  static const MhdCalls calls;
  return calls;
}

}  // namespace millrace::cli
