#include "millrace/cli/text/json_text.h"

#include <charconv>
#include <cmath>

#include "millrace/core/utf8.h"

namespace millrace::cli {

namespace {

template <class T>
std::string number_text(T number) {
  if (std::isnan(number)) return "\"NaN\"";
  if (std::isinf(number)) return number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr};
}

}  // namespace

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
