#include "millrace/cli/report/check_report.h"

#include <fmt/format.h>

#include "millrace/cli/text/json_text.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace::cli {

std::string check_text(const CheckReport& report) {
  std::string out = fmt::format("input: batches of {}, {}\nmodel:\n", count_of(report.batch_size, "row"),
                                escape_controls(report.rows));
  for (size_t begin = 0; begin < report.model.size();) {
    const size_t end = std::min(report.model.find('\n', begin), report.model.size());
    out += cat("  ", report.model.substr(begin, end - begin), '\n');
    begin = end + 1;
  }
  out += fmt::format("memory: at most {} ({} bytes){}\n", format_bytes(report.memory_bound), report.memory_bound,
                     report.varies ? ", without strings and ragged fields" : "");
  if (report.rows_read > 0) out += fmt::format("data: the first {} make sense\n", count_of(report.rows_read, "row"));
  for (const std::string& warning : report.warnings) out += cat("warning: ", escape_controls(warning), '\n');
  return out + "everything fits; nothing was trained\n";
}

std::string check_event(const CheckReport& report, const Spec* config) {
  JsonText json = JsonText::event("check");
  json.key("rows").value(report.rows).key("batch_size").value(report.batch_size);
  json.key("parameters").value(report.parameters).key("memory_bound").value(report.memory_bound);
  json.key("rows_read").value(report.rows_read);
  json.key("warnings").open('[');
  for (const std::string& warning : report.warnings) json.value(warning);
  json.close(']');
  if (config != nullptr) json.key("config").value(*config);
  return json.line();
}

}  // namespace millrace::cli
