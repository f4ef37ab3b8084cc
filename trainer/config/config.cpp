#include "millrace/trainer/config/config.h"

#include <utility>

#include "millrace/core/text.h"
#include "millrace/trainer/config/config_nodes.h"

namespace millrace {

namespace {

// A key whose value config_nodes.h reads; `kType` names its type.
template <const char* kType, bool kHasItems = false>
struct Node {
  Spec spec;
};
constexpr char kList[] = "list", kKind[] = "name or name with options";

struct DeviceName {
  std::string text = "auto";
};
struct ThreadCount {
  int count = 0;  // 0: auto
};

}  // namespace

template <const char* kType, bool kHasItems>
struct OptionType<Node<kType, kHasItems>> {
  static Node<kType, kHasItems> read(const Spec& spec) {
    if (kHasItems && spec.items().empty()) throw spec.error("expected at least one item, got an empty list");
    return {spec};
  }
  static Spec write(const Node<kType, kHasItems>& value) { return value.spec; }
  static std::string type() { return kType; }
};

template <>
struct OptionType<DeviceName> {
  static DeviceName read(const Spec& spec) {
    const std::string& text = spec.as_string();
    const std::string index = text.starts_with("cuda:") ? text.substr(5) : "";
    const bool numbered = !index.empty() && index.size() <= 4 && index.find_first_not_of("0123456789") == index.npos;
    const bool known = text == "auto" || text == "cpu" || text == "cuda" || numbered;
    if (!known) throw spec.error(cat("expected auto, cpu or cuda:0, got ", spec.describe()));
    return {text};
  }
  static Spec write(const DeviceName& value) { return Spec::scalar(value.text, false, {}); }
  static std::string type() { return "auto|cpu|cuda:0"; }
  static std::vector<OptionForm> forms() {
    return {{.is = OptionForm::Is::name, .names = {"auto", "cpu", "cuda"}},
            {.is = OptionForm::Is::text, .pattern = "^cuda:[0-9]{1,4}$"}};
  }
};

template <>
struct OptionType<ThreadCount> {
  static constexpr int64_t kMost = Executor::kMostThreads;
  static ThreadCount read(const Spec& spec) {
    if (spec.is_scalar() && spec.as_string() == "auto") return {};
    int64_t count = 0;
    try {
      count = spec.as_int();
    } catch (const ConfigError&) {
    }
    if (count < 1 || count > kMost) {
      throw spec.error(cat("expected auto or a number from 1 to ", kMost, ", got ", spec.describe()));
    }
    return {static_cast<int>(count)};
  }
  static Spec write(const ThreadCount& value) {
    return Spec::scalar(value.count == 0 ? std::string("auto") : cat(value.count), false, {});
  }
  static std::string type() { return "auto|integer"; }
  static std::vector<OptionForm> forms() {
    return {{.is = OptionForm::Is::name, .names = {"auto"}},
            {.is = OptionForm::Is::integer, .range = {.min = 1, .max = kMost}}};
  }
};

namespace {

// The top-level keys.
struct ConfigOptions {
  int64_t seed = 0;
  DeviceName device;
  Precision precision = Precision::float32;
  ThreadCount threads;
  Node<kList, true> input;
  DeliveryOptions delivery;
  Node<kList, true> model;
  Node<kKind> loss;
  Node<kList> metrics;
  Node<kKind> optimizer;
  TrainOptions train;
  Spec validation;
  std::optional<CompareOptions> compare;
  std::optional<ModelFileOptions> save, load;
  std::optional<CheckpointOptions> checkpoint;
  std::optional<LogOptions> log;
  std::optional<WorkerOptions> workers;

  void declare(OptionReader& o) {
    o.optional("seed", seed, {.min = 0}, "the key of every random number");
    o.optional("device", device, "where the model is trained; auto takes a CUDA device if there is one");
    o.decides("device", Decides::last_bits);
    o.optional(
        "precision", precision,
        "the precision of products on a GPU: float32, or tf32, which rounds their factors to 11 bits and is faster");
    o.optional("threads", threads, "threads for input and model together; auto takes what the process may use");
    o.optional("input", input, "the ops of the input graph; the last one gives the batches");
    o.optional("delivery", delivery, "how a batch reaches the step");
    o.optional("model", model, "the layers, first to last");
    o.optional("loss", loss, "what training minimises");
    o.optional("metrics", metrics, "what is reported besides the loss");
    o.optional("optimizer", optimizer, "how gradients change the parameters");
    o.optional("train", train, "how long to train and what to report");
    o.optional("validation", validation, "rows that are not trained on, to judge the model by");
    o.optional("compare", compare, "which deliveries trainer compare compares, and how often");
    o.optional("load", load, "a model file whose values training begins with; absent: fresh ones, from the seed");
    o.optional("save", save, "the file that the trained model is written to; absent: it is not kept");
    o.optional("checkpoint", checkpoint,
               "where and how often the whole state of the training is written, so that --resume goes on from there; "
               "absent: never");
    o.optional("log", log, "files that say how the training goes");
    o.optional("workers", workers, "who decodes rows in place of this machine, which changes no batch");
    for (const char* key : {"threads", "delivery", "compare", "save", "checkpoint", "log", "workers"}) {
      o.decides(key, Decides::nothing);
    }

    const auto kind = [](const char* sort) { return OptionForm{.is = OptionForm::Is::kind, .sort = sort}; };
    o.may_be("input", {list_of_kinds("input op")});
    o.may_be("model", {list_of_kinds("layer")});
    o.may_be("loss", {kind("loss")});
    o.may_be("metrics", {kind("metric"), {.is = OptionForm::Is::list, .items = {kind("metric")}}});
    o.may_be("optimizer", {kind("optimizer")});
    o.may_be("validation", option_forms<ValidationOptions>());
  }
};

struct RequiredKey {
  std::string_view name, example;
  bool of_the_model;  // only a training needs it
};
constexpr RequiredKey kRequired[] = {
    {"input", "input: [{synthetic: {rows: 1000}}, {batch: {batch_size: 32}}]", false},
    {"model", "model: [{dense: {units: 1}}]", true},
    {"loss", "loss: sigmoid_cross_entropy", true},
    {"optimizer", "optimizer: {sgd: {learning_rate: 0.1}}", true},
};

bool is_required(const RequiredKey& key, ConfigUse use) { return use == ConfigUse::training || !key.of_the_model; }

void check_required(const Spec& spec, ConfigUse use) {
  for (const RequiredKey& key : kRequired) {
    if (!is_required(key, use) || spec.find(key.name) != nullptr) continue;
    throw spec.error(cat("the key ", key.name, " is required"), cat("for example ", key.example));
  }
}

// Reads the keys that name kinds, and `validation`, which names a metric.
void read_kinds(const ConfigOptions& options, const LayerCatalog& catalog, Config& config) {
  const auto read = [&](const char* key, const Spec& written, auto& out, const auto& known, const auto& reader) {
    if (written.is_null()) return;
    Spec resolved;
    out = reader(written, known, resolved);
    config.resolved.set(key, std::move(resolved));
  };
  read("model", options.model.spec, config.layers, catalog.layers, read_layers);
  read("loss", options.loss.spec, config.loss, catalog.losses, read_loss);
  read("metrics", options.metrics.spec, config.metrics, catalog.metrics, read_metrics);
  read("optimizer", options.optimizer.spec, config.optimizer, catalog.optimizers, read_optimizer);
  read("validation", options.validation, config.validation, config.metrics, read_validation);
}

}  // namespace

void TrainOptions::declare(OptionReader& o) {
  o.optional("steps", steps, {.min = 0}, "the most steps; 0: nothing is trained; absent: until the data ends");
  o.decides("steps", Decides::length);
  o.optional("log_every", log_every, {.min = 1}, "steps from one report to the next");
  o.decides("log_every", Decides::nothing);
  o.optional("report_over", report_over,
             "what a reported loss or metric covers: the last batch, or the window of all batches since the last "
             "report, without those skipped for their loss or a state");
  o.optional("accumulate", accumulate, {.min = 1},
             "batches that make one update, as if they were one batch; only batch_norm sees each by itself; batches "
             "left over at the end make one, too");
  const Range limit{.min = 1e-30};  // does not become 0 as a float
  o.optional("clip_norm", clip_norm, limit,
             "the largest norm of all gradients together; larger ones are scaled down to it, after clip_value");
  o.optional("clip_value", clip_value, limit, "the largest absolute value of a gradient");
  o.optional(
      "on_nonfinite", on_nonfinite,
      "when the loss, a gradient or a state (a running mean or variance, or what the optimizer keeps) is nan or "
      "infinite: warn once (does not look at gradients), fail, skip the update, off. What the optimizer keeps is "
      "looked at with reports and at the end, when skip only warns; if it keeps anything, fail and skip take a "
      "gradient that is longer than 1.8e+19 after clipping for infinite, as its square is");
}

void ModelFileOptions::declare(OptionReader& o) {
  o.required("file", file, "the path of the model file");
  o.stands_alone("file");
  o.used_as("file", OptionUse::files);
  o.optional("optimizer", optimizer, "whether to save the state of the optimizer, too");
}

std::string ModelFileOptions::last_file() const {
  constexpr std::string_view kEnding = ".safetensors";
  std::string_view name = file;
  if (name.ends_with(kEnding)) name.remove_suffix(kEnding.size());
  return cat(name, ".last", kEnding);
}

ModelFileOptions OptionType<ModelFileOptions>::read(const Spec& spec) {
  ModelFileOptions out;
  if (spec.is_map()) {
    out = read_options<ModelFileOptions>(spec);
  } else {
    out.file = spec.as_string();
  }
  if (out.file.empty()) throw spec.error("expected the path of a file, got an empty text");
  return out;
}

std::string OptionType<ModelFileOptions>::type() { return "path or {file, optimizer}"; }

std::vector<OptionForm> OptionType<ModelFileOptions>::forms() {
  return {{.is = OptionForm::Is::text},
          {.is = OptionForm::Is::options, .options = describe_options<ModelFileOptions>()}};
}

Spec OptionType<ModelFileOptions>::write(const ModelFileOptions& value) {
  return value.optimizer ? write_options(value) : OptionType<std::string>::write(value.file);
}

const Spec& Config::node(std::string_view key) const {
  const Spec* found = written.find(key);
  return found != nullptr ? *found : written;
}

std::vector<OptionInfo> describe_config(ConfigUse use) {
  std::vector<OptionInfo> out = describe_options<ConfigOptions>();
  for (const RequiredKey& key : kRequired) {
    for (OptionInfo& info : out) info.required = info.required || (info.name == key.name && is_required(key, use));
  }
  return out;
}

Config read_config(const Spec& spec, const Catalog& catalog, ConfigUse use) {
  if (spec.is_null()) throw spec.error("the configuration is empty", "it needs at least the key input");
  Config config;
  config.written = spec;
  const auto options = read_options<ConfigOptions>(spec, &config.resolved);
  check_required(spec, use);
  config.seed = static_cast<uint64_t>(options.seed);
  config.device = options.device.text;
  config.precision = options.precision;
  config.threads = options.threads.count;
  config.input = options.input.spec;
  config.delivery = options.delivery;
  config.train = options.train;
  config.compare = options.compare;
  config.save = options.save;
  config.load = options.load;
  config.checkpoint = options.checkpoint;
  config.log = options.log;
  config.workers = options.workers;
  read_kinds(options, catalog.layers, config);
  return config;
}

Device device_of(const Config& config, std::vector<std::string>& warnings) {
  CudaNeeds needs;
  for (const LayerNode& layer : config.layers) {
    const Layer& kind = *layer.layer;
    needs.convolutions = attributed(kind, &Layer::convolves) || needs.convolutions;
  }
  try {
    std::string warning;
    const Device device = parse_device(config.device, &warning, needs);
    if (!warning.empty()) warnings.push_back(std::move(warning));
    return device;
  } catch (Error& error) {
    error.set_place(config.node("device").place());
    throw;
  }
}

void complete_resolved(Config& config, const Spec& input, std::span<const std::string> layer_names) {
  config.resolved.set("input", input);
  Spec* model = config.resolved.find("model");
  if (model == nullptr) return;
  for (size_t i = 0; i < model->size() && i < layer_names.size(); ++i) {
    Spec& item = *model->item(i);
    KindAndOptions node = kind_and_options(item, "a layer");
    node.options.erase("name");
    node.options.set("name", layer_names[i]);
    Spec named = Spec::map(item.place()).set(node.kind, std::move(node.options));
    named.set_path(item.path());
    item = std::move(named);
  }
}

}  // namespace millrace
