// JsonText: one JSON value written piece by piece, on one line.
//
//   JsonText json;
//   json.open('{').key("v").value(1).key("rows").open('[').value("a.csv:1").close(']').close('}');
//
// Numbers are in their shortest round-trip form; NaN and infinities are the texts "NaN", "Infinity" and "-Infinity";
// bytes that are not UTF-8 become U+FFFD. The caller keeps brackets and keys in order.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace {
class Spec;
}  // namespace millrace

namespace millrace::cli {

class JsonText {
 public:
  // An event's beginning: {"v":1,"event":"step".
  static JsonText event(std::string_view name);
  // Closes the object that begins the text, and gives all of it as a line.
  std::string line();

  JsonText& open(char bracket);
  JsonText& close(char bracket);
  JsonText& key(std::string_view name);

  JsonText& value(std::string_view text);
  template <std::same_as<bool> T>
  JsonText& value(T flag) {
    return raw(flag ? "true" : "false");
  }
  JsonText& value(double number);
  JsonText& value(float number);
  template <class T>
    requires(std::integral<T> && !std::same_as<T, bool>)
  JsonText& value(T number) {
    return raw(std::to_string(number));
  }
  template <class T>
  JsonText& value(const std::optional<T>& maybe) {
    return maybe ? value(*maybe) : null();
  }
  JsonText& value(const std::vector<std::string>& texts);
  // An object with these keys.
  JsonText& value(const std::vector<std::pair<std::string, double>>& numbers);
  // Maps, lists and scalars with the types that YAML gives them.
  JsonText& value(const Spec& spec);
  JsonText& text_or_null(std::string_view text) { return text.empty() ? null() : value(text); }
  JsonText& null() { return raw("null"); }

  const std::string& text() const { return text_; }
  void clear();

 private:
  // Appends a value that is JSON already.
  JsonText& raw(std::string_view text);

  std::string text_;
  bool first_ = true;  // the next value or key needs no comma before it
};

}  // namespace millrace::cli
