#include "millrace/trainer/config/log_options.h"

namespace millrace {

void LogOptions::declare(OptionReader& o) {
  o.optional("json", json,
             "the file for the lines that trainer train --json prints: a training replaces it, and one that goes on "
             "from a checkpoint goes on with it; only the program trainer writes it");
  if (!o.reading()) return;
  if (json && json->empty()) throw o.node("json").error("expected the path of a file, got an empty text");
}

}  // namespace millrace
