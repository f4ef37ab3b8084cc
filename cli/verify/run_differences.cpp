#include "millrace/cli/verify/run_differences.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "millrace/cli/verify/training_events.h"
#include "millrace/core/text.h"
#include "millrace/trainer/files/model_file.h"

namespace millrace::cli {

namespace {

constexpr const char* kConfigKey = "config";

ModelMetadata without_config(const ModelFile& file) {
  ModelMetadata out = file.metadata();
  out.erase(kConfigKey);
  return out;
}

bool equal_entries(const ModelFile::Entry& a, const ModelFile::Entry& b) {
  return a.name == b.name && a.spec == b.spec &&
         (a.spec.bytes() == 0 || std::memcmp(a.values.data(), b.values.data(), a.spec.bytes()) == 0);
}

// Gives the lines of a file in order; for a log, only the lasting parts (training_events.h).
class Lines {
 public:
  Lines(const std::string& path, bool is_log) : in_(path, std::ios::binary), is_log_(is_log) {}

  std::optional<std::string> next() {
    for (std::string line; std::getline(in_, line);) {
      // The file ends without a newline, so this is only a part of a line.
      if (in_.eof()) return cat("the part ", line);
      std::optional<std::string> lasting = is_log_ ? lasting_part(line) : line;
      if (lasting) return lasting;
    }
    return {};
  }

 private:
  std::ifstream in_;
  const bool is_log_;
};

std::string shown(const std::optional<std::string>& line) {
  constexpr size_t kShown = 200;
  return line ? quote(*line, kShown) : "missing";
}

}  // namespace

std::string model_difference(const std::string& one, const std::string& resumed) {
  const ModelFile a = ModelFile::read(one), b = ModelFile::read(resumed);
  const auto [tensor, other] = std::ranges::mismatch(a.entries(), b.entries(), equal_entries);
  if (tensor != a.entries().end()) return cat("the saved models differ in ", tensor->name);
  if (other != b.entries().end()) return cat("only one of the saved models has ", other->name);
  const ModelMetadata known = without_config(a), found = without_config(b);
  const auto [entry, changed] = std::ranges::mismatch(known, found);
  if (entry != known.end()) return cat("the saved models differ in what they say of ", entry->first);
  if (changed != found.end()) return cat("only one of the saved models says something of ", changed->first);
  return {};
}

std::string line_difference(const std::string& one, const std::string& resumed, bool is_log) {
  Lines a(one, is_log), b(resumed, is_log);
  for (uint64_t number = 1;; ++number) {
    const std::optional<std::string> line = a.next(), other = b.next();
    if (line != other) {
      return cat("line ", number, " of ", std::filesystem::path(one).filename().string(), " is ", shown(line), ", and ",
                 shown(other), " if the training is killed and resumed");
    }
    if (!line) return {};
  }
}

}  // namespace millrace::cli
