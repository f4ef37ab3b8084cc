#include "millrace/core/spec.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "millrace/core/threads/float_mode.h"

namespace millrace {

namespace {

Place place_of(const std::source_location& where) {
  return {where.file_name(), static_cast<int64_t>(where.line()), static_cast<int64_t>(where.column())};
}

std::string child_path(const std::string& parent, std::string_view key) {
  return parent.empty() ? std::string(key) : cat(parent, '.', key);
}

// The value of YAML's .inf, +.inf, -.inf and .nan; 0 for any other text.
double not_finite(std::string_view text) {
  if (same_text(text, ".inf") || same_text(text, "+.inf")) return HUGE_VAL;
  if (same_text(text, "-.inf")) return -HUGE_VAL;
  return same_text(text, ".nan") ? std::nan("") : 0;
}

// Whether the text is a number that is short enough to be shown whole. A longer one is cut like any text.
bool is_short_number(std::string_view text) {
  constexpr size_t kLongest = 60;
  if (not_finite(text) != 0) return true;
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  return text.size() <= kLongest && failure == std::errc() && stop == end && std::isfinite(value);
}

}  // namespace

Spec::Spec() = default;
Spec::Spec(const Spec&) = default;
Spec::Spec(Spec&&) noexcept = default;
Spec& Spec::operator=(const Spec&) = default;
Spec& Spec::operator=(Spec&&) noexcept = default;
Spec::~Spec() = default;

Spec Spec::null(Place place) {
  Spec spec;
  spec.place_ = std::move(place);
  return spec;
}

Spec Spec::scalar(std::string text, bool quoted, Place place) {
  Spec spec = null(std::move(place));
  spec.kind_ = Kind::scalar;
  spec.text_ = std::move(text);
  spec.quoted_ = quoted;
  return spec;
}

Spec Spec::list(Place place) {
  Spec spec = null(std::move(place));
  spec.kind_ = Kind::list;
  return spec;
}

Spec Spec::map(Place place) {
  Spec spec = null(std::move(place));
  spec.kind_ = Kind::map;
  return spec;
}

Spec Spec::list(std::vector<Spec> items, Place place) {
  Spec spec = list(std::move(place));
  spec.items_ = std::move(items);
  return spec;
}

Spec Spec::map(std::vector<Entry> entries, Place place) {
  Spec spec = map(std::move(place));
  spec.entries_ = std::move(entries);
  return spec;
}

Spec Spec::list(std::source_location where) { return list(place_of(where)); }
Spec Spec::map(std::source_location where) { return map(place_of(where)); }

Spec Spec::list(std::initializer_list<Item> items, std::source_location where) {
  Spec out = list(where);
  for (const Item& item : items) out.append(item.value);
  out.give_place(out.place_);
  return out;
}

Spec Spec::map(std::initializer_list<Member> members, std::source_location where) {
  Spec out = map(where);
  for (const Member& member : members) out.set(member.key, member.item.value);
  out.give_place(out.place_);
  return out;
}

void Spec::give_place(const Place& place) {
  if (!place_.known()) place_ = place;
  for (Spec& item : items_) item.give_place(place);
  for (auto& [key, value] : entries_) value.give_place(place);
}

Spec Spec::of(std::string_view text, std::source_location where) {
  return scalar(std::string(text), true, place_of(where));
}

Spec Spec::number(const text_detail::Value& value, std::source_location where) {
  const auto* single = std::get_if<float>(&value);
  const auto* whole = std::get_if<double>(&value);
  const double number = single != nullptr ? static_cast<double>(*single) : whole != nullptr ? *whole : 0;
  if (std::isnan(number)) return scalar(".nan", false, place_of(where));
  if (std::isinf(number)) return scalar(number > 0 ? ".inf" : "-.inf", false, place_of(where));
  return scalar(text_detail::join_values({value}), false, place_of(where));
}

bool Spec::as_bool() const {
  if (is_scalar() && !quoted_) {
    if (same_text(text_, "true")) return true;
    if (same_text(text_, "false")) return false;
  }
  throw error(cat("expected true or false, got ", describe()));
}

int64_t Spec::as_int() const {
  int64_t value = 0;
  if (is_scalar() && !quoted_) {
    const char* begin = text_.data();
    const char* end = begin + text_.size();
    if (end - begin > 1 && begin[0] == '+' && begin[1] != '-') ++begin;
    const auto [stop, failure] = std::from_chars(begin, end, value);
    if (failure == std::errc() && stop == end && begin != end) return value;
    if (failure == std::errc::result_out_of_range && stop == end) {
      throw error(cat("expected an integer from ", std::numeric_limits<int64_t>::min(), " to ",
                      std::numeric_limits<int64_t>::max(), ", got ", describe()));
    }
  }
  throw error(cat("expected an integer, got ", describe()));
}

double Spec::as_double() const {
  if (is_scalar() && !quoted_) {
    if (const double special = not_finite(text_); special != 0) return special;
    double value = 0;
    const char* begin = text_.data();
    const char* end = begin + text_.size();
    if (end - begin > 1 && begin[0] == '+' && begin[1] != '-') ++begin;
    const bool digits_first = begin != end && (*begin == '-' || *begin == '.' || (*begin >= '0' && *begin <= '9'));
    const FloatMode mode;  // from_chars() parses in the mode of its caller
    const auto [stop, failure] = std::from_chars(begin, end, value);
    if (digits_first && failure == std::errc() && stop == end && std::isfinite(value)) return value;
  }
  throw error(cat("expected a number, got ", describe()));
}

const std::string& Spec::as_string() const {
  if (is_null())
    throw error("expected a text, got nothing", "null means no value: put it in quotes if a text is meant");
  if (!is_scalar()) throw error(cat("expected a text, got ", describe()));
  return text_;
}

const std::vector<Spec>& Spec::items() const {
  if (!is_list()) throw error(cat("expected a list, got ", describe()));
  return items_;
}

const std::vector<Spec::Entry>& Spec::entries() const {
  if (!is_map()) throw error(cat("expected a map, got ", describe()));
  return entries_;
}

const Spec* Spec::find(std::string_view key) const {
  for (const Entry& entry : entries_) {
    if (entry.first == key) return &entry.second;
  }
  return nullptr;
}

Spec* Spec::find(std::string_view key) { return const_cast<Spec*>(std::as_const(*this).find(key)); }

Spec& Spec::set(std::string key, Spec value) {
  if (is_null()) kind_ = Kind::map;
  entries();
  value.set_path(child_path(path_, key));
  if (Spec* old = find(key)) {
    *old = std::move(value);
  } else {
    entries_.emplace_back(std::move(key), std::move(value));
  }
  return *this;
}

Spec& Spec::append(Spec value) {
  if (is_null()) kind_ = Kind::list;
  items();
  value.set_path(cat(path_, '[', items_.size(), ']'));
  items_.push_back(std::move(value));
  return *this;
}

void Spec::erase(std::string_view key) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.first == key; });
}

ConfigError Spec::error(std::string_view message, std::string_view hint) const {
  return ConfigError(cat(path_, path_.empty() ? "" : ": ", message), place_, hint);
}

std::string Spec::describe() const {
  switch (kind_) {
    case Kind::null: return "nothing";
    case Kind::scalar:
      if (quoted_) return cat("the text ", quote(text_));
      return is_short_number(text_) ? text_ : quote(text_);
    case Kind::list: return "a list";
    case Kind::map: return "a map";
  }
  return {};
}

void Spec::set_path(std::string path) {
  path_ = std::move(path);
  for (size_t i = 0; i < items_.size(); ++i) items_[i].set_path(cat(path_, '[', i, ']'));
  for (Entry& entry : entries_) entry.second.set_path(child_path(path_, entry.first));
}

namespace {

// An empty map, as if `{}` had been written in place of `node`.
Spec no_options(const Spec& node) {
  Spec options = Spec::map(node.place());
  options.set_path(node.path());
  return options;
}

}  // namespace

KindAndOptions kind_and_options(const Spec& spec, std::string_view what,
                                const std::function<std::string(const std::string& kind)>& option_alone) {
  if (spec.is_scalar()) return {spec.as_string(), no_options(spec)};
  if (!spec.is_map() || spec.size() != 1) {
    throw spec.error(cat("expected ", what, " as a name or as one name with its options, got ",
                         spec.is_map() ? cat("a map of ", spec.size(), " keys") : spec.describe()),
                     "write `name` or `name: {option: value}`; check the indentation of the options");
  }
  const auto& [kind, value] = spec.entries().front();
  if (value.is_map()) return {kind, value};
  if (value.is_null()) return {kind, no_options(value)};
  const std::string option = option_alone ? option_alone(kind) : std::string();
  if (option.empty()) {
    throw value.error(cat("expected the options of ", kind, " as a map, got ", value.describe()),
                      cat("write `", kind, ": {option: value}`"));
  }
  Spec options = no_options(value).set(option, value);
  options.find(option)->set_path(value.path());
  return {kind, std::move(options)};
}

}  // namespace millrace
