#include "millrace/trainer/weights.h"

#include <algorithm>
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
constexpr const char* kVersionKey = "millrace";

// Every parameter, then every state, with its name.
std::vector<std::pair<std::string, TensorView>> tensors_of(Model& model) {
  std::vector<std::pair<std::string, TensorView>> out;
  for (size_t i = 0; i < model.parameters().size(); ++i)
    out.emplace_back(model.parameters()[i].name, model.parameter(i));
  for (size_t i = 0; i < model.states().size(); ++i) out.emplace_back(model.states()[i].name, model.state(i));
  return out;
}

// Host copies of device memory, kept while views refer to them.
class HostCopies {
 public:
  explicit HostCopies(Context& context) : context_(context) {}

  ConstTensorView of(const TensorView& view) {
    if (context_.device().is_cpu()) return view;
    Memory& memory = memories_.emplace_back(Device::cpu(), view.spec().bytes());
    context_.copy(memory.data(), view.data(), memory.bytes());
    context_.synchronize();
    return ConstTensorView(memory.data(), view.dtype(), view.shape());
  }

 private:
  Context& context_;
  std::vector<Memory> memories_;
};

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

std::string hash_weights(Model& model, Context& context) {
  Sha256 hash;
  std::vector<float> converted;
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    HostCopies copies(context);
    const ConstTensorView values = copies.of(model.parameter(i));
    if (values.dtype() == DType::f64) {
      const auto* from = values.as<double>();
      converted.assign(from, from + values.elements());
      hash.update(std::as_bytes(std::span(converted)));
    } else {
      hash.update({static_cast<const std::byte*>(values.data()), values.spec().bytes()});
    }
  }
  return hash.hex();
}

void save_weights(const std::string& path, Model& model, Context& context, const Spec& config) {
  HostCopies copies(context);
  std::vector<NamedTensor> tensors;
  for (const auto& [name, view] : tensors_of(model)) tensors.push_back({name, copies.of(view)});
  write_model_file(path, {{kConfigKey, to_yaml(config)}, {kVersionKey, std::string(version())}}, tensors);
}

void load_weights(const ModelFile& file, Model& model, Context& context) {
  const auto tensors = tensors_of(model);
  std::vector<const ModelFile::Entry*> found;
  for (const auto& [name, view] : tensors) found.push_back(&find_entry(file, name, view.spec()));
  if (file.entries().size() > tensors.size()) {
    for (const ModelFile::Entry& entry : file.entries()) {
      if (std::find(found.begin(), found.end(), &entry) == found.end()) {
        throw load_error(file, cat("it also has ", quote(entry.name)));
      }
    }
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    context.copy(tensors[i].second.data(), file.values(*found[i]).data(), found[i]->spec.bytes());
  }
  context.synchronize();
}

Spec saved_config(const ModelFile& file) {
  const auto found = file.metadata().find(kConfigKey);
  if (found == file.metadata().end()) {
    throw DataError("the model file holds no configuration", {file.path(), 0, 0}, "it was not written by `save`");
  }
  return parse_yaml(found->second, file.path() + ":config");
}

}  // namespace millrace
