#include "millrace/trainer/config/overrides.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "millrace/core/free_names.h"
#include "millrace/core/text.h"
#include "millrace/trainer/config/short_forms.h"
#include "millrace/trainer/files/yaml.h"

namespace millrace {

namespace {

// The most bytes of a setting in a message.
constexpr size_t kShownBytes = 200;

// One step of a path: `.key` or `[index]`.
struct Segment {
  std::string key;
  std::optional<size_t> index;
};

std::vector<Segment> parse_path(std::string_view path, const Place& where) {
  const ConfigError malformed(cat("expected a path such as train.steps or input[3].batch_size, got ", quote(path)),
                              where);
  std::vector<Segment> segments;
  while (!path.empty() || segments.empty()) {
    // No configuration is deeper. Each step writes the names of all steps before it, so many steps would take long.
    if (segments.size() == kMaxYamlDepth)
      throw ConfigError(cat("the path has more than ", kMaxYamlDepth, " steps"), where);
    if (path.starts_with('[')) {
      size_t index = 0;
      const size_t close = std::min(path.find(']'), path.size());
      const auto [stop, failure] = std::from_chars(path.data() + 1, path.data() + close, index);
      if (close == path.size() || failure != std::errc() || stop != path.data() + close) throw malformed;
      segments.push_back({{}, index});
      path.remove_prefix(close + 1);
    } else {
      const size_t end = std::min(path.find_first_of(".["), path.size());
      if (end == 0) throw malformed;
      if (end > kMaxYamlKeyBytes) {
        throw ConfigError(cat("expected a key of at most ", kMaxYamlKeyBytes, " bytes, got one of ", end), where);
      }
      segments.push_back({std::string(path.substr(0, end)), {}});
      path.remove_prefix(end);
    }
    if (!path.starts_with('.')) {
      if (!path.empty() && !path.starts_with('[')) throw malformed;
      continue;
    }
    path.remove_prefix(1);
    if (path.empty() || path.starts_with('[')) throw malformed;
  }
  return segments;
}

// The kind that a list item or a node such as `loss` names; empty when it names none.
std::string kind_of(const Spec& node) {
  if (node.is_scalar()) return node.as_string();
  return node.is_map() && node.size() == 1 ? node.entries().front().first : std::string();
}

std::string given_name(const Spec& item) {
  if (!item.is_map() || item.size() != 1) return {};
  const Spec* name = item.entries().front().second.find("name");
  return name != nullptr && name->is_scalar() ? name->as_string() : std::string();
}

void replace(Spec& node, Spec value) {
  value.set_path(node.path());
  value.set_key_place(node.key_place());
  node = std::move(value);
}

// The options of a node that names a kind: `kind` becomes `kind: {}`.
Spec& options_of(Spec& node) {
  const std::string kind = kind_of(node);
  if (node.is_scalar()) {
    Spec options = Spec::map(node.place());
    options.set_key_place(node.place());
    replace(node, Spec::map(node.place()).set(kind, std::move(options)));
  }
  Spec& options = *node.find(kind);
  if (options.is_null()) replace(options, Spec::map(options.place()));
  return options;
}

class Walker {
 public:
  Walker(Place where, const Catalog& catalog) : where_(std::move(where)), catalog_(catalog) {}

  // The node that `segment` leads to from `node`; made if it is absent.
  Spec& step(Spec& node, const Segment& segment, bool is_last) {
    parent_ = nullptr;
    const bool is_item = std::exchange(at_item_, segment.index.has_value());
    const bool is_options = std::exchange(at_options_, false);
    if (segment.index) return item_at(list_of(node), *segment.index);
    if (is_options) return option_of(node, segment.key);
    const std::vector<OptionForm> forms = forms_at(node.path(), catalog_);
    const bool is_kind = has_form(forms, OptionForm::Is::kind);
    if (is_item && is_kind && !kind_of(node).empty()) {
      Spec& options = options_of(node);
      at_options_ = segment.key == kind_of(node) && options.find(segment.key) == nullptr;
      return at_options_ ? options : option_of(options, segment.key);
    }
    if (node.is_list() || (is_kind && is_one_or_list(forms) && !node.is_null())) {
      return item_called(list_of(node), segment.key);
    }
    return is_kind ? kind_of_node(node, segment.key, is_last) : key_of(node, segment.key);
  }

  Spec* parent() const { return parent_; }

 private:
  ConfigError error(const Spec& node, std::string_view message, std::string_view hint) const {
    return ConfigError(cat(node.path().empty() ? std::string("the configuration") : node.path(), message), where_,
                       hint);
  }

  Spec& key_of(Spec& node, const std::string& key) {
    if (node.is_null()) replace(node, Spec::map(where_));
    if (!node.is_map()) write_out(node, forms_at(node.path(), catalog_));
    if (!node.is_map()) throw error(node, cat(" is ", node.describe(), ", so it has no key ", quote(key)), {});
    if (node.find(key) == nullptr) node.set(key, Spec::null(where_));
    parent_ = &node;
    return *node.find(key);
  }

  Spec& option_of(Spec& options, const std::string& key) {
    if (!options.is_map()) write_out(options, forms_at(options.path(), catalog_));
    if (options.is_map()) return key_of(options, key);
    throw error(options, cat(" is ", options.describe(), " in place of options, so it has no key ", quote(key)),
                cat("replace it whole: ", options.path(), "={", key, ": ..}"));
  }

  static bool has_form(const std::vector<OptionForm>& forms, OptionForm::Is is) {
    return std::ranges::find(forms, is, &OptionForm::is) != forms.end();
  }

  // Whether one value may stand in place of a list of one.
  static bool is_one_or_list(const std::vector<OptionForm>& forms) {
    return forms.size() > 1 && has_form(forms, OptionForm::Is::list);
  }

  Spec& list_of(Spec& node) {
    if (!node.is_list() && !node.is_null() && is_one_or_list(forms_at(node.path(), catalog_))) {
      Spec item = node;
      replace(node, Spec::list(node.place()).append(std::move(item)));
    }
    if (!node.is_list()) throw error(node, cat(" is ", node.describe(), ", so it has no positions"), {});
    return node;
  }

  Spec& item_at(Spec& list, size_t index) {
    if (index >= list.size()) {
      throw error(list,
                  cat(" has ", count_of(static_cast<int64_t>(list.size()), "item"), ", so there is no [", index, "]"),
                  "positions count from 0");
    }
    return *list.item(index);
  }

  // The options of the only item of that kind or name, or the item itself if it names no kind. A given name comes
  // before kinds.
  Spec& item_called(Spec& list, const std::string& wanted) {
    const std::vector<std::string> names = item_names(list);
    std::vector<size_t> given, found;
    for (size_t i = 0; i < list.size(); ++i) {
      if (given_name(list.items()[i]) == wanted) given.push_back(i);
      if (names[i] == wanted || kind_of(list.items()[i]) == wanted) found.push_back(i);
    }
    if (given.size() == 1) found = given;
    at_options_ = found.size() == 1 && names_kinds(forms_at(list.path(), catalog_));
    if (at_options_) return options_of(*list.item(found.front()));
    if (found.size() == 1) return *list.item(found.front());
    if (found.empty()) throw error(list, cat(" has no item ", quote(wanted)), nearest_item(list, names, wanted));
    std::vector<std::string> paths;
    for (const size_t i : found) {
      const std::string name = given_name(list.items()[i]);
      paths.push_back(is_name(name) && name != wanted ? cat(list.path(), '.', name) : cat(list.path(), '[', i, ']'));
    }
    throw error(list, cat(" has ", found.size(), " items ", quote(wanted)), cat("write ", join(paths, " or ")));
  }

  static std::string nearest_item(const Spec& list, std::vector<std::string> names, const std::string& wanted) {
    for (const Spec& item : list.items()) names.push_back(kind_of(item));
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::erase(names, std::string());
    const std::string near = nearest(wanted, names);
    if (!near.empty()) return cat("did you mean ", near, "?");
    return names.empty() ? std::string() : cat("its items are ", join(names));
  }

  // `loss` and `optimizer` hold one kind, so another name is probably a typo.
  Spec& kind_of_node(Spec& node, const std::string& wanted, bool is_last) {
    const std::string kind = kind_of(node);
    if (kind.empty()) return key_of(node, wanted);
    at_options_ = kind == wanted;
    if (at_options_) return options_of(node);
    const std::string near = nearest(wanted, {kind});
    throw error(node, cat(" is ", kind, ", not ", quote(wanted)),
                !near.empty() ? cat("did you mean ", node.path(), '.', near, "?")
                : is_last     ? cat("an option of it is ", node.path(), '.', kind, '.', wanted)
                              : cat("replace it whole: ", node.path(), "={", wanted, ": {..}}"));
  }

  const Place where_;
  const Catalog& catalog_;
  bool at_item_ = false;     // the node was reached by its position in a list
  bool at_options_ = false;  // the node holds the options of a kind, or the value that stands for them
  Spec* parent_ = nullptr;   // the map that the node was found in by its key
};

}  // namespace

void apply_override(Spec& config, std::string_view setting, const Catalog& catalog) {
  const Place where{cat("--set ", shortened(setting, kShownBytes)), 0, 0};
  const size_t equals = setting.find('=');
  if (equals == std::string_view::npos) {
    throw ConfigError("expected path=value, got no =", where, "write for example train.steps=100");
  }
  const std::string_view text = setting.substr(equals + 1);
  // In YAML, a lone - is a list with one empty item; here it means standard input.
  Spec value = text == "-" ? Spec::scalar("-", true, where) : parse_yaml_value(text, where);
  Spec* node = &config;
  Walker walker(where, catalog);
  const std::vector<Segment> path = parse_path(setting.substr(0, equals), where);
  for (const Segment& segment : path) node = &walker.step(*node, segment, &segment == &path.back());
  // If nothing follows the =, that is probably a mistake, such as an empty variable of the shell. So only a written
  // null removes the key.
  if (value.is_null() && !text.empty() && walker.parent() != nullptr) {
    walker.parent()->erase(path.back().key);
    return;
  }
  value.set_path(node->path());
  value.set_key_place(where);
  *node = std::move(value);
}

void apply_overrides(Spec& config, std::span<const std::string> settings, const Catalog& catalog) {
  for (const std::string& setting : settings) apply_override(config, setting, catalog);
}

namespace {

// Appends a text that is equal for equal nodes, wherever they were written.
void append_text(std::string& out, const Spec& node) {
  if (node.is_scalar()) out += cat(node.quoted() ? 'q' : 's', node.as_string().size(), ':', node.as_string());
  if (node.is_list()) {
    out += '[';
    for (const Spec& item : node.items()) append_text(out, item);
    out += ']';
  } else if (node.is_map()) {
    out += '{';
    for (const auto& [key, value] : node.entries()) {
      out += cat(key.size(), ':', key);
      append_text(out, value);
    }
    out += '}';
  } else if (node.is_null()) {
    out += '0';
  }
}

std::string text_of(const Spec& node) {
  std::string out;
  append_text(out, node);
  return out;
}

// The heeded part as a text; absent if the configuration is wrong.
std::optional<std::string> heeded_text(const Spec& config, const Heeded& heeded) {
  try {
    return text_of(heeded.of(config));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

void apply_overrides(Spec& config, std::span<const std::string> settings, const Catalog& catalog,
                     const Heeded& heeded) {
  if (!heeded.of || settings.empty()) return apply_overrides(config, settings, catalog);
  std::string before = text_of(config);
  std::optional<std::string> heeded_before = heeded_text(config, heeded);
  for (const std::string& setting : settings) {
    apply_override(config, setting, catalog);
    std::string after = text_of(config);
    if (before == after) continue;
    std::optional<std::string> heeded_after = heeded_text(config, heeded);
    if (heeded_before && heeded_before == heeded_after) {
      throw ConfigError("the setting changes nothing here", {cat("--set ", shortened(setting, kShownBytes)), 0, 0},
                        heeded.hint);
    }
    before = std::move(after);
    heeded_before = std::move(heeded_after);
  }
}

Spec only_keys(const Spec& config, const std::vector<std::string_view>& keys) {
  Spec out = Spec::map(config.place());
  for (const std::string_view key : keys) {
    if (const Spec* value = config.find(key)) out.set(std::string(key), *value);
  }
  return out;
}

std::vector<std::string> item_names(const Spec& list) {
  std::vector<std::string> names;
  FreeNames free;
  for (const Spec& item : list.items()) free.take(names.emplace_back(given_name(item)));
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string kind = kind_of(list.items()[i]);
    if (names[i].empty() && !kind.empty()) names[i] = free.give(kind);
  }
  return names;
}

}  // namespace millrace
