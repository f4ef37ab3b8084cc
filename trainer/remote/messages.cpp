#include "millrace/trainer/remote/messages.h"

#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/version.h"

namespace millrace {

namespace {

// A part on its way is silence of the link until it has arrived.
constexpr size_t kPartBytes = size_t{1} << 20;
constexpr size_t kUnitNumbers = 11;

}  // namespace

State make_message(std::string_view is) {
  State out;
  out.set_text("is", is);
  return out;
}

State read_message(const ZmqParts& parts) {
  if (parts.empty()) throw DataError("the message is empty");
  State out = State::decode(parts.front().bytes());
  (void)out.text("is");
  return out;
}

ZmqParts to_parts(const State& message) {
  ZmqParts out;
  out.emplace_back(message.encode());
  return out;
}

void add_bytes(ZmqParts& parts, std::string bytes) {
  if (bytes.size() <= kPartBytes) {
    parts.emplace_back(std::move(bytes));
    return;
  }
  for (size_t at = 0; at < bytes.size(); at += kPartBytes) parts.emplace_back(bytes.substr(at, kPartBytes));
}

std::string_view bytes_of(const ZmqParts& parts, std::string& joined) {
  if (parts.size() == 2) return parts[1].bytes();
  joined.clear();
  for (size_t i = 1; i < parts.size(); ++i) joined += parts[i].bytes();
  return joined;
}

void set_unit(State& message, const UnitNumbers& unit) {
  message.set("unit", {unit.source, unit.file, unit.begin, unit.end, unit.pass, unit.file_ordinal, unit.line,
                       unit.part_begin, unit.part_end, unit.part_text, unit.exact ? 1u : 0u});
}

UnitNumbers unit_of(const State& message) {
  const std::vector<uint64_t>& n = message.values("unit");
  if (n.size() != kUnitNumbers) throw DataError(cat("a unit has ", kUnitNumbers, " numbers, got ", n.size()));
  return {.source = n[0],
          .file = n[1],
          .begin = n[2],
          .end = n[3],
          .pass = n[4],
          .file_ordinal = n[5],
          .line = n[6],
          .part_begin = n[7],
          .part_end = n[8],
          .part_text = n[9],
          .exact = n[10] != 0};
}

std::string decoder_versions() {
  const BuildDescription build = describe_build();
  std::string out = cat("Millrace ", version());
  for (const std::string& library : build.libraries) {
    if (!library.starts_with("one")) out += cat(", ", library);  // oneDNN and oneTBB decode nothing
  }
  return out;
}

}  // namespace millrace
