// Any text as a configuration: it is read up to the graph of its input, or refused with an Error that says where; and
// what was read, with every default, reads back as the same.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "millrace/core/text.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::MemoryFiles;

// The configuration in `text` with every option, as YAML. Files are those in memory alone.
std::string resolve(std::string_view text) {
  Config config = read_config(parse_yaml(text, "c.yaml"), Catalog::builtin(), ConfigUse::input);
  MemoryFiles files;
  files.files = {{"a.csv", "0,1\n"}, {"data/b.csv", "x,y\n0,1\n"}};
  files.streams["-"] = {"0,1\n"};
  const InputGraph graph =
      InputGraph::build(config.input, Catalog::builtin().ops, {.seed = config.seed, .files = &files});
  complete_resolved(config, graph.resolved(), {});
  return to_yaml(config.resolved);
}

[[noreturn]] void report(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

void check(std::string_view text) {
  std::string resolved;
  try {
    resolved = resolve(text);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal || error.kind() == ErrorKind::device) report(error.what());
    if (!error.place().known()) report(cat("an error without a place: ", error.what()));
    return;
  }
  try {
    const std::string again = resolve(resolved);
    if (again != resolved) report(cat("resolved:\n", resolved, "and again:\n", again));
  } catch (const Error& error) {
    report(cat(error.what(), ", where the resolved configuration is read again:\n", resolved));
  }
}

}  // namespace
}  // namespace millrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millrace::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
