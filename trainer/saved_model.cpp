#include "millrace/trainer/saved_model.h"

#include <span>
#include <utility>
#include <vector>

#include "millrace/trainer/model_file.h"
#include "millrace/trainer/sha256.h"
#include "millrace/trainer/yaml_writer.h"

namespace millrace {

namespace {

// The values on the host, as contiguous float32.
std::vector<float> to_host(TensorView values, Context& context) {
  const auto count = static_cast<size_t>(values.elements());
  std::vector<float> out(count);
  if (values.dtype() == DType::f32) {
    context.copy(out.data(), values.data(), count * sizeof(float));
    context.synchronize();
    return out;
  }
  std::vector<double> wide(count);
  context.copy(wide.data(), values.data(), count * sizeof(double));
  context.synchronize();
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(wide[i]);
  return out;
}

}  // namespace

std::string weights_hash(Model& model, Context& context) {
  Sha256 hash;
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    const std::vector<float> values = to_host(model.parameter(i), context);
    hash.update(std::as_bytes(std::span(values)));
  }
  return hash.hex();
}

void save_model(const std::string& path, Model& model, Context& context, const Spec& config) {
  std::vector<std::vector<float>> values;
  std::vector<NamedTensor> tensors;
  const auto add = [&](const Parameter& parameter, TensorView view) {
    values.push_back(to_host(view, context));
    tensors.push_back({parameter.name, ConstTensorView(values.back().data(), DType::f32, parameter.shape)});
  };
  for (size_t i = 0; i < model.parameters().size(); ++i) add(model.parameters()[i], model.parameter(i));
  for (size_t i = 0; i < model.states().size(); ++i) add(model.states()[i], model.state(i));
  write_model_file(path, {{"config", to_yaml(config)}, {"format", "millrace"}, {"version", "0.1.0"}}, tensors);
}

}  // namespace millrace
