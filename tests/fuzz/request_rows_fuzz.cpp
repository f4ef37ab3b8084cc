// Any bytes as the body of a request: rows that are plain are read as a parser of all of JSON reads them, and what is
// made of a body is not much larger than the body.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "millrace/cli/serve/row_reader.h"
#include "millrace/core/errors.h"
#include "millrace/input/csv/given_text.h"

namespace millrace::cli {
namespace {

void check(const RowKeys& keys, const std::string& body) {
  std::optional<RequestedRows> json;
  try {
    json = read_json_rows(keys, body);
  } catch (const DataError&) {
  }
  RequestedRows plain;
  const bool is_plain = read_plain_rows(keys, body, plain);
  if (is_plain && (!json || json->text != plain.text || json->begins != plain.begins)) std::abort();
  if (json && json->text.size() > 3 * body.size()) std::abort();
}

}  // namespace
}  // namespace millrace::cli

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millrace;
  using namespace millrace::cli;
  static const RowKeys several(given_text_dialect({"a", "b", "x[0]", "x[1]"}, ""),
                               {{"a", {0}}, {"b", {1}}, {"x", {2, 3}, true}}, {"label"});
  static const RowKeys one(given_text_dialect({"a"}, ""), {{"a", {0}}}, {});
  const std::string body(reinterpret_cast<const char*>(data), size);
  check(several, body);
  check(one, body);
  return 0;
}
