#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/c.h"
#include "millrace/core/errors.h"
#include "millrace/core/function_ref.h"
#include "millrace/core/text.h"
#include "millrace/input/graph/callback_rows.h"
#include "millrace/input/graph/memory_rows.h"
#include "millrace/trainer/network.h"
#include "millrace/trainer/plugin.h"
#include "millrace/trainer/trainer.h"
#include "millrace/version.h"

using namespace millrace;

struct millrace_error {
  millrace_status status = MILLRACE_ERROR_INTERNAL;
  std::string text, message, hint, file;
  int64_t line = 0, column = 0;
};

struct millrace_catalog {
  Catalog catalog = Catalog::builtin();
};

struct millrace_trainer {
  Trainer trainer;
  MetricValues metrics = {};  // of the run
};

struct millrace_network {
  Network network;
};

namespace {

// A call whose arguments make no sense; the library's own errors are of configuration and data.
class ArgumentError final : public Error {
 public:
  explicit ArgumentError(std::string_view message) : Error(ErrorKind::internal, message) {}
};

millrace_status status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::config: return MILLRACE_ERROR_CONFIG;
    case ErrorKind::data: return MILLRACE_ERROR_DATA;
    case ErrorKind::missing: return MILLRACE_ERROR_MISSING;
    case ErrorKind::io: return MILLRACE_ERROR_IO;
    case ErrorKind::device: return MILLRACE_ERROR_DEVICE;
    case ErrorKind::internal: return MILLRACE_ERROR_INTERNAL;
  }
  return MILLRACE_ERROR_INTERNAL;
}

// Where there is no memory even for an error.
millrace_error& out_of_memory() {
  static millrace_error error{MILLRACE_ERROR_INTERNAL, "out of memory", "out of memory", "", ""};
  return error;
}

millrace_status give(millrace_error** out, millrace_status status, const Error& error) noexcept {
  if (out == nullptr) return status;
  try {
    *out = new millrace_error{status,
                              error.what(),
                              error.message(),
                              error.hint(),
                              error.place().file,
                              error.place().line,
                              error.place().column};
  } catch (const std::bad_alloc&) {
    *out = &out_of_memory();
  }
  return status;
}

// Runs `body` and makes a status of what it throws.
millrace_status guarded(millrace_error** out, FunctionRef<void()> body) noexcept {
  if (out != nullptr) *out = nullptr;
  try {
    try {
      body();
      return MILLRACE_OK;
    } catch (const ArgumentError& error) {
      return give(out, MILLRACE_ERROR_ARGUMENT, error);
    } catch (const Error& error) {
      return give(out, status_of(error.kind()), error);
    } catch (const std::bad_alloc&) {
      return give(out, MILLRACE_ERROR_INTERNAL, InternalError("out of memory"));
    } catch (const std::exception& error) {
      return give(out, MILLRACE_ERROR_INTERNAL, InternalError(error.what()));
    } catch (...) {
      return give(out, MILLRACE_ERROR_INTERNAL, InternalError("an exception of unknown type"));
    }
  } catch (...) {
    if (out != nullptr) *out = &out_of_memory();
    return MILLRACE_ERROR_INTERNAL;
  }
}

void require(const void* argument, std::string_view name) {
  if (argument == nullptr) throw ArgumentError(cat(name, " is NULL"));
}

// Of a structure whose first member says how large the caller's is.
void require_size(size_t size, std::string_view name) {
  if (size <= sizeof size) throw ArgumentError(cat(name, " is ", size, ", expected the size of the structure"));
}

const Catalog& catalog_of(const millrace_catalog* catalog, std::optional<Catalog>& builtin) {
  return catalog != nullptr ? catalog->catalog : builtin.emplace(Catalog::builtin());
}

std::vector<std::string> texts(const char* const* settings, size_t count) {
  if (count > 0) require(settings, "settings");
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) {
    require(settings[i], cat("settings[", i, "]"));
    out.emplace_back(settings[i]);
  }
  return out;
}

DType dtype_of(int32_t type) {
  switch (type) {
    case MILLRACE_FLOAT32: return DType::f32;
    case MILLRACE_FLOAT64: return DType::f64;
    case MILLRACE_INT32: return DType::i32;
    case MILLRACE_INT64: return DType::i64;
    case MILLRACE_UINT8: return DType::u8;
  }
  throw ArgumentError(cat("there is no type ", type));
}

millrace_type type_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return MILLRACE_FLOAT32;
    case DType::f64: return MILLRACE_FLOAT64;
    case DType::i32: return MILLRACE_INT32;
    case DType::i64: return MILLRACE_INT64;
    case DType::u8: return MILLRACE_UINT8;
  }
  return MILLRACE_FLOAT32;
}

RowSpec rows_of(const millrace_field* fields, size_t count) {
  require(fields, "fields");
  RowSpec rows;
  for (size_t i = 0; i < count; ++i) {
    require(fields[i].name, cat("fields[", i, "].name"));
    if (fields[i].width < 1) throw ArgumentError(cat("fields[", i, "].width is ", fields[i].width));
    if (rows.find(fields[i].name) >= 0) throw ArgumentError(cat("two fields are called ", quote(fields[i].name)));
    rows.fields.push_back({fields[i].name, dtype_of(fields[i].type), Shape{fields[i].width}});
  }
  return rows;
}

// Rows of the caller's arrays, one row after another, to those of a block.
void copy_in(const void* const* values, int64_t begin, int64_t count, RowBlock& block) {
  for (size_t field = 0; field < block.spec().fields.size(); ++field) {
    const size_t bytes = block.spec().fields[field].tensor().bytes();
    const auto* from = static_cast<const std::byte*>(values[field]) + static_cast<size_t>(begin) * bytes;
    for (int64_t row = 0; row < count; ++row) {
      std::memcpy(block.at(field, row), from + static_cast<size_t>(row) * bytes, bytes);
    }
  }
}

void require_each(const void* const* values, size_t count) {
  if (count > 0) require(values, "values");
  for (size_t i = 0; i < count; ++i) require(values[i], cat("values[", i, "]"));
}

// Asks the program's function for rows, by way of arrays without gaps between rows.
class Filler {
 public:
  Filler(RowSpec rows, std::string kind, millrace_fill fill, void* user)
      : rows_(std::move(rows)), kind_(std::move(kind)), fill_(fill), user_(user) {}

  void operator()(RowBlock& block, uint32_t pass) {
    const int64_t room = block.capacity();
    values_.clear();
    memory_.resize(rows_.fields.size());
    for (size_t i = 0; i < memory_.size(); ++i) {
      memory_[i].resize(rows_.fields[i].tensor().bytes() * static_cast<size_t>(room));
      values_.push_back(memory_[i].data());
    }
    const int64_t count = fill_(user_, pass, room, values_.data());
    if (count < 0) throw DataError(cat("the callback of ", kind_, " failed: it returned ", count));
    if (count > room)
      throw ConfigError(cat("the callback of ", kind_, " made ", count, " rows, there was room for ", room));
    block.resize(count);
    copy_in(values_.data(), 0, count, block);
  }

 private:
  RowSpec rows_;
  std::string kind_;
  millrace_fill fill_;
  void* user_;
  std::vector<std::vector<std::byte>> memory_;
  std::vector<void*> values_;
};

TrainCallbacks callbacks_of(const millrace_callbacks* given) {
  TrainCallbacks out;
  if (given == nullptr) return out;
  millrace_callbacks callbacks = {};
  std::memcpy(&callbacks, given, std::min(given->size, sizeof callbacks));
  void* const user = callbacks.user;
  if (const auto on_step = callbacks.on_step) {
    out.on_step = [on_step, user](const StepReport& report) {
      const millrace_step step = {report.step,       report.epoch,      report.batch_size, report.loss,
                                  report.rows_per_s, report.input_wait, report.seconds};
      on_step(user, &step);
    };
  }
  if (const auto on_log = callbacks.on_log) {
    out.on_log = [on_log, user](std::string_view text) { on_log(user, std::string(text).c_str()); };
  }
  return out;
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
  std::memcpy(&out, &whole, std::min(out.size, sizeof whole));
}

}  // namespace

extern "C" {

const char* millrace_version(void) { return MILLRACE_VERSION; }

millrace_status millrace_error_status(const millrace_error* error) {
  return error != nullptr ? error->status : MILLRACE_OK;
}
const char* millrace_error_text(const millrace_error* error) { return error != nullptr ? error->text.c_str() : ""; }
const char* millrace_error_message(const millrace_error* error) {
  return error != nullptr ? error->message.c_str() : "";
}
const char* millrace_error_hint(const millrace_error* error) { return error != nullptr ? error->hint.c_str() : ""; }
const char* millrace_error_file(const millrace_error* error) { return error != nullptr ? error->file.c_str() : ""; }
int64_t millrace_error_line(const millrace_error* error) { return error != nullptr ? error->line : 0; }
int64_t millrace_error_column(const millrace_error* error) { return error != nullptr ? error->column : 0; }
void millrace_error_free(millrace_error* error) {
  if (error != &out_of_memory()) delete error;
}

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
    catalog->catalog.ops.add(kind, memory_op(std::make_shared<const RowBlock>(std::move(block))));
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
    RowSpec rows = rows_of(fields, field_count);
    Filler filler(rows, kind, fill, user);
    catalog->catalog.ops.add(kind, callback_op({.rows = std::move(rows),
                                                .fill = [filler = std::make_shared<Filler>(std::move(filler))](
                                                            RowBlock& block, uint32_t pass) { (*filler)(block, pass); },
                                                .rows_at_once = room}));
  });
}

millrace_status millrace_trainer_from_file(const char* path, const char* const* settings, size_t count,
                                           const millrace_catalog* catalog, millrace_trainer** trainer,
                                           millrace_error** error) {
  return guarded(error, [&] {
    require(trainer, "trainer");
    *trainer = nullptr;
    require(path, "path");
    std::optional<Catalog> builtin;
    *trainer = new millrace_trainer{Trainer::from_file(path, texts(settings, count), catalog_of(catalog, builtin))};
  });
}

millrace_status millrace_trainer_from_string(const char* text, const char* name, const char* const* settings,
                                             size_t count, const millrace_catalog* catalog, millrace_trainer** trainer,
                                             millrace_error** error) {
  return guarded(error, [&] {
    require(trainer, "trainer");
    *trainer = nullptr;
    require(text, "text");
    require(name, "name");
    std::optional<Catalog> builtin;
    *trainer =
        new millrace_trainer{Trainer::from_string(text, name, texts(settings, count), catalog_of(catalog, builtin))};
  });
}

void millrace_trainer_free(millrace_trainer* trainer) { delete trainer; }

millrace_status millrace_trainer_run(millrace_trainer* trainer, const millrace_callbacks* callbacks,
                                     millrace_result* result, millrace_error** error) {
  return guarded(error, [&] {
    require(trainer, "trainer");
    require_size(callbacks != nullptr ? callbacks->size : sizeof(millrace_callbacks), "callbacks->size");
    require_size(result != nullptr ? result->size : sizeof(millrace_result), "result->size");
    const TrainResult found = trainer->trainer.run(callbacks_of(callbacks));
    trainer->metrics = found.metrics;
    if (result != nullptr) write_result(found, *result);
  });
}

void millrace_trainer_stop(millrace_trainer* trainer) {
  if (trainer != nullptr) trainer->trainer.stop();
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
    throw ArgumentError(
        cat("the run told no metric ", quote(name), known.empty() ? std::string() : cat("; it told ", join(known))));
  });
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
  return guarded(error, [&] {
    require(network, "network");
    *network = nullptr;
    require(path, "path");
    if (threads < 0) throw ArgumentError(cat("threads is ", threads));
    std::optional<Catalog> builtin;
    *network = new millrace_network{Network::load(path, {.threads = threads}, catalog_of(catalog, builtin))};
  });
}

void millrace_network_free(millrace_network* network) { delete network; }

size_t millrace_network_field_count(const millrace_network* network) {
  return network != nullptr ? network->network.fields().fields.size() : 0;
}

millrace_field millrace_network_field(const millrace_network* network, size_t index) {
  if (index >= millrace_network_field_count(network)) return {"", MILLRACE_FLOAT32, 0};
  const FieldSpec& field = network->network.fields().fields[index];
  return {field.name.c_str(), type_of(field.dtype), field.varies() ? 0 : field.shape.elements()};
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
    if (fields.varies()) throw ArgumentError(cat("a row is (", fields.text(), "), which has more than numbers"));
    if (rows == 0) return;
    require_each(values, fields.fields.size());
    require(outputs, "outputs");
    network->network.predict(
        rows, [&](RowBlock& block, int64_t begin, int64_t count) { copy_in(values, begin, count, block); },
        {outputs, static_cast<size_t>(rows * millrace_network_outputs(network))});
  });
}

}  // extern "C"
