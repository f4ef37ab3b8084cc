// Arguments: what the command line asks for. CLI11 is seen by arguments.cpp and command_description.cpp alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/cli/help/command_info.h"
#include "millrace/cli/help/completion.h"
#include "millrace/cli/init/label_choice.h"
#include "millrace/core/options.h"

namespace millrace {

namespace cli {
enum class Command : uint8_t {
  nothing,
  help,
  version,
  train,
  check,
  input,
  speed,
  compare,
  evaluate,
  predict,
  generate_sum,
  generate_images,
  ops,
  layers,
  config,
  schema,
  completion,
  init,
  doctor,
  man
};
enum class BatchFormat : uint8_t { jsonl, csv, none };
enum class PredictionFormat : uint8_t { csv, jsonl };
enum class HeaderChoice : uint8_t { automatic, yes, no };
}  // namespace cli

template <>
struct EnumNames<cli::BatchFormat> {
  static constexpr std::pair<std::string_view, cli::BatchFormat> kNames[] = {
      {"jsonl", cli::BatchFormat::jsonl}, {"csv", cli::BatchFormat::csv}, {"none", cli::BatchFormat::none}};
};

template <>
struct EnumNames<cli::PredictionFormat> {
  static constexpr std::pair<std::string_view, cli::PredictionFormat> kNames[] = {
      {"csv", cli::PredictionFormat::csv}, {"jsonl", cli::PredictionFormat::jsonl}};
};

template <>
struct EnumNames<cli::HeaderChoice> {
  static constexpr std::pair<std::string_view, cli::HeaderChoice> kNames[] = {
      {"auto", cli::HeaderChoice::automatic}, {"yes", cli::HeaderChoice::yes}, {"no", cli::HeaderChoice::no}};
};

namespace cli {

// Every option of every command; those of other commands keep their defaults.
struct Arguments {
  Command command = Command::nothing;
  std::string text;  // of help

  std::string config;
  std::vector<std::string> overrides;
  std::vector<std::string> plugins;
  bool json = false;
  bool quiet = false;
  bool print = false;
  std::string save;
  std::string trace;

  std::optional<int64_t> batches;
  std::optional<int64_t> explain;
  BatchFormat format = BatchFormat::jsonl;
  std::string out;

  int64_t rounds = 3;     // of speed
  std::string json_file;  // of compare, where --json names a file
  std::string html_file;

  std::string model;
  std::vector<std::string> data;
  PredictionFormat prediction_format = PredictionFormat::csv;
  bool raw = false;
  bool held_out = false;  // of evaluate

  std::string label;  // of init
  std::vector<std::string> ignore, keep;
  InitTask task = InitTask::automatic;
  HeaderChoice header = HeaderChoice::automatic;
  std::string delimiter;
  int64_t look = 256;  // MiB

  int64_t files = 20;
  int64_t rows = 100;
  int64_t features = 1024;
  int64_t size = 28;
  int64_t seed = 1;
  bool force = false;

  std::string name;  // of one op, layer or key
  bool markdown = false;
  bool example = false;
  Shell shell = Shell::bash;
};

// `words` are those behind the program's name. Throws UsageError.
Arguments parse_arguments(std::span<const std::string> words);

// What there is to ask for.
CommandInfo describe_commands();

}  // namespace cli
}  // namespace millrace
