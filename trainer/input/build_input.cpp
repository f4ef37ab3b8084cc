#include "millrace/trainer/input/build_input.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/files/files_in_use.h"

namespace millrace {

namespace {

class EmptyStream : public ByteStream {
 public:
  size_t read(void*, size_t) override { return 0; }
  void interrupt() noexcept override {}
};

// The files of this machine; remembers the patterns that matched none of them.
class WatchedFiles : public FileSystem {
 public:
  std::vector<std::string> unmatched;

  std::unique_ptr<File> open(const std::string& path) override { return local().open(path); }
  // Data that can be read only once are left alone.
  std::unique_ptr<ByteStream> open_stream(const std::string&) override { return std::make_unique<EmptyStream>(); }
  Type type(const std::string& path) override { return local().type(path); }
  bool same(const std::string& a, const std::string& b) override { return local().same(a, b); }
  std::vector<std::string> match(const std::string& pattern) override {
    std::vector<std::string> paths = local().match(pattern);
    if (paths.empty()) unmatched.push_back(pattern);
    return paths;
  }
  std::vector<std::string> list(const std::string& folder) override { return local().list(folder); }
};

InputGraph build(const InputListArgs& args, FileSystem* files = nullptr) {
  return InputGraph::build(args.list, args.registry, {.seed = args.seed, .files = files, .side = args.side});
}

// A pattern that matches nothing when the graph is built but matches next to the configuration, with the
// configuration's folder; empty if there is none.
std::string beside_configuration(const InputListArgs& args) {
  const std::filesystem::path folder = std::filesystem::path(args.config_file).parent_path();
  if (folder.empty()) return {};
  WatchedFiles files;
  try {
    build(args, &files);
  } catch (const Error&) {
    // The same error as before; now `files` knows what was looked for.
  }
  for (const std::string& pattern : files.unmatched) {
    // An absolute pattern stays as it is, and matches nothing again.
    std::string there = (folder / pattern).string();
    if (!FileSystem::local().match(there).empty()) return there;
  }
  return {};
}

void check_written_files(const InputListArgs& args, const InputGraph& graph) {
  InputFiles files = graph.files();
  for (const std::string& path : std::exchange(files.written, {})) {
    const std::string loss = would_overwrite(path, files, args.config_file);
    if (!loss.empty()) throw args.list.error(cat("writing ", quote(path, 4096), ' ', loss), "give it another name");
    files.written.push_back(path);
  }
}

}  // namespace

InputGraph build_input(const Config& config, const Catalog& catalog) {
  return build_input(
      {.list = config.input, .registry = catalog.ops, .seed = config.seed, .config_file = config.written.place().file});
}

InputGraph build_input(const InputListArgs& args) {
  try {
    InputGraph graph = build(args);
    check_written_files(args, graph);
    return graph;
  } catch (const MissingError& error) {
    const std::string there = beside_configuration(args);
    if (there.empty()) throw;
    throw MissingError(
        error.message(), error.place(),
        cat("paths are relative to the current folder, and ", quote(there, 4096), " exists: run it from there"));
  }
}

}  // namespace millrace
