#include "millrace/layers/model/connect.h"

#include <algorithm>
#include <set>
#include <utility>

#include "millrace/core/free_names.h"
#include "millrace/core/text.h"
#include "millrace/layers/model/in_layer.h"

namespace millrace {

namespace {

ConfigError layer_error(const LayerNode& layer, std::string_view message, std::string_view hint) {
  return layer.spec.error(cat("layer ", layer.name, ": ", message), hint);
}

bool valid_name(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

void name_layers(std::vector<LayerNode>& layers, const std::vector<NamedSpec>& batch) {
  std::set<std::string> fields;
  FreeNames names;
  for (const NamedSpec& field : batch) {
    fields.insert(field.name);
    names.take(field.name);
  }
  for (const LayerNode& layer : layers) {
    if (layer.name.empty()) continue;
    if (const std::string wrong = name_too_long(layer.name); !wrong.empty()) throw layer.spec.error(wrong);
    if (!valid_name(layer.name)) {
      throw layer.spec.error(
          cat("the layer's name ", quote(layer.name), " holds other characters than letters, digits, _ and -"));
    }
    if (names.take(layer.name)) continue;
    throw layer.spec.error(cat("the name ", quote(layer.name),
                               fields.contains(layer.name) ? " is a field of the batch" : " is used twice"),
                           "each layer needs a name of its own");
  }
  for (LayerNode& layer : layers) {
    if (layer.name.empty()) layer.name = names.give(layer.kind);
  }
}

ValueRange common(const ValueRange& a, const ValueRange& b) {
  return {std::max(a.min, b.min), std::min(a.max, b.max), b.max < a.max ? b.hint : a.hint};
}

class Connector {
 public:
  Connector(const std::vector<LayerNode>& layers, const std::vector<NamedSpec>& batch, DType dtype)
      : layers_(layers), batch_(batch), dtype_(dtype) {}

  Connections run() {
    std::vector<bool> read(layers_.size());
    for (size_t i = 0; i < layers_.size(); ++i) {
      out_.inputs.push_back(inputs_of(i));
      for (const int source : out_.inputs.back()) {
        if (source >= 0) read[static_cast<size_t>(source)] = true;
      }
    }
    for (size_t i = 0; i + 1 < layers_.size(); ++i) {
      if (!read[i]) {
        throw layer_error(layers_[i], "nothing reads its output",
                          "name it in the `from` of a later layer, or remove it");
      }
    }
    for (size_t field = 0; field < out_.fields.size(); ++field) settle(field);
    return std::move(out_);
  }

 private:
  std::vector<int> inputs_of(size_t index) {
    const LayerNode& layer = layers_[index];
    std::vector<int> inputs;
    for (const std::string& name : layer.from) inputs.push_back(find(index, name));
    if (layer.from.empty()) inputs.push_back(index > 0 ? static_cast<int>(index) - 1 : features());
    check_count(layer, static_cast<int>(inputs.size()));
    return inputs;
  }

  int features() {
    for (const NamedSpec& field : batch_) {
      if (field.name == "features") return use(0, field);
    }
    throw layer_error(layers_[0], "the batch has no field \"features\"",
                      cat("the first layer may read `from` ", join(known(0), " or ")));
  }

  int find(size_t index, const std::string& name) {
    for (size_t i = 0; i < layers_.size(); ++i) {
      if (layers_[i].name != name) continue;
      if (i < index) return static_cast<int>(i);
      throw layer_error(layers_[index], i == index ? "it reads itself" : cat("it reads ", name, ", which comes later"),
                        "a layer reads fields of the batch and layers before it");
    }
    for (const NamedSpec& field : batch_) {
      if (field.name == name) return use(index, field);
    }
    const std::vector<std::string> names = known(index);
    const std::string near = nearest(name, names);
    throw layer_error(layers_[index], cat("there is no layer or field ", quote(name)),
                      near.empty() ? cat("it may read ", join(names, " or ")) : cat("did you mean ", near, "?"));
  }

  int use(size_t index, const NamedSpec& field) {
    if (!field.unfit.empty()) {
      throw layer_error(layers_[index], cat("it reads the field ", field.name, ", ", field.unfit), field.hint);
    }
    size_t i = 0;
    while (i < out_.fields.size() && out_.fields[i].name != field.name) ++i;
    if (i == out_.fields.size()) out_.fields.push_back(field);
    return -1 - static_cast<int>(i);
  }

  // Gives a field the dtype that its readers want, and the range that all of them want.
  void settle(size_t index) {
    NamedSpec& field = out_.fields[index];
    const LayerNode* first = nullptr;
    for (size_t i = 0; i < layers_.size(); ++i) {
      for (size_t k = 0; k < out_.inputs[i].size(); ++k) {
        if (out_.inputs[i][k] != -1 - static_cast<int>(index)) continue;
        const Wanted wanted = in_layer(layers_[i], [&] {
          const Wanted answer = layers_[i].layer->wants(static_cast<int>(k), dtype_);
          (void)size_of(answer.dtype);  // throws if there is no such type
          return answer;
        });
        if (first != nullptr && wanted.dtype != field.spec.dtype) {
          throw layer_error(layers_[i],
                            cat("it wants the field ", field.name, " as ", to_string(wanted.dtype), ", layer ",
                                first->name, " wants it as ", to_string(field.spec.dtype)),
                            "decode its columns into a second field for one of them");
        }
        field.spec.dtype = wanted.dtype;
        if (wanted.range) field.range = field.range ? common(*field.range, *wanted.range) : *wanted.range;
        first = &layers_[i];
      }
    }
  }

  static void check_count(const LayerNode& layer, int count) {
    const std::string wrong = in_layer(layer, [&] { return wrong_input_count(*layer.layer, count); });
    if (wrong.empty()) return;
    const bool fewer = in_layer(layer, [&] { return count < layer.layer->min_inputs(); });
    throw layer_error(layer, wrong, fewer ? "name them: `from: [a, b]`" : "name fewer in `from`");
  }

  // The names that layer `index` may read.
  std::vector<std::string> known(size_t index) const {
    std::vector<std::string> names;
    for (const NamedSpec& field : batch_) names.push_back(field.name);
    for (size_t i = 0; i < index; ++i) names.push_back(layers_[i].name);
    return names;
  }

  const std::vector<LayerNode>& layers_;
  const std::vector<NamedSpec>& batch_;
  const DType dtype_;
  Connections out_;
};

}  // namespace

std::string wrong_input_count(const Layer& layer, int count) {
  const int least = layer.min_inputs(), most = layer.max_inputs();
  if (count >= least && (most < 0 || count <= most)) return {};
  const std::string expected = most == least ? count_of(least, "input")
                               : most < 0    ? cat("at least ", count_of(least, "input"))
                                             : cat(least, " to ", count_of(most, "input"));
  return cat("expected ", expected, ", got ", count);
}

Connections connect(std::vector<LayerNode>& layers, const std::vector<NamedSpec>& batch, DType dtype) {
  if (layers.empty()) throw ConfigError("the model has no layers", {}, "list at least one under model");
  name_layers(layers, batch);
  return Connector(layers, batch, dtype).run();
}

}  // namespace millrace
