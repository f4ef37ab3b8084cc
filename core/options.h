// Options: each configuration key is declared once, in the code that reads it, with its default, range and meaning.
//
//   struct TakeOptions {
//     int64_t rows = 0;
//     void declare(OptionReader& o) { o.required("rows", rows, {.min = 0}, "rows to let pass"); }
//   };
//   auto options = read_options<TakeOptions>(spec);          // rejects unknown keys, names the nearest
//   std::vector<OptionInfo> reference = describe_options<TakeOptions>();
//
// The default of an optional key is the member's initial value. An OptionReader is used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/core/spec.h"

namespace millrace {

// Bounds of a number, inclusive unless said otherwise.
struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool above_min = false;  // min itself is not allowed
  bool below_max = false;  // max itself is not allowed
};

// "at least 1", "more than 0 and at most 1"; empty without bounds.
MILLRACE_EXPORT std::string range_text(const Range& range);

// The purpose of a key. Code that reads the data in another way, or looks for a faster setting, relies on it instead of
// on the names of kinds.
enum class OptionUse : uint8_t {
  none,
  files,           // which files are read
  share,           // which part of the data is read
  ends,            // how many epochs or rows there are; absent: endlessly
  held_out,        // which rows are held out of the training
  fields,          // fields that the op makes or changes, each without the others: a list, or a map with their names
  bad_rows,        // what happens to bad rows
  written_file,    // a file that is written while rows are read; it must not be one of the files that are read
  batch_rows,      // rows of a batch
  tasks,           // how many tasks decode at once
  waiting,         // how many rows may wait for the step
  always_waiting,  // how many of these stay in the window from which rows are drawn
  chunk_bytes,     // how much a task reads
  activation,      // the function that a layer applies to its output
  parameters,      // patterns for names of parameters
  updates,         // after how many updates a schedule ends
};

// The things that the value of a key decides. A training can go on from a saved state with other values of some keys.
enum class Decides : uint8_t {
  results,    // everything: the state goes on only with the value that it was saved with
  last_bits,  // the last bits of it
  length,     // only when the data or the training end: what comes before the end is the same
  nothing,    // how fast results come, or what is written besides
};

// One key, as reference pages describe it.
struct OptionInfo {
  // One way to write the value. It is nested so that both types may hold lists of each other.
  struct Form {
    enum class Is : uint8_t {
      any,      // anything that its owner takes
      flag,     // true or false
      integer,  // in `range`
      number,   // in `range`
      text,     // matches `pattern`, if there is one
      name,     // one of `names`
      list,     // of `items`
      map,      // from names that the configuration chooses to `items`
      options,  // a map with the keys `options`
      kind,     // `name` or `name: {options}`, of the kinds of `sort`
    };
    Is is = Is::any;
    Range range = {};
    std::string pattern = {};  // a regular expression of ECMAScript
    std::vector<std::string> names = {};
    std::vector<Form> items = {};  // the forms that an item may have
    bool not_empty = false;        // a list has at least one item
    std::vector<OptionInfo> options = {};
    std::string sort = {};  // the registry's word for one kind: "layer", "input op"
  };

  std::string name;
  std::string type;           // "integer", "number", "true|false", "relu|none", ...
  std::string default_value;  // empty if required or absent by default
  bool required = false;
  std::string doc;
  bool only_speed = false;
  bool stands_alone = false;  // a value in place of the options means this option
  OptionUse use = OptionUse::none;
  Decides decides = Decides::results;
  std::optional<Spec> in_pass = {};  // see OptionReader::in_pass(); null: left out
  Spec fallback = {};                // the default as it may be written; null if there is none
  std::vector<Form> forms = {};      // at least one
};
using OptionForm = OptionInfo::Form;

// A kind that a configuration may name, as reference pages describe it.
struct KindInfo {
  std::string kind;
  std::string doc;
  std::vector<OptionInfo> options;
  std::string example = {};  // its options, as written between braces; empty if its author gave none
};

// The names of an enum's values: specialise `static constexpr std::pair<std::string_view, E> kNames[]`.
template <class E>
struct EnumNames;

// The index of `spec` in `names`. Throws ConfigError if it is not there.
MILLRACE_EXPORT size_t read_name(const Spec& spec, const std::vector<std::string>& names);
// "relu|none".
MILLRACE_EXPORT std::string name_type(const std::vector<std::string>& names);
MILLRACE_EXPORT std::vector<OptionForm> name_forms(std::vector<std::string> names);

// Reads a value of type T from a Spec, writes it back and describes it. Specialised in options.cpp and below. A
// specialisation may lack forms(); option_forms() tells what is then used.
template <class T>
struct OptionType {
  static_assert(std::is_enum_v<T>,
                "an option is bool, int64_t, double, std::string, an enum with EnumNames, std::optional or "
                "std::vector of one, or a type with a specialisation of OptionType");
  static T read(const Spec& spec) { return EnumNames<T>::kNames[read_name(spec, names())].second; }
  static Spec write(const T& value) {
    for (const auto& [name, candidate] : EnumNames<T>::kNames) {
      if (candidate == value) return Spec::scalar(std::string(name), false, {});
    }
    return {};
  }
  static std::string type() { return name_type(names()); }
  static std::vector<OptionForm> forms() { return name_forms(names()); }

 private:
  static std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const auto& [name, value] : EnumNames<T>::kNames) out.emplace_back(name);
    return out;
  }
};

// Declares OptionType<T> for a type of its own; the functions are defined in a .cpp.
#define MILLRACE_DECLARE_OPTION_TYPE(T)     \
  template <>                               \
  struct MILLRACE_EXPORT OptionType<T> {    \
    static T read(const Spec& spec);        \
    static Spec write(const T& value);      \
    static std::string type();              \
    static std::vector<OptionForm> forms(); \
  }
MILLRACE_DECLARE_OPTION_TYPE(bool);
MILLRACE_DECLARE_OPTION_TYPE(int64_t);
MILLRACE_DECLARE_OPTION_TYPE(double);
MILLRACE_DECLARE_OPTION_TYPE(std::string);
// Any node; the owner reads it further.
MILLRACE_DECLARE_OPTION_TYPE(Spec);

// A struct that declares options is a map of them.
class OptionReader;
template <class T>
concept DeclaresOptions = requires(T value, OptionReader& reader) { value.declare(reader); };
template <class T>
T read_options(const Spec& spec, Spec* resolved = nullptr);
template <class T>
std::vector<OptionInfo> describe_options();
template <class T>
Spec write_options(const T& value);
MILLRACE_EXPORT std::string type_of_options(const std::vector<OptionInfo>& options);

template <DeclaresOptions T>
struct OptionType<T> {
  static T read(const Spec& spec) { return read_options<T>(spec); }
  static Spec write(const T& value) { return write_options(value); }
  static std::string type() { return type_of_options(describe_options<T>()); }
};

// The ways in which a value of type T may be written. OptionType<T> lists them in a function `forms`, if it has one; an
// options struct is a map of what it declares; any other T takes any node.
template <class T>
std::vector<OptionForm> option_forms() {
  if constexpr (requires { OptionType<T>::forms(); }) {
    return OptionType<T>::forms();
  } else if constexpr (DeclaresOptions<T>) {
    return {{.is = OptionForm::Is::options, .options = describe_options<T>()}};
  } else {
    return {{}};
  }
}

// One value or a list of them.
template <class T>
struct OptionType<std::vector<T>> {
  static std::vector<T> read(const Spec& spec) {
    std::vector<T> out;
    if (spec.is_list()) {
      for (const Spec& item : spec.items()) out.push_back(OptionType<T>::read(item));
    } else {
      out.push_back(OptionType<T>::read(spec));
    }
    return out;
  }
  static Spec write(const std::vector<T>& values) {
    Spec out = Spec::list(Place{});
    for (const T& value : values) out.append(OptionType<T>::write(value));
    return out;
  }
  static std::string type() { return OptionType<T>::type() + " or list"; }
  static std::vector<OptionForm> forms() {
    std::vector<OptionForm> out = option_forms<T>();
    out.push_back({.is = OptionForm::Is::list, .items = out});
    return out;
  }
};

template <class T>
struct OptionType<std::optional<T>> {
  static std::optional<T> read(const Spec& spec) { return OptionType<T>::read(spec); }
  static Spec write(const std::optional<T>& value) { return value ? OptionType<T>::write(*value) : Spec(); }
  static std::string type() { return OptionType<T>::type(); }
  static std::vector<OptionForm> forms() { return option_forms<T>(); }
};

// Throws ConfigError for a key of the map `spec` that is not in `known`, at the key's place, with the nearest key as a
// hint; then for keys that `known` requires and the map lacks.
MILLRACE_EXPORT void check_keys(const Spec& spec, const std::vector<OptionInfo>& known);

// Visits the declarations of an options struct, to read a Spec or only to list the options.
class MILLRACE_EXPORT OptionReader {
 public:
  // Reads from the map `spec`. Throws ConfigError if it is not a map.
  explicit OptionReader(const Spec& spec);
  // Only describes.
  OptionReader();
  ~OptionReader();
  OptionReader(const OptionReader&) = delete;
  OptionReader& operator=(const OptionReader&) = delete;

  template <class T>
  void required(std::string_view name, T& value, std::string_view doc) {
    visit(name, &value, kAccess<T>, true, {}, doc);
  }
  template <class T>
  void required(std::string_view name, T& value, Range range, std::string_view doc) {
    visit(name, &value, kAccess<T>, true, range, doc);
  }
  template <class T>
  void optional(std::string_view name, T& value, std::string_view doc) {
    visit(name, &value, kAccess<T>, false, {}, doc);
  }
  template <class T>
  void optional(std::string_view name, T& value, Range range, std::string_view doc) {
    visit(name, &value, kAccess<T>, false, range, doc);
  }

  // Says what the value of a declared key decides; without it, the results.
  void decides(std::string_view name, Decides what);
  // A declared key decides only how fast results come (Decides::nothing), and reference pages say so.
  void only_speed(std::string_view name);

  // The value of a declared key may be written in place of all options: `reshape: [1, 28, 28]`, `save: FILE`. There is
  // at most one such key; a map always means the options. For a kind that is all; the OptionType of other options reads
  // the value itself, and lists its forms.
  void stands_alone(std::string_view name);

  // Says what a declared key means to other code. If several keys have one use, the first counts, except for bad_rows.
  void used_as(std::string_view name, OptionUse use);

  // A declared key has this value if the data is read once, every row in order: in a validation, an evaluation and
  // predictions. After not_in_pass() the key is left out there.
  template <class T>
  void in_pass(std::string_view name, const T& value) {
    set_in_pass(name, OptionType<T>::write(value));
  }
  void not_in_pass(std::string_view name) { set_in_pass(name, {}); }

  // Says which values a declared key allows if its C++ type does not tell: for a key that is read as a Spec.
  void may_be(std::string_view name, std::vector<OptionForm> forms);

  // Rejects undeclared keys and absent required keys, all of them at once. Call it once, after all declarations.
  // REQUIRES: reading().
  void done() const { check_keys(*spec_, infos_); }

  bool reading() const { return spec_ != nullptr; }
  // The node of `name` if it was written, otherwise the whole map's node: the place for an error about it. Throws
  // ConfigError if a required key is absent, because its value then means nothing. REQUIRES: reading(), after all
  // declarations.
  const Spec& node(std::string_view name) const;
  // The declarations.
  std::vector<OptionInfo> take_infos() { return std::move(infos_); }
  // Every declared key with the value in force, in order of declaration; keys absent by default are left out. Without a
  // Spec to read, the values are the struct's.
  const Spec& resolved() const { return resolved_; }

 private:
  template <class T>
  static void read_checked(const Spec& node, const Range& range, void* value) {
    T& out = *static_cast<T*>(value);
    out = OptionType<T>::read(node);
    check_range(node, out, range);
  }
  static void check_number(const Spec& node, double value, const Range& range);
  template <class T>
  static void check_range(const Spec& node, const T& value, const Range& range) {
    if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) {
      check_number(node, static_cast<double>(value), range);
    } else if constexpr (requires { value.has_value(); }) {
      if (value) check_range(node, *value, range);
    } else if constexpr (requires { value.begin(); } && !std::is_same_v<T, std::string>) {
      for (size_t i = 0; i < value.size(); ++i) check_range(node.is_list() ? node.items()[i] : node, value[i], range);
    }
  }

  // The operations of visit() on a T, so that visit() is one function for all T.
  struct Access {
    std::string (*type)();
    std::vector<OptionForm> (*forms)();
    void (*read)(const Spec& node, const Range& range, void* value);
    Spec (*write)(const void* value);
  };
  template <class T>
  static constexpr Access kAccess = {
      .type = OptionType<T>::type,
      .forms = option_forms<T>,
      .read = read_checked<T>,
      .write = [](const void* value) -> Spec { return OptionType<T>::write(*static_cast<const T*>(value)); }};

  [[gnu::cold]] void visit(std::string_view name, void* value, const Access& access, bool required, const Range& range,
                           std::string_view doc);
  void set_in_pass(std::string_view name, Spec value);
  OptionInfo& declared(std::string_view name);

  const Spec* spec_ = nullptr;
  std::vector<OptionInfo> infos_;
  Spec resolved_;
};

// Reads T's members from `spec` and checks them; `resolved`, if given, receives every key with its value.
template <class T>
T read_options(const Spec& spec, Spec* resolved) {
  T out;
  OptionReader options(spec);
  out.declare(options);
  options.done();
  if (resolved != nullptr) *resolved = options.resolved();
  return out;
}

template <class T>
std::vector<OptionInfo> describe_options() {
  T out;
  OptionReader options;
  out.declare(options);
  return options.take_infos();
}

// The value in the form that read_options() reads, with every key except those absent by default.
template <class T>
Spec write_options(const T& value) {
  T out = value;
  OptionReader options;
  out.declare(options);
  return options.resolved();
}

}  // namespace millrace
