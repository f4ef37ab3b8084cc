#include "millrace/trainer/checkpoint/config_differences.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/input/files/whole_path.h"
#include "millrace/trainer/config/short_forms.h"

namespace millrace {

namespace {

using Is = OptionForm::Is;

constexpr size_t kValueBytes = 80;  // most bytes of a value in a message
constexpr size_t kOtherKeys = 3;    // most further keys in a message

// A value as messages show it. A text from a file may have lost its quotes, so plain texts are shown without quotes.
std::string shown(const Spec* value) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_.-+/*:").find(c) != std::string_view::npos;
  };
  if (value == nullptr) return "no value";
  if (value->is_scalar()) {
    const std::string& text = value->as_string();
    const bool plain = !text.empty() && std::ranges::all_of(text, is_plain);
    return plain ? shortened(text, kValueBytes) : quote(text, kValueBytes);
  }
  std::string out;
  const auto add = [&](const std::string& part) { out += cat(out.empty() ? "" : ", ", part); };
  if (value->is_list()) {
    for (size_t i = 0; i < value->size() && out.size() < kValueBytes; ++i) add(shown(&value->items()[i]));
    return cat('[', shortened(out, kValueBytes), ']');
  }
  for (size_t i = 0; i < value->size() && out.size() < kValueBytes; ++i) {
    const auto& [key, below] = value->entries()[i];
    add(cat(key, ": ", shown(&below)));
  }
  return cat('{', shortened(out, kValueBytes), '}');
}

// A key: its path, and its node in the written configuration, or else the nearest node above it.
struct Key {
  std::string path;
  const Spec* written;
  bool exact = true;  // `written` is the key's own node

  Key below(std::string_view name) const {
    const Spec* const found = exact ? written->find(name) : nullptr;
    return {cat(path, path.empty() ? "" : ".", name), found != nullptr ? found : written, found != nullptr};
  }
  Key item(size_t index) const {
    Key out{cat(path, '[', index, ']'), written, exact};
    if (exact && written->is_list()) {
      out.exact = index < written->size();
      if (out.exact) out.written = &written->items()[index];
    }
    return out;
  }
};

// Whether a training of length `now` is longer than one of length `saved`. A training without a length has no end.
bool is_longer(const Spec* saved, const Spec* now) {
  if (saved == nullptr || now == nullptr) return now == nullptr;
  try {
    return now->as_double() > saved->as_double();
  } catch (const ConfigError&) {
    return true;  // a plug-in may write its length in another way
  }
}

class ConfigComparison {
 public:
  ConfigComparison(const Config& config, const Catalog& catalog) : config_(config), catalog_(catalog) {}

  std::vector<std::string> run(const Spec& saved) {
    compare_keys(saved, config_.resolved, describe_config(), {{}, &config_.written});
    if (!refused_.empty()) throw error();
    if (lengthened_) notes_[*lengthened_] += words_on_schedules();
    return std::move(notes_);
  }

 private:
  struct Difference {
    Key key;
    std::string saved, now;
    bool was_there;
  };

  // `saved` and `now` are maps of options.
  void compare_keys(const Spec& saved, const Spec& now, const std::vector<OptionInfo>& known, const Key& above) {
    const auto compare = [&](const std::string& name) {
      const auto info = std::ranges::find(known, name, &OptionInfo::name);
      compare_values(value_of(saved, name), value_of(now, name), info != known.end() ? *info : undeclared_,
                     above.below(name));
    };
    for (const auto& [name, value] : now.entries()) compare(name);
    for (const auto& [name, value] : saved.entries()) {
      if (now.find(name) == nullptr) compare(name);
    }
  }

  static const Spec* value_of(const Spec& options, const std::string& name) {
    const Spec* const value = options.find(name);
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  void compare_values(const Spec* saved, const Spec* now, const OptionInfo& info, const Key& key) {
    if (info.decides == Decides::nothing) return;
    // A checkpoint of an earlier version lacks keys that were added later.
    const Spec* const fallback = info.fallback.is_null() ? nullptr : &info.fallback;
    if (saved == nullptr) saved = fallback;
    if (now == nullptr) now = fallback;
    if (info.use == OptionUse::updates && now != nullptr) schedules_.emplace_back(key.path, now->as_int());
    if (info.decides != Decides::results) {
      if (!is_same(saved, now, false)) note(saved, now, info.decides, key);
    } else if (saved == nullptr || now == nullptr || !compare_inside(*saved, *now, info.forms, key)) {
      compare_plain(saved, now, info.use == OptionUse::files, key);
    }
  }

  // Compares the kinds or options inside the values, if one of the forms describes both values. Otherwise returns
  // false.
  bool compare_inside(const Spec& saved, const Spec& now, const std::vector<OptionForm>& forms, const Key& key) {
    for (const OptionForm& form : forms) {
      if (form.is == Is::kind && !saved.is_list() && !now.is_list()) {
        compare_kinds(saved, now, form.sort, key);
        return true;
      }
      if (form.is == Is::list && form.items.size() == 1 && form.items.front().is == Is::kind && saved.is_list() &&
          now.is_list()) {
        compare_lists(saved, now, form.items.front().sort, key);
        return true;
      }
      if (form.is != Is::options) continue;
      Spec whole_saved = saved, whole_now = now;
      write_out(whole_saved, forms);
      write_out(whole_now, forms);
      if (!whole_saved.is_map() || !whole_now.is_map()) continue;
      compare_keys(whole_saved, whole_now, form.options, key);
      return true;
    }
    return false;
  }

  void compare_lists(const Spec& saved, const Spec& now, const std::string& sort, const Key& key) {
    if (saved.size() != now.size()) return refuse(key, kinds_of(saved, sort), kinds_of(now, sort));
    for (size_t i = 0; i < now.size(); ++i) compare_kinds(saved.items()[i], now.items()[i], sort, key.item(i));
  }

  static std::string kinds_of(const Spec& list, const std::string& sort) {
    Spec kinds = Spec::list();
    for (const Spec& item : list.items()) kinds.append(Spec::of(kind_and_options(item, sort).kind));
    return shown(&kinds);
  }

  void compare_kinds(const Spec& saved, const Spec& now, const std::string& sort, const Key& key) {
    const KindAndOptions before = kind_and_options(saved, sort), after = kind_and_options(now, sort);
    if (before.kind != after.kind) return refuse(key, before.kind, after.kind);
    const auto known = options_of_kind(sort, after.kind, catalog_);
    compare_keys(before.options, after.options, known.value_or(std::vector<OptionInfo>()), key.below(after.kind));
  }

  // Goes down while both values have the same shape, so that the error names the innermost key that differs.
  void compare_plain(const Spec* saved, const Spec* now, bool are_paths, const Key& key) {
    if (is_same(saved, now, are_paths)) return;
    const bool both = saved != nullptr && now != nullptr && saved->size() == now->size();
    if (both && saved->is_list() && now->is_list()) {
      for (size_t i = 0; i < now->size(); ++i) {
        compare_plain(&saved->items()[i], &now->items()[i], are_paths, key.item(i));
      }
    } else if (both && saved->is_map() && now->is_map() &&
               std::ranges::equal(saved->entries(), now->entries(), {}, &Spec::Entry::first, &Spec::Entry::first)) {
      for (size_t i = 0; i < now->size(); ++i) {
        const auto& [name, value] = now->entries()[i];
        compare_plain(&saved->entries()[i].second, &value, are_paths, key.below(name));
      }
    } else {
      refuse(key, shown(saved), shown(now), saved != nullptr);
    }
  }

  static bool is_same(const Spec* saved, const Spec* now, bool are_paths) {
    if (saved == nullptr || now == nullptr) return saved == now;
    if (saved->kind() != now->kind()) return false;
    if (saved->is_scalar()) {
      const std::string &before = saved->as_string(), &after = now->as_string();
      return before == after || (are_paths && whole_path(before) == whole_path(after));
    }
    if (saved->is_list()) {
      return std::ranges::equal(saved->items(), now->items(), [&](const Spec& before, const Spec& after) {
        return is_same(&before, &after, are_paths);
      });
    }
    return std::ranges::equal(saved->entries(), now->entries(),
                              [&](const Spec::Entry& before, const Spec::Entry& after) {
                                return before.first == after.first && is_same(&before.second, &after.second, are_paths);
                              });
  }

  void refuse(const Key& key, std::string saved, std::string now, bool was_there = true) {
    refused_.push_back({key, std::move(saved), std::move(now), was_there});
  }

  void note(const Spec* saved, const Spec* now, Decides decides, const Key& key) {
    std::string text = cat(key.path, " was ", saved != nullptr ? shown(saved) : "absent", " in the checkpoint, and is ",
                           now != nullptr ? shown(now) : "absent", " now");
    if (decides == Decides::last_bits) text += ": the rows are the same, the weights may differ in their last bits";
    if (decides == Decides::length && is_longer(saved, now) && !lengthened_) lengthened_ = notes_.size();
    notes_.push_back(std::move(text));
  }

  // Names the schedules that end before a longer training does. Each `accumulate` batches make one update, and so do
  // the batches left over at the end.
  std::string words_on_schedules() const {
    const TrainOptions& train = config_.train;
    std::string out;
    for (const auto& [path, updates] : schedules_) {
      if (train.steps && (*train.steps + train.accumulate - 1) / train.accumulate <= updates) continue;
      out += cat("; ", path, " is ", updates, ", so the schedule ", train.steps ? "ends" : "may end",
                 " before the training");
    }
    return out;
  }

  ConfigError error() const {
    const Difference& first = refused_.front();
    std::vector<std::string> others;
    for (const Difference& other : refused_) {
      if (&other != &first && others.size() < kOtherKeys) others.push_back(other.key.path);
    }
    const size_t more = refused_.size() - 1 - others.size();
    if (more > 0) others.push_back(cat(more, " more"));
    const std::string also =
        others.empty() ? std::string() : cat(" (", join(others), others.size() == 1 ? " differs" : " differ", ", too)");
    const std::string mend = first.was_there ? cat("give ", first.key.path, " the value of the checkpoint")
                                             : cat("leave ", first.key.path, " out");
    return ConfigError(
        cat(first.key.path, ": the checkpoint has ", first.saved, ", the configuration ", first.now, also),
        first.key.written->place(), cat(mend, " to go on, or give checkpoint.dir another folder to begin anew"));
  }

  const Config& config_;
  const Catalog& catalog_;
  const OptionInfo undeclared_;
  std::vector<Difference> refused_;
  std::vector<std::string> notes_;
  std::optional<size_t> lengthened_;                        // the index of the first note about a longer training
  std::vector<std::pair<std::string, int64_t>> schedules_;  // keys, and the updates after which each schedule ends
};

}  // namespace

std::vector<std::string> compare_configs(const Spec& saved, const Config& config, const Catalog& catalog) {
  return ConfigComparison(config, catalog).run(saved);
}

}  // namespace millrace
