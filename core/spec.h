// Spec: a piece of configuration with its place: null, scalar, list or map. Made from YAML or in code.
//
//   Spec layer = Spec::map({{"dense", {{"units", 10}, {"activation", "relu"}}}});   // dense: {units: 10, ..}
//   Spec sizes = Spec::list({28, 28});
//
// A Spec is a value; reading it never changes it, so several threads may read one. Typed reads throw ConfigError with
// the place, the path ("model[0].dense.units") and what was expected. Options (options.h) read a map as a whole and
// reject keys that nobody declared.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/export.h"
#include "millrace/core/text.h"

namespace millrace {

namespace spec_detail {
template <class T, class... Others>
inline constexpr bool is_none_of = (!std::same_as<T, Others> && ...);
}

// The C++ numbers that a Spec holds: no characters, and nothing wider than double.
template <class T>
concept SpecNumber = spec_detail::is_none_of<T, char, wchar_t, char8_t, char16_t, char32_t, long double> &&
                     (std::integral<T> || std::floating_point<T>);

class MILLRACE_EXPORT Spec {
 public:
  enum class Kind { null, scalar, list, map };
  using Entry = std::pair<std::string, Spec>;

  // Out of line, because copies are made everywhere. Cold: code that handles configuration runs once and is compiled
  // for size.
  [[gnu::cold]] Spec();
  [[gnu::cold]] Spec(const Spec&);
  [[gnu::cold]] Spec(Spec&&) noexcept;
  Spec& operator=(const Spec&);
  Spec& operator=(Spec&&) noexcept;
  ~Spec();
  static Spec null(Place place = {});
  // `quoted` text is a string even if it looks like a number.
  static Spec scalar(std::string text, bool quoted, Place place);
  static Spec list(Place place);
  static Spec map(Place place);
  // A whole tree at once, in linear time: paths are set by the root's set_path(). REQUIRES: unique keys.
  static Spec list(std::vector<Spec> items, Place place);
  static Spec map(std::vector<Entry> entries, Place place);
  // Its place is the call in code.
  struct Item;
  struct Member;
  static Spec list(std::source_location where = std::source_location::current());
  static Spec map(std::source_location where = std::source_location::current());
  static Spec list(std::initializer_list<Item> items, std::source_location where = std::source_location::current());
  // If two members have the same key, the last one counts.
  static Spec map(std::initializer_list<Member> members, std::source_location where = std::source_location::current());
  // Scalars made in code.
  static Spec of(std::string_view text, std::source_location where = std::source_location::current());
  static Spec of(const char* text, std::source_location where = std::source_location::current()) {
    return of(std::string_view(text), where);
  }
  // null: no value.
  template <std::same_as<std::nullptr_t> T>
  static Spec of(T, std::source_location where = std::source_location::current()) {
    return null({where.file_name(), static_cast<int64_t>(where.line()), 0});
  }
  template <std::same_as<char> T>
  static Spec of(T text, std::source_location where = std::source_location::current()) {
    return of(std::string_view(&text, 1), where);
  }
  template <SpecNumber T>
  static Spec of(T value, std::source_location where = std::source_location::current()) {
    return number(text_detail::value_of(value), where);
  }

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::null; }
  bool is_scalar() const { return kind_ == Kind::scalar; }
  bool is_list() const { return kind_ == Kind::list; }
  bool is_map() const { return kind_ == Kind::map; }
  const Place& place() const { return place_; }
  // In a map, the place of this value's key; otherwise place().
  const Place& key_place() const { return key_place_.known() ? key_place_ : place_; }
  void set_key_place(Place place) { key_place_ = std::move(place); }
  // This node's path in its document: "input[3].shuffle_batch.batch_size"; empty at the root.
  const std::string& path() const { return path_; }

  // Typed reads. as_string() takes any scalar as it is written.
  bool as_bool() const;
  int64_t as_int() const;
  double as_double() const;
  const std::string& as_string() const;
  bool quoted() const { return quoted_; }

  // Lists and maps.
  size_t size() const { return kind_ == Kind::list ? items_.size() : entries_.size(); }
  const std::vector<Spec>& items() const;     // throws ConfigError unless this is a list
  const std::vector<Entry>& entries() const;  // in order of writing; throws ConfigError unless this is a map
  // The value of `key`, or nullptr.
  const Spec* find(std::string_view key) const;

  // Building. Keys are unique: set() replaces. Paths of children follow.
  Spec& set(std::string key, Spec value);
  template <class T>
    requires(SpecNumber<T> || std::same_as<T, char> || std::convertible_to<T, std::string_view>)
  Spec& set(std::string key, const T& value, std::source_location where = std::source_location::current()) {
    return set(std::move(key), of(value, where));
  }
  Spec& append(Spec value);
  void erase(std::string_view key);
  // Mutable children, for overrides. nullptr if absent.
  Spec* find(std::string_view key);
  Spec* item(size_t index) { return kind_ == Kind::list && index < items_.size() ? &items_[index] : nullptr; }

  // A ConfigError at this place: "<path>: <message>".
  ConfigError error(std::string_view message, std::string_view hint = {}) const;
  // For messages: `a list`, `the text "3"` if it was quoted, `3`, `"abc"`.
  std::string describe() const;

  // Changes the path of this node and of everything below it.
  void set_path(std::string path);

 private:
  static Spec number(const text_detail::Value& value, std::source_location where);
  // Gives `place` to this node and the nodes below it, if they have none.
  void give_place(const Place& place);

  Kind kind_ = Kind::null;
  bool quoted_ = false;
  std::string text_;
  std::vector<Spec> items_;
  std::vector<Entry> entries_;
  Place place_;
  Place key_place_;
  std::string path_;
};

// An item of a list or map that is made in code: a Spec, a text, a number, nullptr for null, or the members of a map
// between braces. Its place is the place of the innermost list() or map() call around it: the only place on which
// compilers agree.
struct Spec::Item {
  Item(Spec spec) : value(std::move(spec)) {}
  Item(std::initializer_list<Member> members) : value(map(members, {})) {}
  template <class T>
    requires(SpecNumber<T> || std::same_as<T, char> || std::convertible_to<T, std::string_view>)
  Item(const T& scalar) : value(of(scalar, {})) {}

  Spec value;
};
struct Spec::Member {
  std::string key;
  Item item;
};

// An op, layer, loss, metric or optimizer is written `kind` or `kind: {options}`; this reads both. Registry::read()
// also reads `kind: value`, for a kind whose options one value may replace.
struct KindAndOptions {
  std::string kind;
  Spec options;  // a map, perhaps empty, at the place of the node
};
// Throws ConfigError if `spec` is neither a text nor a map of one key, or its value is not options. `kind: value` is
// read as `kind: {option: value}` if `option_alone` is given and names that kind's option; an empty text means none.
// Errors in the value are reported under the path where it was written.
MILLRACE_EXPORT KindAndOptions
kind_and_options(const Spec& spec, std::string_view what,
                 const std::function<std::string(const std::string& kind)>& option_alone = {});

}  // namespace millrace
