// The configuration's key `log`: files that say how a training goes.
#pragma once

#include <optional>
#include <string>

#include "millrace/core/export.h"
#include "millrace/core/options.h"

namespace millrace {

// `{json: FILE}`. Programs write these files, not the library.
struct MILLRACE_EXPORT LogOptions {
  std::optional<std::string> json;  // not empty

  void declare(OptionReader& o);
};

}  // namespace millrace
