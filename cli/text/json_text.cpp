#include "millrace/cli/text/json_text.h"

#include <charconv>
#include <cmath>

#include "millrace/core/errors.h"
#include "millrace/core/spec.h"
#include "millrace/core/utf8.h"
#include "millrace/trainer/files/yaml_writer.h"

namespace millrace::cli {

namespace {

template <class T>
std::string number_text(T number) {
  if (std::isnan(number)) return "\"NaN\"";
  if (std::isinf(number)) return number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr};
}

// The result of `read`, or nothing if the text has another type.
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

JsonText JsonText::event(std::string_view name) {
  JsonText out;
  out.open('{').key("v").value(1).key("event").value(name);
  return out;
}

std::string JsonText::line() { return close('}').text_ + '\n'; }

JsonText& JsonText::open(char bracket) {
  raw({&bracket, 1});
  first_ = true;
  return *this;
}

JsonText& JsonText::close(char bracket) {
  text_ += bracket;
  first_ = false;
  return *this;
}

JsonText& JsonText::key(std::string_view name) {
  raw(json_string(name));
  text_ += ':';
  first_ = true;
  return *this;
}

JsonText& JsonText::value(std::string_view text) { return raw(json_string(text)); }
JsonText& JsonText::value(double number) { return raw(number_text(number)); }
JsonText& JsonText::value(float number) { return raw(number_text(number)); }

JsonText& JsonText::value(const std::vector<std::string>& texts) {
  open('[');
  for (const std::string& text : texts) value(text);
  return close(']');
}

JsonText& JsonText::value(const std::vector<std::pair<std::string, double>>& numbers) {
  open('{');
  for (const auto& [name, number] : numbers) key(name).value(number);
  return close('}');
}

JsonText& JsonText::value(const Spec& spec) {
  switch (spec.kind()) {
    case Spec::Kind::null: return null();
    case Spec::Kind::scalar: append_scalar(*this, spec); return *this;
    case Spec::Kind::list:
      open('[');
      for (const Spec& item : spec.items()) value(item);
      return close(']');
    case Spec::Kind::map: break;
  }
  open('{');
  for (const auto& [name, item] : spec.entries()) key(name).value(item);
  return close('}');
}

void JsonText::clear() {
  text_.clear();
  first_ = true;
}

JsonText& JsonText::raw(std::string_view text) {
  if (!first_) text_ += ',';
  text_ += text;
  first_ = false;
  return *this;
}

}  // namespace millrace::cli
