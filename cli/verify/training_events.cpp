#include "millrace/cli/verify/training_events.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "millrace/cli/process/exit_code.h"
#include "millrace/core/spec.h"
#include "millrace/core/text.h"
#include "millrace/trainer/files/yaml.h"

namespace millrace::cli {

namespace {

// The text after the first `begin`; empty if there is no `begin`.
std::string_view after(std::string_view text, std::string_view begin) {
  const size_t at = text.find(begin);
  return at == text.npos ? std::string_view() : text.substr(at + begin.size());
}

// Lines need no real parser here: json_events.cpp writes the keys of each event in a fixed order.
std::string_view between(std::string_view line, std::string_view begin, std::string_view end) {
  const size_t first = line.find(begin), last = line.rfind(end);
  return first == line.npos || last == line.npos || last < first ? std::string_view()
                                                                 : line.substr(first, last - first);
}

// JSON is YAML, so the parser of configurations can read it.
Spec parsed(const std::string& line) { return parse_yaml_value(line, {"a training's event"}); }

void append_json(std::string& out, const Spec& value) {
  if (value.is_map()) {
    for (const auto& [key, member] : value.entries()) {
      out += cat(out.empty() || out.back() == '{' ? "" : ", ", key, ' ');
      append_json(out, member);
    }
  } else {
    out += value.is_scalar() ? value.as_string() : "null";
  }
}

std::string text_of(const Spec& event, std::string_view key) {
  const Spec* value = event.find(key);
  return value != nullptr && value->is_scalar() ? value->as_string() : std::string();
}

int64_t number_of(const Spec& event, std::string_view key) {
  const Spec* value = event.find(key);
  return value != nullptr && value->is_scalar() ? value->as_int() : 0;
}

ErrorKind kind_of(std::string_view name) {
  for (const ErrorKind kind :
       {ErrorKind::config, ErrorKind::data, ErrorKind::missing, ErrorKind::io, ErrorKind::device}) {
    if (to_string(kind) == name) return kind;
  }
  return ErrorKind::internal;
}

ErrorKind kind_of(int code) {
  switch (code) {
    case kExitConfig: return ErrorKind::config;
    case kExitData: return ErrorKind::data;
    case kExitMissing: return ErrorKind::missing;
    case kExitIo: return ErrorKind::io;
    default: return ErrorKind::internal;
  }
}

[[noreturn]] void throw_as(ErrorKind kind, const std::string& message, const Place& place, const std::string& hint) {
  switch (kind) {
    case ErrorKind::config: throw ConfigError(message, place, hint);
    case ErrorKind::data: throw DataError(message, place, hint);
    case ErrorKind::missing: throw MissingError(message, place, hint);
    case ErrorKind::io: throw IoError(message, place, hint);
    case ErrorKind::device: throw DeviceError(message, place, hint);
    case ErrorKind::internal: break;
  }
  throw InternalError(message, place, hint);
}

}  // namespace

TrainingEvent read_event(std::string_view line) {
  TrainingEvent out;
  const std::string_view name = after(line, R"("event":")");
  out.name = name.substr(0, name.find('"'));
  const std::string_view step = after(line, R"("step":)");
  std::from_chars(step.data(), step.data() + step.size(), out.step);
  if (out.name == "step") out.said = between(line, R"("step":)", R"(,"rows_per_s":)");
  if (out.name == "validation") out.said = between(line, R"("step":)", R"(,"seconds":)");
  return out;
}

DoneEvent read_done(const std::string& line) {
  if (read_event(line).name != "done") throw InternalError(cat("a training ended with the line ", quote(line)));
  const Spec event = parsed(line);
  DoneEvent out{
      .weights = text_of(event, "weights"), .steps = number_of(event, "steps"), .rows = number_of(event, "rows")};
  for (const char* key : {"reason", "steps", "rows", "epochs", "last_batch", "loss", "metrics", "skipped_steps",
                          "dropped", "bad", "best", "weights"}) {
    const Spec* value = event.find(key);
    if (value == nullptr) continue;
    std::string text;
    append_json(text, *value);
    out.said.emplace_back(key, text);
  }
  return out;
}

std::string difference(const DoneEvent& one, const DoneEvent& resumed) {
  for (size_t i = 0; i < std::max(one.said.size(), resumed.said.size()); ++i) {
    static const std::pair<std::string, std::string> kNone = {"nothing", "absent"};
    const auto& a = i < one.said.size() ? one.said[i] : kNone;
    const auto& b = i < resumed.said.size() ? resumed.said[i] : kNone;
    if (a != b) {
      return cat(a.first, " is ", shortened(a.second), ", and ", a.first == b.first ? "" : cat(b.first, ' '),
                 shortened(b.second), " if it is killed and resumed");
    }
  }
  return {};
}

void throw_error_of(const TrainingFailure& failure) {
  if (read_event(failure.line).name == "error") {
    const Spec event = parsed(failure.line);
    const Place place{text_of(event, "file"), number_of(event, "line"), number_of(event, "column")};
    throw_as(kind_of(text_of(event, "kind")), text_of(event, "message"), place, text_of(event, "hint"));
  }
  const std::string ended = failure.signal != 0 ? cat("it was killed by signal ", failure.signal)
                                                : cat("it ended with the exit code ", failure.code);
  throw_as(kind_of(failure.code), failure.errors.empty() ? ended : cat(ended, ": ", failure.errors), {}, {});
}

std::optional<std::string> lasting_part(std::string_view line) {
  const TrainingEvent event = read_event(line);
  if (event.name == "step" || event.name == "validation") return cat(event.name, ' ', event.said);
  // Warnings may differ from run to run: they concern the folder, or values that a resume has changed.
  if (event.name == "log" && line.find(R"("message":"warning: )") == line.npos) return std::string(line);
  if (event.name != "done") return {};
  std::string out = "done";
  for (const auto& [key, value] : read_done(std::string(line)).said) out += cat(' ', key, ' ', value);
  return out;
}

}  // namespace millrace::cli
