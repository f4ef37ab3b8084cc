#include "millrace/cli/text/spec_json.h"

#include <optional>

#include "millrace/core/errors.h"
#include "millrace/trainer/files/yaml_writer.h"

namespace millrace::cli {

namespace {

// What `read` gives, or nothing where the text is of another type.
template <class Read>
auto attempt(const Read& read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

void append_scalar(JsonText& json, const Spec& spec) {
  const std::string& text = spec.as_string();
  if (spec.quoted() || !looks_typed(text)) {
    json.value(text);
  } else if (const auto flag = attempt([&] { return spec.as_bool(); })) {
    json.value(*flag);
  } else if (const auto whole = attempt([&] { return spec.as_int(); })) {
    json.value(*whole);
  } else if (const auto number = attempt([&] { return spec.as_double(); })) {
    json.value(*number);
  } else {
    json.value(text);
  }
}

}  // namespace

void append_spec(JsonText& json, const Spec& spec) {
  switch (spec.kind()) {
    case Spec::Kind::null: json.null(); return;
    case Spec::Kind::scalar: append_scalar(json, spec); return;
    case Spec::Kind::list:
      json.open('[');
      for (const Spec& item : spec.items()) append_spec(json, item);
      json.close(']');
      return;
    case Spec::Kind::map:
      json.open('{');
      for (const auto& [key, value] : spec.entries()) append_spec(json.key(key), value);
      json.close('}');
      return;
  }
}

}  // namespace millrace::cli
