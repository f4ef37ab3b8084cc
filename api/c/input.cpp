// Inputs and batches of the C interface. A batch owns a RowBlock; a batch that is freed gives it back to its input, for
// a later batch.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/api/c/errors.h"
#include "millrace/api/c/handles.h"
#include "millrace/api/c/rows.h"
#include "millrace/api/c/spare_blocks.h"
#include "millrace/c.h"
#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/state.h"
#include "millrace/core/text.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/input/build_input.h"
#include "millrace/trainer/input/pass_input.h"

using namespace millrace;
using namespace millrace::c;

struct millrace_batch {
  ~millrace_batch() { spare->give_back(std::move(block)); }

  std::shared_ptr<SpareBlocks> spare;
  RowBlock block;
  std::vector<std::optional<JoinedValues>> joined = {};  // by field, once asked for
  std::string place = {};
};

struct millrace_input {
  millrace_input(int threads, InputGraph graph) : executor(threads), pipeline(std::move(graph), options()) {}

  PipelineOptions options() {
    return {.executor = &executor,
            .on_bad_row = [this](const BadRow& bad) { tell(cat("left out ", bad.place.text(), ": ", bad.reason)); },
            .on_print = [this](std::string_view text) { tell(text); }};
  }
  void tell(std::string_view text) const {
    if (log != nullptr) log(user, std::string(text).c_str());
  }
  const std::vector<FieldSpec>& fields() const { return pipeline.rows().fields; }

  void (*log)(void* user, const char* text) = nullptr;
  void* user = nullptr;
  Executor executor;
  Pipeline pipeline;
  std::shared_ptr<SpareBlocks> spare = std::make_shared<SpareBlocks>();
  State state = {};
  std::string saved = {};
  std::atomic<bool> in_use = false;
};

namespace {

// Refuses a second call for an input while one goes on.
class InputUse {
 public:
  explicit InputUse(millrace_input& input) : in_use_(input.in_use) {
    if (!in_use_.exchange(true)) return;
    throw CallError("the input is in use, by another thread or by the function that this one calls");
  }
  ~InputUse() { in_use_.store(false); }
  InputUse(const InputUse&) = delete;
  InputUse& operator=(const InputUse&) = delete;

 private:
  std::atomic<bool>& in_use_;
};

// As `trainer input` reads a configuration.
millrace_input* open_input(Spec spec, const std::vector<std::string>& settings, bool held_out, const Catalog& catalog) {
  apply_overrides(spec, settings, catalog);
  const Config config = read_config(spec, catalog, ConfigUse::input);
  InputGraph graph = build_input(config, catalog);
  if (held_out) {
    const PassInput pass =
        pass_input({.input = config.input, .registry = catalog.ops, .found = &graph.found(), .held_out = true});
    graph = pass.build(catalog.ops, config.seed, config.written.place().file);
  }
  return new millrace_input(config.threads, std::move(graph));
}

}  // namespace

extern "C" {

millrace_status millrace_input_from_file(const char* path, const char* const* settings, size_t count, int held_out,
                                         const millrace_catalog* catalog, millrace_input** input,
                                         millrace_error** error) {
  return guarded(error, [&] {
    require(input, "input");
    *input = nullptr;
    require(path, "path");
    *input = open_input(read_yaml_file(path), texts_of(settings, count), held_out != 0, catalog_of(catalog));
  });
}

millrace_status millrace_input_from_string(const char* text, const char* name, const char* const* settings,
                                           size_t count, int held_out, const millrace_catalog* catalog,
                                           millrace_input** input, millrace_error** error) {
  return guarded(error, [&] {
    require(input, "input");
    *input = nullptr;
    *input = open_input(config_of(text, name), texts_of(settings, count), held_out != 0, catalog_of(catalog));
  });
}

void millrace_input_free(millrace_input* input) { delete input; }

millrace_status millrace_input_on_log(millrace_input* input, void (*log)(void* user, const char* text), void* user,
                                      millrace_error** error) {
  return guarded(error, [&] {
    require(input, "input");
    input->log = log;
    input->user = user;
    for (const std::string& warning : input->pipeline.graph().warnings()) input->tell("warning: " + warning);
  });
}

size_t millrace_input_field_count(const millrace_input* input) { return input != nullptr ? input->fields().size() : 0; }

millrace_field millrace_input_field(const millrace_input* input, size_t index) {
  if (index >= millrace_input_field_count(input)) return {"", MILLRACE_FLOAT32, 0};
  return field_to_c(input->fields()[index]);
}

size_t millrace_input_shape(const millrace_input* input, size_t index, int64_t* dimensions, size_t room) {
  if (index >= millrace_input_field_count(input)) return 0;
  const Shape& shape = input->fields()[index].shape;
  const auto rank = static_cast<size_t>(shape.rank());
  for (size_t i = 0; i < std::min(rank, room); ++i) dimensions[i] = shape[static_cast<int>(i)];
  return rank;
}

int64_t millrace_input_batch_size(const millrace_input* input) {
  return input != nullptr ? input->pipeline.batch_size() : 0;
}

millrace_status millrace_input_next(millrace_input* input, millrace_batch** batch, millrace_error** error) {
  return guarded(error, [&] {
    require(batch, "batch");
    *batch = nullptr;
    require(input, "input");
    const InputUse use(*input);
    std::optional<RowBlock> spare = input->spare->take();
    std::unique_ptr<millrace_batch> made(
        new millrace_batch{input->spare, spare ? std::move(*spare) : input->pipeline.make_slot()});
    if (input->pipeline.next(made->block) > 0) *batch = made.release();
  });
}

void millrace_input_stop(millrace_input* input) {
  if (input != nullptr) input->pipeline.cancel();
}

millrace_status millrace_input_save(millrace_input* input, const void** bytes, size_t* size, millrace_error** error) {
  return guarded(error, [&] {
    require(input, "input");
    require(bytes, "bytes");
    require(size, "size");
    const InputUse use(*input);
    input->pipeline.save(input->state);
    input->saved = input->state.encode();
    *bytes = input->saved.data();
    *size = input->saved.size();
  });
}

millrace_status millrace_input_restore(millrace_input* input, const void* bytes, size_t size, millrace_error** error) {
  return guarded(error, [&] {
    require(input, "input");
    require(bytes, "bytes");
    const InputUse use(*input);
    input->pipeline.restore(State::decode({static_cast<const char*>(bytes), size}));
  });
}

void millrace_batch_free(millrace_batch* batch) { delete batch; }

int64_t millrace_batch_rows(const millrace_batch* batch) { return batch != nullptr ? batch->block.size() : 0; }

uint64_t millrace_batch_epoch(const millrace_batch* batch) {
  uint64_t epoch = 0;
  if (batch == nullptr) return epoch;
  for (const RowId& id : batch->block.ids()) epoch = std::max(epoch, id.pass + uint64_t{1});
  return epoch;
}

millrace_status millrace_batch_values(millrace_batch* batch, size_t index, millrace_values* values,
                                      millrace_error** error) {
  return guarded(error, [&] {
    require(batch, "batch");
    require(values, "values");
    require_size(values->size, "values->size");
    RowBlock& block = batch->block;
    if (index >= block.spec().fields.size()) throw ArgumentError(cat("there is no field ", index));
    millrace_values whole = {};
    whole.size = values->size;
    const FieldSpec& field = block.spec().fields[index];
    if (field.varies()) {
      batch->joined.resize(block.spec().fields.size());
      std::optional<JoinedValues>& joined = batch->joined[index];
      if (!joined) joined = join_values(block, index);
      whole.values = joined->bytes.data();
      whole.row_ends = field.ragged() ? joined->row_ends.data() : nullptr;
      whole.text_ends = field.text ? joined->text_ends.data() : nullptr;
    } else {
      whole.values = block.at(index, 0);
      whole.row_bytes = static_cast<int64_t>(field.row_bytes());
    }
    std::memcpy(values, &whole, std::min(values->size, sizeof whole));
  });
}

millrace_status millrace_batch_place(millrace_batch* batch, const millrace_input* input, int64_t row,
                                     const char** place, millrace_error** error) {
  return guarded(error, [&] {
    require(batch, "batch");
    require(input, "input");
    require(place, "place");
    if (row < 0 || row >= batch->block.size()) throw ArgumentError(cat("the batch has no row ", row));
    if (batch->spare != input->spare) throw ArgumentError("another input made the batch");
    batch->place = input->pipeline.place(batch->block.id(row)).text();
    *place = batch->place.c_str();
  });
}

}  // extern "C"
