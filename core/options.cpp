#include "millrace/core/options.h"

#include <algorithm>
#include <cmath>

#include "millrace/core/text.h"

namespace millrace {

size_t read_name(const Spec& spec, const std::vector<std::string>& names) {
  std::string hint;
  if (spec.is_scalar()) {
    const auto found = std::find(names.begin(), names.end(), spec.as_string());
    if (found != names.end()) return static_cast<size_t>(found - names.begin());
    if (const std::string near = nearest(spec.as_string(), names); !near.empty())
      hint = cat("did you mean ", near, "?");
  }
  throw spec.error(cat("expected ", join(names, " or "), ", got ", spec.describe()), hint);
}

std::string name_type(const std::vector<std::string>& names) {
  constexpr size_t kLong = 60;
  size_t bytes = 0;
  for (const std::string& name : names) bytes += name.size() + 1;
  const std::string_view bar = bytes > kLong ? " | " : "|";  // a long list is wrapped at its blanks
  std::string out;
  for (const std::string& name : names) out += cat(out.empty() ? "" : bar, name);
  return out;
}

std::vector<OptionForm> name_forms(std::vector<std::string> names) {
  return {{.is = OptionForm::Is::name, .names = std::move(names)}};
}

bool OptionType<bool>::read(const Spec& spec) { return spec.as_bool(); }
Spec OptionType<bool>::write(const bool& value) { return Spec::scalar(cat(value), false, {}); }
std::string OptionType<bool>::type() { return "true|false"; }
std::vector<OptionForm> OptionType<bool>::forms() { return {{.is = OptionForm::Is::flag}}; }

int64_t OptionType<int64_t>::read(const Spec& spec) { return spec.as_int(); }
Spec OptionType<int64_t>::write(const int64_t& value) { return Spec::scalar(cat(value), false, {}); }
std::string OptionType<int64_t>::type() { return "integer"; }
std::vector<OptionForm> OptionType<int64_t>::forms() { return {{.is = OptionForm::Is::integer}}; }

double OptionType<double>::read(const Spec& spec) { return spec.as_double(); }
Spec OptionType<double>::write(const double& value) { return Spec::scalar(Spec::of(value).as_string(), false, {}); }
std::string OptionType<double>::type() { return "number"; }
std::vector<OptionForm> OptionType<double>::forms() { return {{.is = OptionForm::Is::number}}; }

std::string OptionType<std::string>::read(const Spec& spec) { return spec.as_string(); }
Spec OptionType<std::string>::write(const std::string& value) { return Spec::scalar(value, true, {}); }
std::string OptionType<std::string>::type() { return "text"; }
std::vector<OptionForm> OptionType<std::string>::forms() { return {{.is = OptionForm::Is::text}}; }

Spec OptionType<Spec>::read(const Spec& spec) { return spec; }
Spec OptionType<Spec>::write(const Spec& value) { return value; }
std::string OptionType<Spec>::type() { return "map"; }
std::vector<OptionForm> OptionType<Spec>::forms() { return {{}}; }

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

// Sets the range of all forms that are numbers, also inside lists.
void set_range(std::vector<OptionForm>& forms, const Range& range) {
  for (OptionForm& form : forms) {
    if (form.is == OptionForm::Is::integer || form.is == OptionForm::Is::number) form.range = range;
    if (form.is == OptionForm::Is::list) set_range(form.items, range);
  }
}

bool is_bounded(const Range& range) { return std::isfinite(range.min) || std::isfinite(range.max); }

std::string type_of_form(const OptionForm& form) {
  using Is = OptionForm::Is;
  switch (form.is) {
    case Is::any: return "any";
    case Is::flag: return OptionType<bool>::type();
    case Is::integer: return OptionType<int64_t>::type();
    case Is::number: return OptionType<double>::type();
    case Is::text: return OptionType<std::string>::type();
    case Is::options: return type_of_options(form.options);
    case Is::map: return cat("map of names to ", type_of_form(form.items.front()));
    case Is::list: {
      const OptionForm& item = form.items.front();
      return cat("list of ", item.is == Is::kind ? item.sort + "s" : type_of_form(item));
    }
    case Is::kind: {
      const bool vowel = std::string_view("aeiou").find(form.sort.front()) != std::string_view::npos;
      return cat(vowel ? "an " : "a ", form.sort);
    }
    case Is::name: break;
  }
  return name_type(form.names);
}

// "integer, text or list", "list of input ops", "map of names to {columns, type}".
std::string type_of_forms(const std::vector<OptionForm>& forms) {
  std::vector<std::string> out;
  for (const OptionForm& form : forms) {
    // After the forms of its items, the word "list" is enough.
    const bool of_the_same = form.is == OptionForm::Is::list && !out.empty();
    out.push_back(of_the_same ? std::string("list") : type_of_form(form));
  }
  return join(out, " or ");
}

// Writes a whole bound in digits, unless they are too many: 1000000000000, not 1e+12.
std::string bound_text(double bound) {
  constexpr double kMostDigits = 1e15;
  const bool in_digits = std::abs(bound) <= kMostDigits && bound == std::trunc(bound);
  return in_digits ? cat(static_cast<int64_t>(bound)) : cat(bound);
}

}  // namespace

std::string range_text(const Range& range) {
  std::string out;
  if (std::isfinite(range.min)) out = cat(range.above_min ? "more than " : "at least ", bound_text(range.min));
  if (!std::isfinite(range.max)) return out;
  return cat(out, out.empty() ? "" : " and ", range.below_max ? "less than " : "at most ", bound_text(range.max));
}

std::string type_of_options(const std::vector<OptionInfo>& options) {
  std::string out = "{";
  for (const OptionInfo& option : options) out += cat(out.size() > 1 ? ", " : "", option.name);
  return out + "}";
}

namespace {

// A hint for an absent key, if an unknown key looks like it; else empty.
std::string misspelt_as(const Spec& spec, const std::vector<OptionInfo>& known, const std::string& name) {
  for (const auto& [key, value] : spec.entries()) {
    const bool declared = std::ranges::find(known, key, &OptionInfo::name) != known.end();
    if (!declared && !nearest(key, {name}).empty()) return cat("is ", key, " meant to be ", name, "?");
  }
  return {};
}

// Throws if `spec` lacks required keys; the message names all of them.
void check_required(const Spec& spec, const std::vector<OptionInfo>& known) {
  std::vector<std::string> absent;
  const OptionInfo* first = nullptr;
  std::string hint;
  for (const OptionInfo& info : known) {
    if (!info.required || spec.find(info.name) != nullptr) continue;
    if (first == nullptr) first = &info;
    if (hint.empty()) hint = misspelt_as(spec, known, info.name);
    absent.push_back(info.name);
  }
  if (absent.empty()) return;
  if (absent.size() > 1) throw spec.error(cat("the keys ", join(absent), " are required"), hint);
  if (hint.empty()) hint = cat(first->name, ": ", first->doc);
  throw spec.error(cat("the key ", first->name, " is required (", first->type, ")"), hint);
}

// Throws if the key was written without a value.
void check_not_null(const Spec& node, const OptionInfo& info) {
  if (!node.is_null()) return;
  // The values of a Spec are not known yet: may_be() is called later.
  const bool open = info.type == OptionType<Spec>::type();
  const bool text = open || info.type.find(OptionType<std::string>::type()) != std::string::npos;
  throw node.error(open ? std::string("the key has no value") : cat("the key has no value; expected ", info.type),
                   text ? cat("null means no value: ", info.required ? "" : "leave the key out, or ",
                              "put it in quotes if a text is meant")
                        : "");
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
  check_required(spec, known);
}

OptionReader::OptionReader() : resolved_(Spec::map(Place{})) {}

OptionReader::OptionReader(const Spec& spec) : spec_(&spec), resolved_(Spec::map(spec.place())) {
  spec.entries();
  resolved_.set_path(spec.path());
}

OptionReader::~OptionReader() = default;

const Spec& OptionReader::node(std::string_view name) const {
  // The caller reports a wrong value. If a required key is absent, that is the error instead.
  check_required(*spec_, infos_);
  const Spec* found = spec_->find(name);
  return found != nullptr ? *found : *spec_;
}

void OptionReader::visit(std::string_view name, void* value, const Access& access, bool required, const Range& range,
                         std::string_view doc) {
  OptionInfo& info = infos_.emplace_back(OptionInfo{std::string(name), access.type(), {}, required, std::string(doc)});
  if (!reading()) {
    info.forms = access.forms();
    if (is_bounded(range)) set_range(info.forms, range);
  } else if (const Spec* node = spec_->find(name)) {
    check_not_null(*node, info);
    access.read(*node, range, value);
  }
  Spec written = access.write(value);
  if (!required) {
    info.default_value = default_text(written);
    info.fallback = written;
  }
  if (!written.is_null()) resolved_.set(std::string(name), std::move(written));
}

OptionInfo& OptionReader::declared(std::string_view name) {
  const auto found = std::ranges::find(infos_, name, &OptionInfo::name);
  if (found == infos_.end()) throw InternalError(cat("no option ", name, " is declared yet"));
  return *found;
}

void OptionReader::may_be(std::string_view name, std::vector<OptionForm> forms) {
  OptionInfo& of = declared(name);
  of.type = type_of_forms(forms);
  of.forms = std::move(forms);
}

void OptionReader::decides(std::string_view name, Decides what) { declared(name).decides = what; }
void OptionReader::only_speed(std::string_view name) {
  declared(name).only_speed = true;
  decides(name, Decides::nothing);
}
void OptionReader::stands_alone(std::string_view name) { declared(name).stands_alone = true; }
void OptionReader::used_as(std::string_view name, OptionUse use) { declared(name).use = use; }
void OptionReader::set_in_pass(std::string_view name, Spec value) { declared(name).in_pass = std::move(value); }

void OptionReader::check_number(const Spec& node, double value, const Range& range) {
  const bool low = range.above_min ? !(value > range.min) : !(value >= range.min);
  const bool high = range.below_max ? !(value < range.max) : !(value <= range.max);
  if ((!low && !high) || !is_bounded(range)) return;
  throw node.error(cat("expected ", range_text(range), ", got ", node.describe()));
}

}  // namespace millrace
