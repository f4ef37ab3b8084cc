#include "millrace/trainer/input/first_rows.h"

#include <algorithm>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/threads/float_mode.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/input/pass_input.h"
#include "millrace/trainer/step/step_inputs.h"

namespace millrace {

namespace {

bool leaves_out_bad_rows(const Spec& input, const OpRegistry& registry) {
  return std::any_of(input.items().begin(), input.items().end(), [&](const Spec& item) {
    const KindAndOptions op = registry.read(item, "an input op");
    const std::vector<OptionInfo> options = registry.options_of(op.kind, item);
    return std::any_of(options.begin(), options.end(), [&](const OptionInfo& info) {
      if (info.use != OptionUse::bad_rows || !info.in_pass || info.in_pass->is_null()) return false;
      const Spec* choice = std::as_const(op.options).find(info.name);
      return choice != nullptr && choice->is_scalar() && choice->as_string() != info.in_pass->as_string();
    });
  });
}

int64_t read_batch(InputGraph graph, const Config& config, const Model& model, Executor& executor) {
  Pipeline pipeline(std::move(graph), {.executor = &executor});
  RowBlock batch = pipeline.make_slot();
  if (pipeline.next(batch) == 0) return 0;
  const StepFields fields({.model = model,
                           .rows = pipeline.rows(),
                           .loss = config.loss.loss.get(),
                           .label = config.loss.label,
                           .weight = config.loss.weight});
  StepInputs inputs(fields, Device::cpu(), batch.size());
  Context context(Device::cpu(), executor);
  try {
    executor.run([&] { inputs.load(context, batch); });
  } catch (RowError& error) {
    error.set_place(pipeline.place(batch.id(error.row)));
    throw;
  }
  return batch.size();
}

}  // namespace

FirstRows check_first_rows(const Config& config, const OpRegistry& ops, const Model& model, Executor& executor) {
  const FloatMode mode;
  const auto build = [&](const Spec& list) {
    return build_input(
        {.list = list, .registry = ops, .seed = config.seed, .config_file = config.written.place().file});
  };
  if (build(config.input).files().read.empty()) return {};
  PassInput pass;
  try {
    pass = pass_input({.input = config.input, .registry = ops});
  } catch (const ConfigError&) {
    return {};  // there is no single order in which to read the files
  }
  try {
    const int64_t rows = read_batch(build(pass.list), config, model, executor);
    return {rows, rows == 0 ? "the files have no rows" : ""};
  } catch (const DataError& error) {
    if (!leaves_out_bad_rows(config.input, ops)) throw;
    return {0, error.what()};
  }
}

}  // namespace millrace
