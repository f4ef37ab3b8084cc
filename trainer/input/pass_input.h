// Pass mode: makes, from a configuration's `input` list, the list that reads the data once: files in matched order,
// every row, no shuffling, nothing dropped. This is how data are validated, evaluated and predicted on.
//
//   const PassInput pass = pass_input({.input = config.input, .registry = catalog.ops});
//   InputGraph graph = pass.build(catalog.ops, config.seed);
//
// An op is treated according to its type, and to what it declares about its options (OptionReader::in_pass()):
// - sources read one epoch, unshuffled and not sharded; a bad row is an error, unless the training's own rule is wanted
//   (PassArgs::own_bad_rows), and nothing is random;
// - buffers of rows (a window, repeat, ...) are left out; those that pick rows by number (take, skip) stay, unless
//   other files are read; the one that makes batches becomes `batch`, which also gives the rows of the last,
//   smaller batch;
// - transforms stay, but for an op that holds rows out.
// A pass over the rows that a training held out (PassArgs::held_out) keeps that op. It leaves out the bad rows that the
// training left out, and every buffer after the op that holds rows out, even one that picks rows by number. Ops keep
// names, places and paths, so errors are about the list as it was written.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "millrace/core/spec.h"
#include "millrace/trainer/input/build_input.h"

namespace millrace {

struct PassArgs {
  const Spec& input;  // the list
  const OpRegistry& registry;
  // Replaces the files of the op that names files: a path, a pattern or a list of them. If the op has files for each
  // field, it is a map of these, or a list of "FIELD=FILE".
  std::optional<Spec> files = {};
  // What the training found in its data (InputGraph::found()): an op of that name reads by it, unless it says
  // otherwise.
  const Spec* found = nullptr;
  // The fields that are wanted of each row; absent: all. Others are not decoded, unless a transform that stays reads
  // them, too (Transform::concerned_fields()).
  std::optional<std::vector<std::string>> wanted = {};
  // The fields of rows that do not come from text, if they are known. A transform that does not say what it reads is
  // taken to read them, too.
  std::vector<std::string> source_fields = {};
  // Fields that the data need not have. Transforms that concern them, and no wanted field, are left out.
  std::vector<std::string> unwanted = {};
  // Only the rows that an op of the training holds out are read.
  bool held_out = false;
  // Bad rows are left out, or are errors, as the list says; held-out rows keep that rule anyway.
  bool own_bad_rows = false;
  // Columns of the text that come with each row, as the texts of the field kKept.
  std::vector<std::string> keep = {};
  Place keep_place = {};       // the place of errors about these
  bool bad_rows_stay = false;  // GraphArgs::bad_rows_stay
};

// PassArgs::files for these paths and patterns, which an option at `place` gave; none if there are none.
std::optional<Spec> named_files(const std::vector<std::string>& patterns, const Place& place);

// The field of the columns that PassArgs::keep names.
inline constexpr std::string_view kKept = "(kept)";

struct PassInput {
  // build_input() for the list. Throws ConfigError, too, when the data never end or an op would write a file.
  InputGraph build(const OpRegistry& registry, uint64_t seed = 0, const std::string& config_file = {},
                   std::shared_ptr<Workers> workers = nullptr) const;

  Spec list;
  bool held_out = false;       // PassArgs::held_out
  bool bad_rows_stay = false;  // GraphArgs::bad_rows_stay
  // For PipelineOptions::on_bad_row: throws the DataError of a row that an op calls bad. Empty for a pass over held-out
  // rows: these keep the training's own rules.
  std::function<void(const BadRow&)> on_bad_row() const;
  // The parts of the list that a pass leaves out: names of ops, and "filename_queue.shard".
  std::vector<std::string> left_out;
  // With `wanted`: the names of the wanted fields, and of the fields that the remaining transforms read.
  std::vector<std::string> fields;
  // If some fields are not decoded: the path of the options that say which columns are which fields, and the names of
  // the fields that are not decoded.
  std::string fields_path;
  std::vector<std::string> not_decoded;
  std::string kept_path;  // with PassArgs::keep: the path of the field kKept
};

// Throws ConfigError: for what is wrong with the list itself, for an op that joins several inputs, if `files` are given
// and no op names files, or names them in another form, if held-out rows are wanted and not exactly one op holds rows
// out, and if columns are to be kept and no op knows columns.
PassInput pass_input(const PassArgs& args);

}  // namespace millrace
