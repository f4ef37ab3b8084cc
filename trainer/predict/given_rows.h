// Given rows: how the input list of a saved model is applied to rows that a program holds. An op that gives these rows
// takes the place of the ops that read or make rows; the transforms after them stay.
//
//   const GivenRows given = given_rows(file, config, catalog, max_bytes);
//   const RowTransforms transforms(InputGraph::build(given.list, given.registry, {.seed = config.seed}));
//
// Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/spec.h"
#include "millrace/input/op.h"
#include "millrace/input/transform.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/model_file.h"

namespace millrace {

struct GivenRows {
  Spec list;
  OpRegistry registry;  // which also has the kinds of the list that are made here
  RowSpec rows;         // what the program gives
  // The op that made such rows in the training, if one read them from files, and the ops after it.
  std::optional<Spec> maker = {};
  std::vector<Spec> rest = {};

  // The op that `maker` describes, before bind(); null if there is none.
  std::unique_ptr<Op> maker_op() const;
  // Those ops of the list that are transforms.
  std::vector<Spec> transforms() const;
};

// The list for a saved model with this configuration. Throws DataError if the file does not say what its rows look
// like, or if a row takes more than `max_bytes`; ConfigError if the list cannot be applied.
GivenRows given_rows(const ModelFile& file, const Config& config, const Catalog& catalog, uint64_t max_bytes);

// As label_history(), for the part of the list that the program's rows go through.
FieldHistory label_of_given_rows(const Config& config, const Catalog& catalog);

DataError row_too_large(const ModelFile& file, size_t bytes, uint64_t most);

}  // namespace millrace
