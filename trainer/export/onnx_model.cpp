#include "millrace/trainer/export/onnx_model.h"

#include <memory>
#include <span>
#include <utility>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/float_mode.h"
#include "millrace/input/graph/row_transforms.h"
#include "millrace/layers/model/model.h"
#include "millrace/layers/onnx_layer.h"
#include "millrace/trainer/export/onnx_answers.h"
#include "millrace/trainer/files/saved_model.h"
#include "millrace/trainer/files/sha256.h"
#include "millrace/trainer/predict/given_rows.h"
#include "millrace/trainer/predict/model_reader.h"

namespace millrace {

namespace {

constexpr uint64_t kMostRowBytes = uint64_t{1} << 30;

// What `body`, which calls a kind, returns. A configuration error names the kind.
template <class Kind, class Body>
auto named(const Kind& kind, const Body& body) {
  try {
    return attributed(kind, body);
  } catch (ConfigError& error) {
    error.add_context(kind.origin().who);
    throw;
  }
}

void add_transforms(const GivenRows& given, const RowTransforms& transforms, OnnxRows& rows) {
  const auto add = [&](const Transform& op, std::string_view name) {
    rows.graph().set_scope(name);
    named(op, [&] { op.to_onnx(rows); });
  };
  const std::unique_ptr<Op> maker = given.maker_op();
  if (const auto* transform = dynamic_cast<const Transform*>(maker.get())) add(*transform, "input");
  for (const ChainLink& link : transforms.links()) add(*link.transform, link.name);
}

// The model's outputs.
OnnxValue add_layers(const Model& model, OnnxRows& rows) {
  OnnxGraph& graph = rows.graph();
  graph.set_scope("fields");
  std::vector<OnnxValue> fields, outputs;
  for (const NamedSpec& field : model.fields()) {
    const OnnxType wanted = onnx_type(field.spec.dtype);
    const OnnxValue values = rows.tensor(field.name);
    const bool fits = onnx_type(rows.find(field.name)->dtype) == wanted;
    fields.push_back(fits ? values : graph.cast(values, wanted));
  }
  for (const Model::Node& node : model.nodes()) {
    graph.set_scope(node.name);
    std::vector<OnnxValue> inputs, params, state;
    for (const int input : node.inputs) {
      inputs.push_back(input < 0 ? fields[static_cast<size_t>(-1 - input)] : outputs[static_cast<size_t>(input)]);
    }
    const auto name_of = [&](const Parameter& one) { return std::string_view(one.name).substr(node.name.size() + 1); };
    for (size_t i = node.first_parameter; i < node.first_parameter + node.parameter_count; ++i) {
      params.push_back(graph.constant(model.parameter(i), name_of(model.parameters()[i])));
    }
    for (size_t i = node.first_state; i < node.first_state + node.state_count; ++i) {
      state.push_back(graph.constant(model.state(i), name_of(model.states()[i])));
    }
    const OnnxLayer layer{graph, inputs, node.input_specs, node.output, params, state};
    outputs.push_back(named(*node.layer, [&] { return node.layer->to_onnx(layer); }));
  }
  return outputs.back();
}

std::string hash_of(const ModelFile& file) {
  Sha256 hash;
  if (const auto config = file.metadata().find("config"); config != file.metadata().end()) {
    hash.update(std::as_bytes(std::span(config->second)));
  }
  return hash.hex();
}

}  // namespace

OnnxModel onnx_model(const OnnxModelArgs& args, const Catalog& catalog) {
  const FloatMode mode;
  ModelFile file = ModelFile::read(args.model);
  if (args.best) file = best_model(std::move(file));
  Config config = read_saved_config(file, {}, catalog);
  const GivenRows given = given_rows(file, config, catalog, kMostRowBytes);
  const RowTransforms transforms(InputGraph::build(given.list, given.registry, {.seed = config.seed}));
  FieldHistory label = label_of_given_rows(config, catalog);
  Executor executor(1);
  Context context(Device::cpu(), executor);
  const Model model = read_saved_model(file, config, transforms.output(), context);
  Answers answers({.predictions = attributed(*config.loss.loss, &Loss::predictions),
                   .outputs = model.output().shape.elements(),
                   .label = std::move(label)});
  OnnxModel out{{}, {}, std::move(answers), hash_of(file)};
  OnnxRows rows(out.graph, transforms.input());
  add_transforms(given, transforms, rows);
  const OnnxValue outputs = add_layers(model, rows);
  out.graph.set_scope("refused");
  add_answers(out.graph, out.answers, outputs, rows.refused());
  out.text_inputs = rows.text_inputs();
  return out;
}

}  // namespace millrace
