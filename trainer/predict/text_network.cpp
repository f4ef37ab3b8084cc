#include "millrace/trainer/predict/text_network.h"

#include <string_view>
#include <utility>

#include "millrace/core/threads/float_mode.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/saved_model.h"
#include "millrace/trainer/predict/given_rows.h"
#include "millrace/trainer/predict/model_reader.h"

namespace millrace {

namespace {

Config read_served_config(const ModelFile& file, const NetworkOptions& options, const Catalog& catalog) {
  const auto heeded = [&](const Config& config) {
    Spec out =
        heeded_of(config, label_of_given_rows(config, catalog), {"seed", "device", "precision", "model", "loss"});
    return out.set("input", given_texts(file, config, catalog, options.max_bytes).list)
        .set("maker", given_rows(file, config, catalog, options.max_bytes).maker.value_or(Spec()));
  };
  return read_saved_config(
      file, {.overrides = options.overrides, .heeded = heeded, .hint = "rows come one request at a time"}, catalog);
}

}  // namespace

TextNetwork::TextNetwork(ModelFile file, const NetworkOptions& options, const Catalog& catalog) {
  const FloatMode mode;
  if (options.best) file = best_model(std::move(file));
  Config config = read_served_config(file, options, catalog);
  texts_.emplace(given_texts(file, config, catalog, options.max_bytes));
  label_ = label_of_given_rows(config, catalog);
  transforms_.emplace(InputGraph::build(texts_->list, texts_->registry, {.seed = config.seed}));
  network_.emplace(Network(file, options, catalog, std::move(config), transforms_->output()));
}

Answers TextNetwork::answers(double threshold) const {
  return Answers({.predictions = attributed(*network_->config().loss.loss, &Loss::predictions),
                  .outputs = outputs(),
                  .threshold = threshold,
                  .label = label_});
}

void TextNetwork::decode(const RowTexts& texts, uint64_t first, RowBlock& rows, Memory& memory) const {
  const FloatMode mode;
  transforms_->decode(texts, first, rows, memory);
}

}  // namespace millrace
