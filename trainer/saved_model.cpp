#include "millrace/trainer/saved_model.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/version.h"
#include "millrace/trainer/sha256.h"
#include "millrace/trainer/yaml.h"
#include "millrace/trainer/yaml_writer.h"

namespace millrace {

namespace {

constexpr const char* kConfigKey = "config";

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

DataError load_error(const ModelFile& file, std::string_view message, std::string hint = {}) {
  return DataError(cat("the saved model does not fit: ", message), {file.path(), 0, 0}, std::move(hint));
}

const ModelFile::Entry& find_entry(const ModelFile& file, const std::string& name, const TensorSpec& wanted) {
  std::vector<std::string> names;
  for (const ModelFile::Entry& entry : file.entries()) {
    names.push_back(entry.name);
    if (entry.name != name) continue;
    if (entry.spec == wanted) return entry;
    throw load_error(file, cat(name, " is ", entry.spec.text(), ", the model has ", wanted.text()));
  }
  const std::string near = nearest(name, names);
  throw load_error(file, cat("it has no ", name), near.empty() ? std::string() : cat("it has ", near));
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
  write_model_file(path, {{kConfigKey, to_yaml(config)}, {"format", "millrace"}, {"version", std::string(version())}},
                   tensors);
}

void load_model(const ModelFile& file, Model& model, Context& context) {
  std::vector<std::pair<TensorView, const ModelFile::Entry*>> found;
  const auto find = [&](const Parameter& parameter, TensorView view) {
    found.emplace_back(view, &find_entry(file, parameter.name, view.spec()));
  };
  for (size_t i = 0; i < model.parameters().size(); ++i) find(model.parameters()[i], model.parameter(i));
  for (size_t i = 0; i < model.states().size(); ++i) find(model.states()[i], model.state(i));
  for (const ModelFile::Entry& entry : file.entries()) {
    const auto used = [&](const auto& one) { return one.second == &entry; };
    if (std::none_of(found.begin(), found.end(), used)) throw load_error(file, cat("it also has ", quote(entry.name)));
  }
  for (const auto& [view, entry] : found) context.copy(view.data(), file.values(*entry).data(), entry->spec.bytes());
  context.synchronize();
}

Spec saved_config(const ModelFile& file) {
  const auto found = file.metadata().find(kConfigKey);
  if (found == file.metadata().end()) {
    throw DataError("the model file holds no configuration", {file.path(), 0, 0}, "it was not written by `save`");
  }
  return parse_yaml(found->second, cat(file.path(), ":config"));
}

}  // namespace millrace
