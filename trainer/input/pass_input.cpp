#include "millrace/trainer/input/pass_input.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/graph/graph_list.h"

namespace millrace {

namespace {

using Names = std::set<std::string, std::less<>>;

constexpr int64_t kDefaultBatch = 256;

bool meet(const Names& a, const Names& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& name) { return b.contains(name); });
}

// Makes the list of one pass. run() shows the order of the steps.
class PassMaker {
 public:
  explicit PassMaker(const PassArgs& args) : args_(args) {}

  PassInput run() {
    nodes_ = read_graph_list(args_.input, args_.registry, resolved_);
    kept_.assign(nodes_.size(), true);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      options_.push_back(written_options(nodes_[i]));
      add_found(i);
    }
    if (args_.held_out) find_divider();
    for (size_t i = 0; i < nodes_.size(); ++i) change(i);
    if (args_.files && !has_files_) throw no_files();
    if (args_.wanted) {
      wanted_.insert(args_.wanted->begin(), args_.wanted->end());
      choose_fields();
    }
    if (!args_.keep.empty()) keep_columns();
    emit();
    return std::move(out_);
  }

 private:
  Spec written_options(const GraphNode& node) const {
    Spec options = args_.registry.read(node.spec, "an input op").options;
    options.erase("name");
    options.erase("from");
    return options;
  }

  void add_found(size_t index) {
    const Spec* found = args_.found != nullptr ? args_.found->find(nodes_[index].name) : nullptr;
    if (found == nullptr) return;
    for (const auto& [key, value] : found->entries()) {
      const auto has_key = [&](const OptionInfo& info) { return info.name == key; };
      const bool known = std::ranges::any_of(nodes_[index].options, has_key);
      if (known && options_[index].find(key) == nullptr) options_[index].set(key, value);
    }
  }

  // All options of an op, defaults included.
  const Spec& resolved_options(size_t index) const { return resolved_.items()[index].entries().front().second; }

  void find_divider() {
    std::vector<std::string> found;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (option_of(nodes_[i], OptionUse::held_out) == nullptr) continue;
      divider_ = i;
      found.push_back(nodes_[i].name);
    }
    if (found.size() == 1) return;
    if (found.empty()) {
      throw args_.input.error("the rows that were held out are wanted, but no op holds any out",
                              "put hold_out: {share: 0.2} after decode_csv");
    }
    throw args_.input.error(cat("the rows that were held out are wanted, but ", join(found), " each hold out others"),
                            "leave one of them");
  }

  void change(size_t index) {
    GraphNode& node = nodes_[index];
    if (!args_.held_out && option_of(node, OptionUse::held_out) != nullptr) kept_[index] = false;
    // After the op that holds rows out, row numbers count only the training's rows.
    const bool stays = node.row_buffer != nullptr && !args_.files && index < divider_ &&
                       attributed(*node.row_buffer, &RowBuffer::picks_by_number);
    if (node.row_buffer != nullptr && !stays) leave_out_buffer(index);
    if (node.batch_buffer != nullptr && node.kind != kBatchKind) batch_in_order(index);
    for (const OptionInfo& info : node.options) {
      const bool own_bad_rows = args_.held_out || args_.own_bad_rows;
      const bool changes = info.in_pass && (info.use != OptionUse::bad_rows || !own_bad_rows);
      if (changes) change_option(index, info);
    }
    const OptionInfo* files = node.ports.empty() && args_.files ? option_of(node, OptionUse::files) : nullptr;
    if (files == nullptr) return;
    const bool by_field = std::ranges::find(files->forms, OptionForm::Is::map, &OptionForm::is) != files->forms.end();
    options_[index].set(files->name, by_field ? files_by_field() : *args_.files);
    has_files_ = true;
  }

  Spec files_by_field() const {
    if (args_.files->is_map()) return *args_.files;
    Spec out = Spec::map(args_.files->place());
    for (const std::string& text : OptionType<std::vector<std::string>>::read(*args_.files)) {
      const size_t equals = std::min(text.find('='), text.size());
      if (equals == 0 || equals == text.size()) {
        throw ConfigError(cat("expected FIELD=FILE, got ", quote(text)), args_.files->place(),
                          "the arrays of each field are files of their own: features=x.npy");
      }
      const std::string field = text.substr(0, equals);
      if (out.find(field) == nullptr) out.set(field, Spec::list(args_.files->place()));
      out.find(field)->append(Spec::scalar(text.substr(equals + 1), true, args_.files->place()));
    }
    return out;
  }

  void change_option(size_t index, const OptionInfo& info) {
    if (!info.in_pass->is_null()) {
      Spec value = *info.in_pass;
      if (value.is_scalar()) value = Spec::scalar(value.as_string(), value.quoted(), nodes_[index].spec.place());
      options_[index].set(info.name, std::move(value));
      return;
    }
    if (info.use == OptionUse::share && std::as_const(options_[index]).find(info.name) != nullptr) {
      out_.left_out.push_back(cat(nodes_[index].name, '.', info.name));
    }
    options_[index].erase(info.name);
  }

  void leave_out_buffer(size_t index) {
    const GraphNode& node = nodes_[index];
    const size_t inputs = std::max(node.ports.size(), node.from.size());
    if (inputs > 1) {
      throw node.spec.error(
          cat(node.name, " joins ", inputs, " inputs, but the data are read in one pass, in one order"),
          "one filename_queue may name all files: files: [a.csv, b.csv]");
    }
    kept_[index] = false;
    out_.left_out.push_back(node.name);
  }

  // Makes the op a `batch`, which gives batches of the same size, in order, and the smaller last one.
  void batch_in_order(size_t index) {
    GraphNode& node = nodes_[index];
    const OptionInfo* rows = option_of(node, OptionUse::batch_rows);
    const Spec* size = nullptr;
    if (rows != nullptr) {
      size = std::as_const(options_[index]).find(rows->name);
      if (size == nullptr) size = resolved_options(index).find(rows->name);
    }
    Spec batch_rows = size != nullptr ? *size : Spec::scalar(cat(kDefaultBatch), false, node.spec.place());
    node.kind = kBatchKind;
    node.options = args_.registry.options_of(kBatchKind, node.spec);
    options_[index] = Spec::map(options_[index].place());
    options_[index].set(option_of(node, OptionUse::batch_rows)->name, std::move(batch_rows));
  }

  ConfigError no_files() const {
    std::vector<std::string> sources;
    for (const GraphNode& node : nodes_) {
      if (node.ports.empty()) sources.push_back(node.name);
    }
    return args_.input.error(cat("the rows come from ", join(sources), ", which names no files"),
                             "replace the whole list: input=[{filename_queue: {files: x.csv}}, csv_reader, ..]");
  }

  // The value of the option that lists the fields which the op makes or changes independently; null if there is none.
  const Spec* fields_of(size_t index) const {
    const OptionInfo* info = option_of(nodes_[index], OptionUse::fields);
    return info != nullptr ? std::as_const(options_[index]).find(info->name) : nullptr;
  }
  static Names names_in(const Spec& fields) {
    const std::vector<std::string> listed = listed_fields(fields);
    return {listed.begin(), listed.end()};
  }

  // The fields that a transform may read if it does not say what it reads: all except `others`.
  Names all_fields_but(const Names& others) const {
    Names names = wanted_;
    names.insert(args_.source_fields.begin(), args_.source_fields.end());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (const Spec* fields = fields_of(i)) names.merge(names_in(*fields));
    }
    for (const std::string& field : others) names.erase(field);
    return names;
  }

  // The fields that are connected to a wanted field, and those that are connected only to unwanted ones.
  std::pair<Names, Names> sides(const std::vector<Names>& named) const {
    Names stays = wanted_, goes;
    spread(named, stays);
    for (const std::string& field : args_.unwanted) {
      if (!stays.contains(field)) goes.insert(field);
    }
    spread(named, goes);
    return {std::move(stays), std::move(goes)};
  }

  // Fields are connected if a transform names both, or through other fields. Fields that are connected to a wanted
  // field stay; of the rest, those that are connected to an unwanted one go.
  void choose_fields() {
    std::vector<Names> named(nodes_.size());
    std::vector<size_t> silent;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].transform == nullptr || fields_of(i) != nullptr || !kept_[i]) continue;
      if (const auto fields = attributed(*nodes_[i].transform, &Transform::concerned_fields)) {
        named[i].insert(fields->begin(), fields->end());
      } else {
        silent.push_back(i);
      }
    }
    // What tells which rows were held out is wanted, whatever else is.
    if (args_.held_out) wanted_.insert(named[divider_].begin(), named[divider_].end());
    const Names others = sides(named).second;
    for (const size_t i : silent) named[i] = all_fields_but(others);
    auto [stays, goes] = sides(named);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (meet(named[i], goes)) {
        kept_[i] = false;
        out_.left_out.push_back(nodes_[i].name);
      } else {
        stays.insert(named[i].begin(), named[i].end());
      }
    }
    out_.fields.assign(stays.begin(), stays.end());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (const Spec* fields = fields_of(i)) keep_listed(i, *fields, stays);
    }
  }

  static void spread(const std::vector<Names>& named, Names& fields) {
    for (size_t before = SIZE_MAX; before != fields.size();) {
      before = fields.size();
      for (const Names& names : named) {
        if (meet(names, fields)) fields.insert(names.begin(), names.end());
      }
    }
  }

  // Removes fields that do not stay from the list of fields that the op makes or changes.
  void keep_listed(size_t index, const Spec& fields, const Names& stays) {
    const std::string& key = option_of(nodes_[index], OptionUse::fields)->name;
    const bool makes = nodes_[index].ports == std::vector{PortType::text};
    const Names names = names_in(fields);
    Names left_out;
    std::set_difference(names.begin(), names.end(), stays.begin(), stays.end(),
                        std::inserter(left_out, left_out.end()));
    if (left_out.empty()) return;
    if (left_out.size() == names.size()) {
      // An op that makes rows, or decides which rows come, must stay. If a field is missing, the model reports it.
      if (makes || nodes_[index].transform == nullptr) return;
      kept_[index] = false;
      out_.left_out.push_back(nodes_[index].name);
      return;
    }
    if (makes) {
      out_.not_decoded.insert(out_.not_decoded.end(), left_out.begin(), left_out.end());
      out_.fields_path = cat(nodes_[index].spec.path(), '.', nodes_[index].kind, '.', key);
    }
    Spec left = fields.is_map() ? fields : Spec::list(fields.place());
    for (const std::string& name : left_out) {
      if (fields.is_map()) left.erase(name);
    }
    for (size_t i = 0; fields.is_list() && i < fields.size(); ++i) {
      if (stays.contains(fields.items()[i].as_string())) left.append(fields.items()[i]);
    }
    options_[index].set(key, std::move(left));
  }

  // Adds a field for the columns to the op that decodes text.
  void keep_columns() {
    Spec columns = Spec::list(args_.keep_place);
    for (const std::string& column : args_.keep) columns.append(Spec::scalar(column, true, args_.keep_place));
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const Spec* fields = kept_[i] && nodes_[i].transform != nullptr ? fields_of(i) : nullptr;
      std::optional<Spec> texts =
          fields != nullptr ? attributed(*nodes_[i].op, [&] { return nodes_[i].transform->texts_of(columns); })
                            : std::nullopt;
      if (!texts) continue;
      const std::string& key = option_of(nodes_[i], OptionUse::fields)->name;
      options_[i].find(key)->set(std::string(kKept), *std::move(texts));
      out_.kept_path = cat(nodes_[i].spec.path(), '.', nodes_[i].kind, '.', key, '.', kKept);
      return;
    }
    throw ConfigError("the rows do not come from columns of text", args_.keep_place);
  }

  // The kept op that node `index` reads, or -1.
  int64_t input_of(size_t index) const {
    int64_t at = static_cast<int64_t>(index);
    do {
      const GraphNode& node = nodes_[static_cast<size_t>(at)];
      if (node.ports.empty()) return -1;
      int64_t before = at - 1;
      if (!node.from.empty()) {
        const auto named = std::find_if(nodes_.begin(), nodes_.end(),
                                        [&](const GraphNode& other) { return other.name == node.from.front(); });
        before = named - nodes_.begin();
        if (before >= at) return -1;  // InputGraph::build() reports this mistake
      }
      at = before;
    } while (at >= 0 && !kept_[static_cast<size_t>(at)]);
    return at;
  }

  void emit() {
    out_.held_out = args_.held_out;
    out_.bad_rows_stay = args_.bad_rows_stay;
    out_.list = Spec::list(args_.input.place());
    out_.list.set_path(args_.input.path());
    int64_t before = -1;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!kept_[i]) continue;
      const GraphNode& node = nodes_[i];
      Spec options = Spec::map(options_[i].place());
      options.set("name", Spec::scalar(node.name, true, node.spec.place()));
      const int64_t input = input_of(i);
      if (input >= 0 && input != before) {
        options.set("from", Spec::scalar(nodes_[static_cast<size_t>(input)].name, true, node.spec.place()));
      } else if (input < 0 && !node.from.empty()) {
        options.set("from", OptionType<std::vector<std::string>>::write(node.from));
      }
      for (const auto& [key, value] : options_[i].entries()) options.set(key, value);
      out_.list.append(Spec::map(node.spec.place()).set(node.kind, std::move(options)));
      out_.list.item(out_.list.size() - 1)->set_path(node.spec.path());
      before = static_cast<int64_t>(i);
    }
  }

  const PassArgs& args_;
  std::vector<GraphNode> nodes_;
  Spec resolved_;
  std::vector<Spec> options_;  // as written, then changed; without the keys name and from
  std::vector<bool> kept_;
  bool has_files_ = false;
  size_t divider_ = SIZE_MAX;  // with PassArgs::held_out: the op that holds rows out
  Names wanted_;               // PassArgs::wanted, and the fields that the divider reads
  PassInput out_;
};

}  // namespace

std::function<void(const BadRow&)> PassInput::on_bad_row() const {
  if (held_out) return {};
  return [](const BadRow& bad) { throw DataError(bad.reason, bad.place, "a pass needs every row: repair the data"); };
}

std::optional<Spec> named_files(const std::vector<std::string>& patterns, const Place& place) {
  if (patterns.empty()) return {};
  Spec files = Spec::list(place);
  for (const std::string& pattern : patterns) files.append(Spec::scalar(pattern, true, place));
  return files;
}

PassInput pass_input(const PassArgs& args) { return PassMaker(args).run(); }

InputGraph PassInput::build(const OpRegistry& registry, uint64_t seed, const std::string& config_file,
                            std::shared_ptr<Workers> workers) const {
  try {
    InputGraph graph = build_input({.list = list,
                                    .registry = registry,
                                    .seed = seed,
                                    .config_file = config_file,
                                    .side = held_out ? Side::held_out : Side::trained,
                                    .bad_rows_stay = bad_rows_stay,
                                    .workers = std::move(workers)});
    if (const std::string endless = graph.endless_source(); !endless.empty()) {
      throw list.error(cat("the data of ", endless, " never end, but they are to be read once"),
                       cat("say how many rows ", endless, " gives"));
    }
    if (const InputFiles files = graph.files(); !files.written.empty()) {
      throw list.error(cat("it would write ", quote(files.written.front(), 4096), ", but a pass writes no files"));
    }
    return graph;
  } catch (ConfigError& error) {
    // The user did not write this path, so it is taken out of the message.
    const std::string& message = error.message();
    if (!kept_path.empty() && message.starts_with(kept_path)) {
      throw ConfigError(message.substr(message.find(": ") + 2), error.place(), error.hint());
    }
    const bool of_columns = !not_decoded.empty() && error.message().starts_with(fields_path);
    if (of_columns) {
      error.set_hint(cat("the columns that are not read (", join(not_decoded),
                         ") may be missing in files without a header only if they stand after all others: keep an "
                         "empty column, or set the columns anew"));
    }
    throw;
  }
}

}  // namespace millrace
