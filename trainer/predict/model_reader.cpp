#include "millrace/trainer/predict/model_reader.h"

#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/sizes.h"
#include "millrace/core/text.h"
#include "millrace/input/graph/graph_list.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/files/saved_model.h"
#include "millrace/trainer/step/step_inputs.h"

namespace millrace {

namespace {

// The most ops, layers or metrics of a model file: some of the code that reads them looks at each pair.
constexpr size_t kMaxItems = 4096;

// Removes `threads` if this machine has fewer.
void fit_machine(Spec& config) {
  const Spec* threads = std::as_const(config).find("threads");
  if (threads == nullptr || !threads->is_scalar()) return;
  try {
    if (threads->as_int() > Executor::available_threads()) config.erase("threads");
  } catch (const ConfigError&) {
    // "auto", or an error that read_config() will report.
  }
}

void check_items(const Spec& config) {
  for (const char* key : {"input", "model", "metrics"}) {
    const Spec* list = config.find(key);
    if (list == nullptr || !list->is_list() || list->size() <= kMaxItems) continue;
    throw list->error(cat("a model file may list ", kMaxItems, " items here, got ", list->size()));
  }
}

}  // namespace

Config read_saved_config(const ModelFile& file, const SavedConfigArgs& args, const Catalog& catalog) {
  Spec spec = saved_config(file);
  if (!spec.is_map()) throw spec.error(cat("expected a map, got ", spec.describe()));
  fit_machine(spec);
  const auto read = [&catalog](const Spec& config) {
    check_items(config);
    return read_config(config, catalog);
  };
  const auto heeded = [&](Spec config) {
    config.erase("save");  // nothing is saved, so the key may lack its file
    return args.heeded(read(config));
  };
  apply_overrides(spec, args.overrides, catalog, {.of = heeded, .hint = args.hint});
  return read(spec);
}

Model read_saved_model(const ModelFile& file, Config& config, const RowSpec& rows, Context& context) {
  Model model = Model::build({.layers = std::move(config.layers),
                              .inputs = named_specs(rows),
                              .seed = config.seed,
                              .check = [&](const Model& declared) { check_saved_model(file, declared); }},
                             context);
  load_model(file, model, context);
  if (model.output().dtype != DType::f32) {
    throw ShapeError(cat("the model gives ", model.output().text(), ", expected float32"), {file.path()});
  }
  return model;
}

PassArgs pass_for(const Config& config, const Spec& input, const OpRegistry& registry, bool judge) {
  PassArgs pass{.input = input, .registry = registry};
  // Some of these are names of layers instead of fields, which does no harm.
  std::vector<std::string>& wanted = pass.wanted.emplace();
  if (config.layers.front().from.empty()) wanted.emplace_back("features");
  for (const LayerNode& layer : config.layers) wanted.insert(wanted.end(), layer.from.begin(), layer.from.end());
  std::vector<std::string>& of_the_loss = judge ? wanted : pass.unwanted;
  of_the_loss.push_back(config.loss.label);
  if (!config.loss.weight.empty()) of_the_loss.push_back(config.loss.weight);
  return pass;
}

Spec heeded_of(const Config& config, const FieldHistory& label, const std::vector<std::string_view>& keys) {
  Spec out = only_keys(config.written, keys);
  out.set("texts", OptionType<std::vector<std::string>>::write(label.texts));
  out.set("scale", OptionType<std::vector<double>>::write(label.scale));
  out.set("offset", OptionType<std::vector<double>>::write(label.offset));
  out.set("complete", OptionType<bool>::write(label.complete));
  return out;
}

FieldHistory label_history(const Config& config, const Spec& input, const OpRegistry& registry) {
  Spec resolved;
  const std::vector<GraphNode> nodes = read_graph_list(input, registry, resolved);
  FieldHistory history{.field = config.loss.label};
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    attributed(*node->op, [&] { node->op->undo(history); });
  }
  return history;
}

size_t batch_bytes(const Model& model, const RowSpec& rows, int64_t batch, size_t blocks) {
  size_t row = multiply_bytes(add_bytes(rows.row_bytes(), sizeof(RowId)), blocks);
  for (const NamedSpec& read : model.fields()) {
    const int field = rows.find(read.name);
    const bool converts = field >= 0 && rows.fields[static_cast<size_t>(field)].dtype != read.spec.dtype;
    if (converts) row = add_bytes(row, aligned_bytes(read.spec.bytes()));
  }
  for (const Model::Node& node : model.nodes()) row = add_bytes(row, aligned_bytes(node.output.bytes()));
  return multiply_bytes(row, static_cast<size_t>(batch));
}

}  // namespace millrace
