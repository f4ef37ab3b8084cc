#include "millrace/trainer/config/pass_input.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/graph/graph_list.h"

namespace millrace {

namespace {

using Names = std::set<std::string, std::less<>>;

constexpr int64_t kDefaultBatch = 256;

Spec flag(bool value, const Place& place) { return Spec::scalar(value ? "true" : "false", false, place); }

// Every text in `spec` that is one of `known`, keys of maps included.
void collect_names(const Spec& spec, const Names& known, Names& out) {
  if (spec.is_scalar() && known.contains(spec.as_string())) out.insert(spec.as_string());
  if (spec.is_list()) {
    for (const Spec& item : spec.items()) collect_names(item, known, out);
  } else if (spec.is_map()) {
    for (const auto& [key, value] : spec.entries()) {
      if (known.contains(key)) out.insert(key);
      collect_names(value, known, out);
    }
  }
}

bool meet(const Names& a, const Names& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& name) { return b.contains(name); });
}

// Makes the list of one pass; run() is the order of its steps.
class PassMaker {
 public:
  explicit PassMaker(const PassArgs& args) : args_(args) {}

  PassInput run() {
    nodes_ = read_graph_list(args_.input, args_.registry, resolved_);
    kept_.assign(nodes_.size(), true);
    for (size_t i = 0; i < nodes_.size(); ++i) options_.push_back(written_options(nodes_[i]));
    if (args_.side == Side::held_out) find_divider();
    for (size_t i = 0; i < nodes_.size(); ++i) change(i);
    if (args_.files && !has_files_) throw no_files();
    if (args_.wanted) choose_fields();
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

  // All options of an op, defaults included.
  const Spec& resolved_options(size_t index) const { return resolved_.items()[index].entries().front().second; }

  bool has_option(const GraphNode& node, std::string_view name) const {
    const std::vector<OptionInfo> infos = args_.registry.find(node.kind, node.spec).describe();
    return std::any_of(infos.begin(), infos.end(), [&](const OptionInfo& info) { return info.name == name; });
  }

  void set_option(size_t index, const std::string& name, Spec value) {
    if (has_option(nodes_[index], name)) options_[index].set(name, std::move(value));
  }

  void find_divider() {
    std::vector<std::string> found;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].transform == nullptr || !nodes_[i].transform->choose_side(args_.side)) continue;
      divider_ = i;
      found.push_back(nodes_[i].name);
    }
    if (found.size() == 1) return;
    if (found.empty()) {
      throw args_.input.error("the rows that were held out are wanted, but no op holds any out",
                              "put hold_out: {share: 0.2} behind decode_csv");
    }
    throw args_.input.error(cat("the rows that were held out are wanted, but ", join(found), " each hold out others"),
                            "leave one of them");
  }

  void change(size_t index) {
    const GraphNode& node = nodes_[index];
    if (node.names != nullptr || node.source != nullptr) change_source(index);
    // Behind the op that holds rows out a number counts the rows of the training.
    const bool stays =
        node.row_buffer != nullptr && node.row_buffer->picks_by_number() && !args_.files && index < divider_;
    if (node.row_buffer != nullptr && !stays) leave_out_buffer(index);
    if (node.batch_buffer != nullptr) change_batches(index);
    options_[index].erase("bad_rows_file");
    if (args_.side != Side::held_out) {
      set_option(index, "on_bad_row", Spec::scalar("fail", false, node.spec.place()));
      options_[index].erase("max_bad_rows");
    }
    set_option(index, "random", flag(false, node.spec.place()));
  }

  void change_source(size_t index) {
    const GraphNode& node = nodes_[index];
    set_option(index, "shuffle", flag(false, node.spec.place()));
    set_option(index, "epochs", Spec::scalar("1", false, node.spec.place()));
    options_[index].erase("readers");
    if (std::as_const(options_[index]).find("shard") != nullptr) {
      options_[index].erase("shard");
      out_.left_out.push_back(cat(node.name, ".shard"));
    }
    if (node.names == nullptr || !args_.files || !has_option(node, "files")) return;
    options_[index].set("files", *args_.files);
    has_files_ = true;
  }

  void leave_out_buffer(size_t index) {
    const GraphNode& node = nodes_[index];
    const size_t inputs = std::max(node.op->inputs().size(), node.from.size());
    if (inputs > 1) {
      throw node.spec.error(
          cat(node.name, " joins ", inputs, " inputs, but the data are read in one pass, in one order"),
          "one filename_queue may name all files: files: [a.csv, b.csv]");
    }
    kept_[index] = false;
    out_.left_out.push_back(node.name);
  }

  void change_batches(size_t index) {
    const Place& place = nodes_[index].spec.place();
    const Spec* size = resolved_options(index).find("batch_size");
    const Spec* written = std::as_const(options_[index]).find("batch_size");
    Spec batch_size = Spec::scalar(cat(kDefaultBatch), false, place);
    if (written != nullptr || size != nullptr) batch_size = written != nullptr ? *written : *size;
    options_[index] = Spec::map(options_[index].place());
    options_[index].set("batch_size", std::move(batch_size));
    options_[index].set("allow_smaller_final_batch", flag(true, place));
    nodes_[index].kind = "batch";
  }

  ConfigError no_files() const {
    std::vector<std::string> sources;
    for (const GraphNode& node : nodes_) {
      if (node.op->inputs().empty()) sources.push_back(node.name);
    }
    return args_.input.error(cat("the rows come from ", join(sources), ", which takes no names from a filename_queue"),
                             "replace the whole list: input=[{filename_queue: {files: x.csv}}, csv_reader, ..]");
  }

  // Whether the op turns text into the fields that its option `fields` lists.
  bool decodes(size_t index) const {
    const GraphNode& node = nodes_[index];
    if (node.transform == nullptr || node.op->inputs() != std::vector{PortType::text}) return false;
    const Spec* fields = std::as_const(options_[index]).find("fields");
    return fields != nullptr && fields->is_map();
  }

  // Whether the op changes each field that its option `fields` lists by itself, as nothing is random in a pass: then
  // what becomes of one says nothing about the others.
  bool changes_apart(size_t index) const {
    return nodes_[index].transform != nullptr && has_option(nodes_[index], "random") &&
           std::as_const(options_[index]).find("fields") != nullptr;
  }

  // The names that may be those of fields.
  Names field_names() const {
    Names names(args_.wanted->begin(), args_.wanted->end());
    names.insert(args_.unwanted.begin(), args_.unwanted.end());
    names.insert(args_.source_fields.begin(), args_.source_fields.end());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const Spec* made = resolved_options(i).find("as");
      if (made != nullptr && made->is_scalar()) names.insert(made->as_string());
      if (!decodes(i)) continue;
      for (const auto& [name, field] : std::as_const(options_[i]).find("fields")->entries()) names.insert(name);
    }
    return names;
  }

  // Fields hang together where a transform names them. What hangs together with a wanted field stays; of the rest,
  // what hangs together with an unwanted one goes.
  void choose_fields() {
    const Names known = field_names();
    std::vector<Names> named(nodes_.size());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].transform == nullptr || decodes(i) || changes_apart(i)) continue;
      Spec options = resolved_options(i);
      options.erase("name");
      options.erase("from");
      if (const auto fields = nodes_[i].transform->concerned_fields()) {
        named[i].insert(fields->begin(), fields->end());
      } else {
        collect_names(options, known, named[i]);
      }
    }
    Names stays(args_.wanted->begin(), args_.wanted->end());
    spread(named, stays);
    Names goes;
    for (const std::string& field : args_.unwanted) {
      if (!stays.contains(field)) goes.insert(field);
    }
    spread(named, goes);
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
      if (decodes(i)) {
        decode_only(i, stays);
      } else if (changes_apart(i)) {
        change_only(i, stays);
      }
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

  void decode_only(size_t index, const Names& stays) {
    Spec& fields = *options_[index].find("fields");
    Names left_out;
    for (const auto& [name, field] : fields.entries()) {
      if (!stays.contains(name)) left_out.insert(name);
    }
    if (left_out.size() == fields.size()) return;  // nothing would be left; the model says what it misses
    for (const std::string& name : left_out) fields.erase(name);
    out_.not_decoded.insert(out_.not_decoded.end(), left_out.begin(), left_out.end());
    out_.fields_path = cat(nodes_[index].spec.path(), '.', nodes_[index].kind, ".fields");
  }

  void change_only(size_t index, const Names& stays) {
    const Spec& fields = *options_[index].find("fields");
    const std::vector<Spec> named = fields.is_list() ? fields.items() : std::vector{fields};
    Spec left = Spec::list(fields.place());
    for (const Spec& name : named) {
      if (stays.contains(name.as_string())) left.append(name);
    }
    kept_[index] = left.size() > 0;
    if (!kept_[index]) out_.left_out.push_back(nodes_[index].name);
    if (left.size() < named.size()) options_[index].set("fields", std::move(left));
  }

  // The kept op that node `index` reads, or -1.
  int64_t input_of(size_t index) const {
    int64_t at = static_cast<int64_t>(index);
    do {
      const GraphNode& node = nodes_[static_cast<size_t>(at)];
      if (node.op->inputs().empty()) return -1;
      int64_t before = at - 1;
      if (!node.from.empty()) {
        const auto named = std::find_if(nodes_.begin(), nodes_.end(),
                                        [&](const GraphNode& other) { return other.name == node.from.front(); });
        before = named - nodes_.begin();
        if (before >= at) return -1;  // the graph says what is wrong with it
      }
      at = before;
    } while (at >= 0 && !kept_[static_cast<size_t>(at)]);
    return at;
  }

  void emit() {
    out_.side = args_.side;
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
  std::vector<Spec> options_;  // as written, then changed; without name and from
  std::vector<bool> kept_;
  bool has_files_ = false;
  size_t divider_ = SIZE_MAX;  // with Side::held_out: the op that holds rows out
  PassInput out_;
};

}  // namespace

std::function<void(const BadRow&)> PassInput::on_bad_row() const {
  if (side == Side::held_out) return {};
  return [](const BadRow& bad) { throw DataError(bad.reason, bad.place, "a pass needs every row: repair the data"); };
}

PassInput pass_input(const PassArgs& args) { return PassMaker(args).run(); }

InputGraph build_pass(const PassInput& pass, const InputListArgs& args) {
  try {
    InputListArgs with_side = args;
    with_side.side = pass.side;
    InputGraph graph = build_input(with_side);
    if (const std::string endless = graph.endless_source(); !endless.empty()) {
      throw args.list.error(cat("the data of ", endless, " never end, but they are to be read once"),
                            cat("say how many rows ", endless, " gives"));
    }
    if (const InputFiles files = graph.files(); !files.written.empty()) {
      throw args.list.error(cat("it would write ", quote(files.written.front(), 4096), ", but a pass writes no files"));
    }
    return graph;
  } catch (ConfigError& error) {
    const bool of_columns = !pass.not_decoded.empty() && error.message().starts_with(pass.fields_path);
    if (of_columns) {
      error.set_hint(cat("of what is not read (", join(pass.not_decoded),
                         ") only columns behind all others may be missing where files have no header: keep an empty "
                         "column, or set the columns anew"));
    }
    throw;
  }
}

}  // namespace millrace
