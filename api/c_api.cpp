#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/api/c/errors.h"
#include "millrace/api/c/handles.h"
#include "millrace/api/c/metric.h"
#include "millrace/api/c/reports.h"
#include "millrace/api/c/rows.h"
#include "millrace/c.h"
#include "millrace/core/text.h"
#include "millrace/input/files/atomic_file.h"
#include "millrace/input/source.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/predict/answers.h"
#include "millrace/trainer/predict/network.h"
#include "millrace/trainer/trainer.h"
#include "millrace/version.h"

using namespace millrace;
using namespace millrace::c;

struct millrace_trainer {
  Trainer trainer;
  MetricValues metrics = {};  // the metrics of the run
  std::string checkpoint_failure = {};
};

struct millrace_network {
  const Network network;
};

namespace {

void load_network(const char* path, const NetworkOptions& options, const millrace_catalog* catalog,
                  millrace_network** network) {
  require(network, "network");
  *network = nullptr;
  require(path, "path");
  if (options.threads < 0 || options.threads > Executor::kMostThreads) {
    throw ArgumentError(cat("threads is ", options.threads));
  }
  *network = new millrace_network{Network::load(path, options, catalog_of(catalog))};
}

void write_result(const TrainResult& result, millrace_result& out) {
  millrace_result whole = {};
  whole.size = out.size;
  whole.steps = result.steps;
  whole.rows = result.rows;
  whole.epochs = result.epochs;
  whole.seconds = result.seconds;
  whole.loss = result.loss;
  whole.input_wait = result.input_wait;
  result.weights.copy(whole.weights, sizeof whole.weights - 1);
  result.reason.copy(whole.reason, sizeof whole.reason - 1);
  whole.resumed = result.resumed.value_or(-1);
  whole.checkpoints = result.checkpoints.written;
  whole.late_checkpoints = result.checkpoints.late;
  whole.failed_checkpoints = result.checkpoints.failed;
  std::memcpy(&out, &whole, std::min(out.size, sizeof whole));
}

}  // namespace

extern "C" {

const char* millrace_version(void) { return MILLRACE_VERSION; }

millrace_status millrace_catalog_new(millrace_catalog** catalog, millrace_error** error) {
  return guarded(error, [&] {
    require(catalog, "catalog");
    *catalog = nullptr;
    *catalog = new millrace_catalog();
  });
}

void millrace_catalog_free(millrace_catalog* catalog) { delete catalog; }

millrace_status millrace_catalog_load_plugin(millrace_catalog* catalog, const char* path, millrace_error** error) {
  return guarded(error, [&] {
    require(catalog, "catalog");
    require(path, "path");
    load_plugin(path, catalog->catalog);
  });
}

millrace_status millrace_catalog_add_rows(millrace_catalog* catalog, const char* kind, const millrace_field* fields,
                                          size_t field_count, int64_t rows, const void* const* values,
                                          millrace_error** error) {
  return guarded(error, [&] {
    require(catalog, "catalog");
    require(kind, "kind");
    if (rows < 0) throw ArgumentError(cat("there are ", rows, " rows"));
    RowBlock block;
    block.configure(rows_of(fields, field_count), std::max<int64_t>(rows, 1));
    block.resize(rows);
    if (rows > 0) {
      require_each(values, field_count);
      copy_in(values, 0, rows, block);
    }
    catalog->catalog.add_op(kind, memory_op(std::make_shared<const RowBlock>(std::move(block))));
  });
}

millrace_status millrace_catalog_add_callback(millrace_catalog* catalog, const char* kind, const millrace_field* fields,
                                              size_t field_count, int64_t room, millrace_fill fill, void* user,
                                              millrace_error** error) {
  return guarded(error, [&] {
    require(catalog, "catalog");
    require(kind, "kind");
    if (fill == nullptr) throw ArgumentError("fill is NULL");
    if (room < 1) throw ArgumentError(cat("room is ", room));
    const RowSpec rows = rows_of(fields, field_count);
    catalog->catalog.add_op(kind,
                            callback_op({.rows = rows, .fill = Filler(rows, kind, fill, user), .rows_at_once = room}));
  });
}

millrace_status millrace_catalog_add_metric(millrace_catalog* catalog, const char* kind, int less_is_better,
                                            millrace_metric metric, void* user, millrace_error** error) {
  return guarded(error, [&] {
    require(catalog, "catalog");
    require(kind, "kind");
    if (metric == nullptr) throw ArgumentError("metric is NULL");
    if (!is_name(kind)) throw ArgumentError(cat("a configuration could not name the metric ", quote(kind)));
    catalog->catalog.layers.metrics.add(kind, metric_entry({kind, less_is_better != 0, metric, user}));
  });
}

millrace_status millrace_trainer_from_file(const char* path, const char* const* settings, size_t count,
                                           const millrace_catalog* catalog, millrace_trainer** trainer,
                                           millrace_error** error) {
  return guarded(error, [&] {
    require(trainer, "trainer");
    *trainer = nullptr;
    require(path, "path");
    *trainer = new millrace_trainer{Trainer::from_file(path, texts_of(settings, count), catalog_of(catalog))};
  });
}

millrace_status millrace_trainer_from_string(const char* text, const char* name, const char* const* settings,
                                             size_t count, const millrace_catalog* catalog, millrace_trainer** trainer,
                                             millrace_error** error) {
  return guarded(error, [&] {
    require(trainer, "trainer");
    *trainer = nullptr;
    Spec config = config_of(text, name);
    const Catalog kinds = catalog_of(catalog);
    apply_overrides(config, texts_of(settings, count), kinds);
    *trainer = new millrace_trainer{Trainer::from_spec(std::move(config), kinds)};
  });
}

void millrace_trainer_free(millrace_trainer* trainer) { delete trainer; }

millrace_status millrace_trainer_resume(millrace_trainer* trainer, const char* file, int64_t* step,
                                        millrace_error** error) {
  return guarded(error, [&] {
    require(trainer, "trainer");
    if (file != nullptr && *file == 0) throw ArgumentError("file is empty; NULL stands for the newest checkpoint");
    const std::optional<ResumeReport> report = trainer->trainer.resume(file != nullptr ? file : "");
    if (step != nullptr) *step = report ? report->step : -1;
  });
}

millrace_status millrace_trainer_appends_to(millrace_trainer* trainer, const char* path, millrace_error** error) {
  return guarded(error, [&] {
    require(trainer, "trainer");
    require(path, "path");
    trainer->trainer.appends_to(path);
  });
}

millrace_status millrace_trainer_run(millrace_trainer* trainer, const millrace_callbacks* callbacks,
                                     millrace_result* result, millrace_error** error) {
  return guarded(error, [&] {
    require(trainer, "trainer");
    require_size(callbacks != nullptr ? callbacks->size : sizeof(millrace_callbacks), "callbacks->size");
    require_size(result != nullptr ? result->size : sizeof(millrace_result), "result->size");
    const TrainResult found = trainer->trainer.run(callbacks_of(callbacks));
    trainer->metrics = found.metrics;
    trainer->checkpoint_failure = found.checkpoints.failure;
    if (result != nullptr) write_result(found, *result);
  });
}

void millrace_trainer_stop(millrace_trainer* trainer) {
  if (trainer != nullptr) trainer->trainer.stop();
}

void millrace_trainer_checkpoint(millrace_trainer* trainer) {
  if (trainer != nullptr) trainer->trainer.checkpoint();
}

const char* millrace_trainer_checkpoint_failure(const millrace_trainer* trainer) {
  return trainer != nullptr ? trainer->checkpoint_failure.c_str() : "";
}

int64_t millrace_trainer_steps(const millrace_trainer* trainer) {
  return trainer != nullptr ? trainer->trainer.steps() : 0;
}

millrace_status millrace_trainer_metric(const millrace_trainer* trainer, const char* name, double* value,
                                        millrace_error** error) {
  return guarded(error, [&] {
    require(trainer, "trainer");
    require(name, "name");
    require(value, "value");
    std::vector<std::string> known;
    for (const auto& [metric, number] : trainer->metrics) {
      known.push_back(metric);
      if (metric != name) continue;
      *value = number;
      return;
    }
    throw ArgumentError(cat("the run reported no metric ", quote(name),
                            known.empty() ? std::string() : cat("; it reported ", join(known))));
  });
}

int millrace_trainer_score(const millrace_trainer* trainer, size_t index, millrace_score* score) {
  if (trainer == nullptr || score == nullptr || index >= trainer->metrics.size()) return 0;
  const auto& [name, value] = trainer->metrics[index];
  *score = {name.c_str(), value};
  return 1;
}

millrace_status millrace_trainer_save(millrace_trainer* trainer, const char* path, millrace_error** error) {
  return guarded(error, [&] {
    require(trainer, "trainer");
    require(path, "path");
    trainer->trainer.save(path);
  });
}

millrace_status millrace_trainer_network(millrace_trainer* trainer, millrace_network** network,
                                         millrace_error** error) {
  return guarded(error, [&] {
    require(network, "network");
    *network = nullptr;
    require(trainer, "trainer");
    *network = new millrace_network{trainer->trainer.network()};
  });
}

millrace_status millrace_network_load(const char* path, int threads, const millrace_catalog* catalog,
                                      millrace_network** network, millrace_error** error) {
  return guarded(error, [&] { load_network(path, {.threads = threads}, catalog, network); });
}

millrace_status millrace_network_load_best(const char* path, int threads, const millrace_catalog* catalog,
                                           millrace_network** network, millrace_error** error) {
  return guarded(error, [&] { load_network(path, {.threads = threads, .best = true}, catalog, network); });
}

void millrace_network_free(millrace_network* network) { delete network; }

size_t millrace_network_field_count(const millrace_network* network) {
  return network != nullptr ? network->network.fields().fields.size() : 0;
}

millrace_field millrace_network_field(const millrace_network* network, size_t index) {
  if (index >= millrace_network_field_count(network)) return {"", MILLRACE_FLOAT32, 0};
  return field_to_c(network->network.fields().fields[index]);
}

const char* millrace_network_column(const millrace_network* network, size_t index, int64_t value) {
  if (index >= millrace_network_field_count(network)) return "";
  const std::vector<std::string>& columns = network->network.columns()[index];
  return value >= 0 && value < std::ssize(columns) ? columns[static_cast<size_t>(value)].c_str() : "";
}

int64_t millrace_network_outputs(const millrace_network* network) {
  return network != nullptr ? network->network.output().shape.elements() : 0;
}

millrace_status millrace_network_predict(const millrace_network* network, const void* const* values, int64_t rows,
                                         float* outputs, millrace_error** error) {
  return guarded(error, [&] {
    require(network, "network");
    if (rows < 0) throw ArgumentError(cat("there are ", rows, " rows"));
    const RowSpec& fields = network->network.fields();
    for (const FieldSpec& field : fields.fields) {
      if (field.ragged())
        throw ArgumentError(cat("the field ", field.name, " is ", field.type_text(), ", which C cannot give"));
    }
    if (rows == 0) return;
    require_each(values, fields.fields.size());
    require(outputs, "outputs");
    network->network.predict(
        rows, [&](RowBlock& block, int64_t begin, int64_t count) { copy_in(values, begin, count, block); },
        {outputs, static_cast<size_t>(rows * millrace_network_outputs(network))});
  });
}

size_t millrace_network_class_count(const millrace_network* network) {
  return network != nullptr ? network->network.classes().size() : 0;
}

const char* millrace_network_class(const millrace_network* network, int64_t number) {
  const std::string* const text = network != nullptr ? network->network.answers().class_text(number) : nullptr;
  return text != nullptr ? text->c_str() : "";
}

int64_t millrace_network_choices(const millrace_network* network) {
  return network != nullptr ? network->network.answers().choices() : 0;
}

millrace_status millrace_network_answer(const millrace_network* network, const float* outputs, int64_t rows,
                                        int64_t* classes, double* values, millrace_error** error) {
  return guarded(error, [&] {
    require(network, "network");
    if (rows < 0) throw ArgumentError(cat("there are ", rows, " rows"));
    if (rows > 0) require(outputs, "outputs");
    const Answers& answers = network->network.answers();
    const auto width = static_cast<size_t>(answers.outputs());
    std::vector<int64_t> classes_of_row(static_cast<size_t>(answers.choices()));
    std::vector<double> values_of_row(width);
    for (int64_t row = 0; row < rows; ++row) {
      answers.answer({outputs + static_cast<size_t>(row) * width, width}, classes_of_row, values_of_row);
      if (classes != nullptr) classes = std::copy(classes_of_row.begin(), classes_of_row.end(), classes);
      if (values != nullptr) values = std::copy(values_of_row.begin(), values_of_row.end(), values);
    }
  });
}

millrace_status millrace_write_file(const char* path, const void* bytes, size_t size, millrace_error** error) {
  return guarded(error, [&] {
    require(path, "path");
    if (size > 0) require(bytes, "bytes");
    AtomicFile file(path);
    file.write({static_cast<const char*>(bytes), size});
    file.commit();
  });
}

}  // extern "C"
