#include "millrace/core/options.h"

#include <algorithm>
#include <cmath>

#include "millrace/core/text.h"

namespace millrace {

void throw_unknown_option_value(const Spec& spec, const std::vector<std::string>& names) {
  std::string hint;
  if (spec.is_scalar()) {
    if (const std::string near = nearest(spec.as_string(), names); !near.empty())
      hint = cat("did you mean ", near, "?");
  }
  throw spec.error(cat("expected ", join(names, " or "), ", got ", spec.describe()), std::move(hint));
}

bool OptionType<bool>::read(const Spec& spec) { return spec.as_bool(); }
Spec OptionType<bool>::write(const bool& value) { return Spec::scalar(cat(value), false, {}); }
std::string OptionType<bool>::type() { return "true|false"; }

int64_t OptionType<int64_t>::read(const Spec& spec) { return spec.as_int(); }
Spec OptionType<int64_t>::write(const int64_t& value) { return Spec::scalar(cat(value), false, {}); }
std::string OptionType<int64_t>::type() { return "integer"; }

double OptionType<double>::read(const Spec& spec) { return spec.as_double(); }
Spec OptionType<double>::write(const double& value) { return Spec::scalar(Spec::of(value).as_string(), false, {}); }
std::string OptionType<double>::type() { return "number"; }

std::string OptionType<std::string>::read(const Spec& spec) { return spec.as_string(); }
Spec OptionType<std::string>::write(const std::string& value) { return Spec::scalar(value, true, {}); }
std::string OptionType<std::string>::type() { return "text"; }

Spec OptionType<Spec>::read(const Spec& spec) { return spec; }
Spec OptionType<Spec>::write(const Spec& value) { return value; }
std::string OptionType<Spec>::type() { return "map"; }

namespace {

// A default as a reference page shows it; empty for null and maps.
std::string default_text(const Spec& value) {
  if (value.is_scalar()) return value.as_string();
  if (!value.is_list()) return {};
  std::string out = "[";
  for (size_t i = 0; i < value.size(); ++i) {
    const Spec& item = value.items()[i];
    out += cat(i > 0 ? ", " : "", item.quoted() ? quote(item.as_string()) : default_text(item));
  }
  return out + "]";
}

// A bound in digits where it is whole and they are not too many: 1000000000000, not 1e+12.
std::string bound_text(double bound) {
  constexpr double kMostDigits = 1e15;
  const bool in_digits = std::abs(bound) <= kMostDigits && bound == std::trunc(bound);
  return in_digits ? cat(static_cast<int64_t>(bound)) : cat(bound);
}

}  // namespace

void check_keys(const Spec& spec, const std::vector<OptionInfo>& known) {
  std::vector<std::string> names;
  for (const OptionInfo& info : known) names.push_back(info.name);
  for (const auto& [key, value] : spec.entries()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    const std::string near = nearest(key, names);
    const std::string path = spec.path().empty() ? std::string() : spec.path() + ": ";
    throw ConfigError(cat(path, "unknown key ", key), value.key_place(),
                      !near.empty()   ? cat("did you mean ", near, "?")
                      : names.empty() ? std::string("there are no options here")
                                      : cat("the keys here are ", join(names)));
  }
}

OptionReader::OptionReader() : resolved_(Spec::map(Place{})) {}

OptionReader::OptionReader(const Spec& spec) : spec_(&spec), resolved_(Spec::map(spec.place())) {
  spec.entries();
  resolved_.set_path(spec.path());
}

const Spec& OptionReader::node(std::string_view name) const {
  const Spec* found = spec_->find(name);
  return found != nullptr ? *found : *spec_;
}

const Spec* OptionReader::declare(std::string_view name, std::string type, bool required, std::string_view doc) {
  infos_.push_back({std::string(name), std::move(type), {}, required, std::string(doc)});
  if (spec_ == nullptr) return nullptr;
  const Spec* node = spec_->find(name);
  if (node != nullptr && node->is_null()) {
    throw node->error(cat("the key has no value; expected ", infos_.back().type));
  }
  if (node == nullptr && required) {
    throw spec_->error(cat("the key ", name, " is required (", infos_.back().type, ")"),
                       is_written_as(name).value_or(cat(name, ": ", doc)));
  }
  return node;
}

std::optional<std::string> OptionReader::is_written_as(std::string_view name) const {
  for (const auto& [key, value] : spec_->entries()) {
    const bool declared =
        std::any_of(infos_.begin(), infos_.end(), [&](const OptionInfo& info) { return info.name == key; });
    if (!declared && !nearest(key, {std::string(name)}).empty()) return cat("is ", key, " meant to be ", name, "?");
  }
  return {};
}

void OptionReader::finish(std::string_view name, bool required, Spec value) {
  if (!required) infos_.back().default_value = default_text(value);
  if (spec_ != nullptr && !value.is_null()) resolved_.set(std::string(name), std::move(value));
}

void OptionReader::only_speed(std::string_view name) {
  for (OptionInfo& info : infos_) info.only_speed = info.only_speed || info.name == name;
}

void OptionReader::check_number(const Spec& node, double value, const Range& range) {
  const bool low = range.above_min ? !(value > range.min) : !(value >= range.min);
  if (!low && value <= range.max) return;
  const bool bounded_below = range.min != -std::numeric_limits<double>::infinity();
  const bool bounded_above = range.max != std::numeric_limits<double>::infinity();
  if (!bounded_below && !bounded_above) return;
  std::string expected = bounded_below ? cat(range.above_min ? "more than " : "at least ", bound_text(range.min)) : "";
  if (bounded_above) expected += cat(bounded_below ? " and " : "", "at most ", bound_text(range.max));
  throw node.error(cat("expected ", expected, ", got ", node.describe()));
}

}  // namespace millrace
