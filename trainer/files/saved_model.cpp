#include "millrace/trainer/files/saved_model.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/options.h"
#include "millrace/core/sizes.h"
#include "millrace/core/text.h"
#include "millrace/trainer/files/seal.h"
#include "millrace/trainer/files/sha256.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "millrace/version.h"

namespace millrace {

namespace {

constexpr const char* kConfigKey = "config";
constexpr const char* kVersionKey = "version";
constexpr const char* kFieldsKey = "fields";
constexpr const char* kRowsKey = "rows";
constexpr const char* kColumnsKey = "columns";
constexpr const char* kOptimizerKey = "optimizer";
constexpr const char* kStepsKey = "steps";
constexpr const char* kUpdatesKey = "updates";
// Names of the tensors that a training keeps besides the model. No parameter has such a name: layers' names hold no
// slash, and parameters' names hold a point.
constexpr std::string_view kSlotPrefix = "optimizer/", kBestPrefix = "best/";
constexpr std::string_view kPrefixes[] = {kSlotPrefix, kBestPrefix, "gradients/", "before/"};
constexpr std::string_view kStateName = "state";

std::string slot_name(size_t slot, const Parameter& parameter) { return cat(kSlotPrefix, slot, '/', parameter.name); }

// The part of an optimizer's block that belongs to the parameter.
TensorView part_of(const TensorView& block, const Parameter& parameter) {
  return TensorView(static_cast<std::byte*>(block.data()) + parameter.offset, block.dtype(), parameter.shape);
}

// Copies the values to the host, as contiguous float32.
void to_host(const ConstTensorView& values, Context& context, float* out) {
  const auto count = static_cast<size_t>(values.elements());
  if (values.dtype() == DType::f32) {
    context.copy(out, values.data(), count * sizeof(float));
    context.synchronize();
    return;
  }
  std::vector<double> wide(count);
  context.copy(wide.data(), values.data(), count * sizeof(double));
  context.synchronize();
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(wide[i]);
}

DataError load_error(const ModelFile& file, std::string_view message, std::string_view hint = {}) {
  return DataError(cat("the saved model does not fit: ", message), {file.path(), 0, 0}, hint);
}

const ModelFile::Entry& find_entry(const ModelFile& file, const ModelFile::Index& entries, const std::string& name,
                                   const TensorSpec& wanted) {
  if (const auto found = entries.find(name); found != entries.end()) {
    if (found->second->spec == wanted) return *found->second;
    throw load_error(file, cat(name, " is ", found->second->spec.text(), ", the model has ", wanted.text()));
  }
  std::vector<std::string> names;
  for (const ModelFile::Entry& entry : file.entries()) names.push_back(entry.name);
  const std::string near = nearest(name, names);
  constexpr size_t kShown = 8;
  if (names.size() > kShown) {
    names.resize(kShown);
    names.push_back("others");
  }
  throw load_error(file, cat("it has no ", name), cat("it has ", near.empty() ? join(names) : near));
}

uint64_t number_in(const ModelFile& file, const char* key) {
  const auto found = file.metadata().find(key);
  const std::string text = found != file.metadata().end() ? found->second : std::string();
  uint64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || fault != std::errc() || end != text.data() + text.size()) {
    throw load_error(file, cat("its metadata's ", key, " is ", quote(text), ", expected a number"));
  }
  return number;
}

// The entries of the model's parameters, then of its states.
std::vector<const ModelFile::Entry*> find_entries(const ModelFile& file, const Model& model) {
  check_format(file);
  ModelFile::Index entries = file.by_name();
  std::vector<const ModelFile::Entry*> found;
  for (const std::vector<Parameter>* list : {&model.parameters(), &model.states()}) {
    for (const Parameter& one : *list) {
      found.push_back(&find_entry(file, entries, one.name, {one.shape, model.dtype()}));
    }
  }
  for (const ModelFile::Entry* used : found) entries.erase(used->name);
  for (const ModelFile::Entry& entry : file.entries()) {
    const bool unused = entries.contains(entry.name) && !is_of_training(entry.name);
    if (unused) throw load_error(file, cat("it also has ", quote(entry.name)));
  }
  return found;
}

constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8};
constexpr std::string_view kText = "string";
constexpr size_t kMaxFields = 4096;

struct FieldText {
  std::string name, type;
  std::vector<int64_t> shape;
  std::optional<std::string> split;

  void declare(OptionReader& o) {
    o.required("name", name, "the field's name");
    o.required("type", type, "of its values");
    o.required("shape", shape, "of one row");
    o.optional("split", split, "what stands between its values, which are as many as a row has");
  }
};

FieldSpec field_of(const FieldText& text, const Spec& place) {
  FieldSpec field;
  field.name = text.name;
  field.text = text.type == kText;
  bool known = field.text;
  for (const DType dtype : kDTypes) {
    if (text.type != to_string(dtype)) continue;
    field.dtype = dtype;
    known = true;
  }
  if (!known) throw place.error(cat("unknown type ", quote(text.type)));
  field.shape = Shape(std::span<const int64_t>(text.shape));
  if (text.split) {
    if (text.split->size() != 1) throw place.error("split is one byte");
    field.split = text.split->front();
  }
  return field;
}

}  // namespace

std::string weights_hash(const Model& model, Context& context) {
  Sha256 hash;
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    std::vector<float> values(static_cast<size_t>(model.parameter(i).elements()));
    to_host(model.parameter(i), context, values.data());
    hash.update(std::as_bytes(std::span(values)));
  }
  return hash.hex();
}

std::string row_spec_text(const RowSpec& rows) {
  Spec list = Spec::list(Place{});
  for (const FieldSpec& field : rows.fields) {
    FieldText text{.name = field.name, .type = std::string(field.type_name()), .shape = {}, .split = {}};
    for (int axis = 0; axis < field.shape.rank(); ++axis) text.shape.push_back(field.shape[axis]);
    if (field.split) text.split = std::string(1, *field.split);
    list.append(write_options(text));
  }
  return to_yaml(list);
}

RowSpec read_row_spec(std::string_view text, const std::string& name) {
  const Spec list = parse_yaml(text, name);
  if (list.items().size() > kMaxFields) throw list.error(cat("a row may have ", kMaxFields, " fields here"));
  RowSpec rows;
  size_t bytes = 0;
  for (const Spec& item : list.items()) {
    FieldSpec field = field_of(read_options<FieldText>(item), item);
    if (rows.find(field.name) >= 0) throw item.error(cat("the field ", quote(field.name), " is listed twice"));
    bytes = add_bytes(bytes, field.row_bytes());  // throws if the bytes cannot be counted
    rows.fields.push_back(std::move(field));
  }
  return rows;
}

ModelMetadata saved_metadata(const SavedFacts& facts) {
  ModelMetadata metadata = {
      {kConfigKey, to_yaml(facts.config)}, {"format", "millrace"}, {kVersionKey, std::string(version())}};
  if (facts.nameless_fields > 0) metadata[kFieldsKey] = cat(facts.nameless_fields);
  if (!facts.column_names.is_null()) metadata[kColumnsKey] = to_yaml(facts.column_names);
  if (facts.rows != nullptr) metadata[kRowsKey] = row_spec_text(*facts.rows);
  const OptimizerState* const optimizer = facts.optimizer;
  if (optimizer != nullptr) {
    metadata[kOptimizerKey] = optimizer->kind;
    set_optimizer_counts(metadata, *optimizer);
  }
  return metadata;
}

void set_optimizer_counts(ModelMetadata& metadata, const OptimizerState& optimizer) {
  metadata[kStepsKey] = cat(optimizer.steps);
  metadata[kUpdatesKey] = cat(optimizer.updates);
}

namespace {

// Calls body(name, values) for each tensor of a model file, in order.
template <class Body>
void for_each_tensor(const Model& model, const OptimizerState* optimizer, const Body& body) {
  for (size_t i = 0; i < model.parameters().size(); ++i) body(model.parameters()[i].name, model.parameter(i));
  for (size_t i = 0; i < model.states().size(); ++i) body(model.states()[i].name, model.state(i));
  for (size_t slot = 0; optimizer != nullptr && slot < optimizer->slots.size(); ++slot) {
    for (const Parameter& one : model.parameters()) body(slot_name(slot, one), part_of(optimizer->slots[slot], one));
  }
}

}  // namespace

ModelFile pack_model(const std::string& path, const Model& model, Context& context, const SavedFacts& facts) {
  ModelFile file(path, saved_metadata(facts));
  for_each_tensor(model, facts.optimizer, [&](const std::string& name, const ConstTensorView& view) {
    to_host(view, context, file.add(name, {view.shape(), DType::f32}).as<float>());
  });
  return file;
}

void check_model_file(const Model& model, const SavedFacts& facts) {
  ModelFile file({}, saved_metadata(facts));
  for_each_tensor(model, facts.optimizer, [&](const std::string& name, const ConstTensorView& view) {
    file.declare(name, {view.shape(), DType::f32});
  });
  file.check();
}

bool is_of_training(std::string_view tensor) {
  const auto begins = [&](std::string_view prefix) { return tensor.starts_with(prefix); };
  return tensor == kStateName || std::ranges::any_of(kPrefixes, begins);
}

void check_format(const ModelFile& file) {
  const auto found = file.metadata().find(std::string(kSealFormatKey)), format = file.metadata().find("format");
  if (format == file.metadata().end() || format->second != "millrace") return;  // another program made it
  if (found == file.metadata().end() || found->second == kCheckpointFormat) return;
  const auto writer = file.metadata().find(kVersionKey);
  throw ConfigError(cat("a checkpoint of format ", quote(found->second), ", and version ", version(), " reads format ",
                        kCheckpointFormat),
                    {file.path(), 0, 0},
                    writer == file.metadata().end() ? "" : cat("version ", shortened(writer->second), " wrote it"));
}

ModelFile best_model(ModelFile file) {
  std::vector<ModelFile::Entry>& entries = file.entries();
  const ModelFile::Index known = file.by_name();
  for (const ModelFile::Entry& entry : entries) {
    if (is_of_training(entry.name)) continue;
    const auto best = known.find(cat(kBestPrefix, entry.name));
    if (best == known.end() || best->second->spec != entry.spec) {
      throw DataError(cat("it has no best ", entry.name), {file.path(), 0, 0}, "a validation with keep_best makes one");
    }
  }
  std::erase_if(entries, [](const ModelFile::Entry& entry) { return !is_of_training(entry.name); });
  for (ModelFile::Entry& entry : entries) {
    if (entry.name.starts_with(kBestPrefix)) entry.name.erase(0, kBestPrefix.size());
  }
  return file;
}

void check_saved_model(const ModelFile& file, const Model& model) { find_entries(file, model); }

void load_model(const ModelFile& file, Model& model, Context& context) {
  const std::vector<const ModelFile::Entry*> found = find_entries(file, model);
  const size_t parameters = model.parameters().size();
  for (size_t i = 0; i < found.size(); ++i) {
    const TensorView view = i < parameters ? model.parameter(i) : model.state(i - parameters);
    context.copy(view.data(), file.values(*found[i]).data(), found[i]->spec.bytes());
  }
  context.synchronize();
}

void load_optimizer(const ModelFile& file, const Model& model, Context& context, OptimizerState& state) {
  const ModelMetadata& metadata = file.metadata();
  const auto kind = metadata.find(kOptimizerKey);
  if (kind == metadata.end()) {
    throw load_error(file, "it holds no state of an optimizer", "save it with save: {file: .., optimizer: true}");
  }
  if (kind->second != state.kind) {
    throw load_error(file, cat("it holds the state of ", quote(kind->second), ", the optimizer is ", state.kind));
  }
  const uint64_t steps = number_in(file, kStepsKey), updates = number_in(file, kUpdatesKey);
  const ModelFile::Index entries = file.by_name();
  std::vector<std::pair<TensorView, const ModelFile::Entry*>> found;
  for (size_t slot = 0; slot < state.slots.size(); ++slot) {
    for (const Parameter& parameter : model.parameters()) {
      const TensorView view = part_of(state.slots[slot], parameter);
      found.emplace_back(view, &find_entry(file, entries, slot_name(slot, parameter), view.spec()));
    }
  }
  const std::string more = cat(kSlotPrefix, state.slots.size(), '/');
  for (const ModelFile::Entry& entry : file.entries()) {
    if (!entry.name.starts_with(more)) continue;
    throw load_error(file, cat("it holds more state of ", state.kind, " than its options keep: ", quote(entry.name)),
                     "give it the options that it was saved with");
  }
  for (const auto& [view, entry] : found) context.copy(view.data(), file.values(*entry).data(), entry->spec.bytes());
  context.synchronize();
  state.steps = steps;
  state.updates = updates;
}

int64_t saved_nameless_fields(const ModelFile& file) {
  const auto found = file.metadata().find(kFieldsKey);
  return found == file.metadata().end() ? 0 : static_cast<int64_t>(number_in(file, kFieldsKey));
}

Spec saved_column_names(const ModelFile& file) {
  const auto found = file.metadata().find(kColumnsKey);
  return found == file.metadata().end() ? Spec() : parse_yaml(found->second, cat(file.path(), ":", kColumnsKey));
}

RowSpec saved_rows(const ModelFile& file) {
  const auto found = file.metadata().find(kRowsKey);
  return found == file.metadata().end() ? RowSpec() : read_row_spec(found->second, cat(file.path(), ":", kRowsKey));
}

Spec saved_config(const ModelFile& file) {
  check_format(file);
  const auto found = file.metadata().find(kConfigKey);
  if (found == file.metadata().end()) {
    throw DataError("the model file holds no configuration", {file.path(), 0, 0}, "it was not written by `save`");
  }
  return parse_yaml(found->second, saved_config_name(file.path()));
}

std::string saved_config_name(const std::string& path) { return cat(path, ":config"); }

}  // namespace millrace
