// Pass mode: from a configuration's `input` list the one that reads its data once: files in matched order, every row,
// no shuffling, nothing dropped. This is how data are validated, evaluated and predicted on.
//
//   const PassInput pass = pass_input({.input = config.input, .registry = catalog.ops});
//   InputGraph graph = build_pass(pass, {.list = pass.list, .registry = catalog.ops, .seed = config.seed});
//
// What happens to an op follows from what it is and from what it says of its options (OptionReader::in_pass()):
// - sources read one epoch, unshuffled and not sharded; a bad row is an error, and nothing is random;
// - buffers of rows (a window, take, repeat, ...) go; the one that makes batches becomes `batch`, which gives the
//   rest, too;
// - transforms stay.
// What was held out of a training is a pass of its own (Side::held_out): it does without the bad rows that the training
// did without, and buffers behind the op that holds rows out go, whatever they are.
// Ops keep names, places and paths, so errors speak of the list as it was written.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "millrace/core/spec.h"
#include "millrace/input/transform.h"
#include "millrace/trainer/input/build_input.h"

namespace millrace {

struct PassArgs {
  const Spec& input;  // the list
  const OpRegistry& registry;
  // What the op that names files reads instead.
  std::optional<Spec> files = {};
  // The fields that are wanted of each row; absent: all. Others are not decoded, unless a transform that stays reads
  // them, too (Transform::concerned_fields()).
  std::optional<std::vector<std::string>> wanted = {};
  // The fields of rows that come from no text, where they are known: they count among those that transforms read.
  std::vector<std::string> source_fields = {};
  // Fields that the data need not have. Transforms that have to do with them, and with no wanted one, go.
  std::vector<std::string> unwanted = {};
  // Which rows, where an op holds some out: all, or those.
  Side side = Side::all;
};

struct PassInput {
  Spec list;
  Side side = Side::all;
  // For the pipeline: throws the DataError of a row that an op calls bad, whatever `on_bad_row` is where it is built
  // in. None for rows that were held out, of which the training's own rules hold.
  std::function<void(const BadRow&)> on_bad_row() const;
  // What the list has and a pass does not: names of ops, and "filename_queue.shard".
  std::vector<std::string> left_out;
  // With `wanted`: names of the fields that are wanted or that a transform which stays reads.
  std::vector<std::string> fields;
  // The path of the options that say which columns are which fields, where some are not decoded, and those fields.
  std::string fields_path;
  std::vector<std::string> not_decoded;
};

// Throws ConfigError: for what is wrong with the list itself, for an op that joins several inputs, where `files` are
// given and no op names files, and where the side held_out is wanted and not exactly one op holds rows out.
PassInput pass_input(const PassArgs& args);

// build_input() for such a list, with the side of the pass. Throws ConfigError, too, when the data never end or an op
// would write a file.
InputGraph build_pass(const PassInput& pass, const InputListArgs& args);

}  // namespace millrace
