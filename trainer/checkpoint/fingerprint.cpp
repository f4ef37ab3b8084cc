#include "millrace/trainer/checkpoint/fingerprint.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "millrace/core/describe_device.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/version.h"

namespace millrace {

namespace {

constexpr std::pair<std::string_view, std::string Fingerprint::*> kParts[] = {{"version", &Fingerprint::version},
                                                                              {"compiler", &Fingerprint::compiler},
                                                                              {"libraries", &Fingerprint::libraries},
                                                                              {"processor", &Fingerprint::processor},
                                                                              {"device", &Fingerprint::device}};

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const std::string& word : words) out += cat(out.empty() ? "" : between, word);
  return out;
}

std::string known(const std::string& part) { return part.empty() ? "unknown" : shortened(escape_controls(part), 200); }

}  // namespace

Fingerprint Fingerprint::here(Device device, const CudaNeeds& needs) {
  const BuildDescription build = describe_build();
  const DeviceDescription described = describe_device(device, needs);
  const std::string sets = joined(build.processor, " "), model = escape_controls(processor_model());
  return {.version = std::string(millrace::version()),
          .compiler = build.compiler,
          .libraries = joined(described.libraries, ", "),
          .processor = sets.empty() ? model : cat(model, " (", sets, ')'),
          .device = device.is_cpu() ? "cpu" : escape_controls(described.name)};
}

std::string Fingerprint::text() const {
  std::string out;
  for (const auto& [name, part] : kParts) out += cat(name, ": ", this->*part, '\n');
  return out;
}

Fingerprint Fingerprint::parse(std::string_view text) {
  Fingerprint out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    for (const auto& [name, part] : kParts) {
      const std::string begin = cat(name, ": ");
      if (line.starts_with(begin)) out.*part = line.substr(begin.size());
    }
  }
  return out;
}

std::string difference(const Fingerprint& saved, const Fingerprint& now) {
  std::string parts;
  for (const auto& [name, part] : kParts) {
    if (saved.*part == now.*part) continue;
    parts += cat(parts.empty() ? "" : "; ", name, ' ', known(saved.*part), " before, ", known(now.*part), " now");
  }
  return parts.empty() ? "" : cat("same rows, weights may differ in the last bits: ", parts);
}

}  // namespace millrace
