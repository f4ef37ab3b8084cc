#include "millrace/trainer/cli/help.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

constexpr HelpText kTexts[] = {
    {"", "Trains a model on files larger than memory, fed by a native input graph.",
     "  trainer --config FILE [OPTIONS]\n  trainer FILE.yaml [OPTIONS]\n  trainer SUBCOMMAND [OPTIONS]",
     "Results and JSON go to standard output; progress, log lines and errors to standard error.\n"
     "Exit codes: 0 done, 2 usage, 65 bad data, 66 input missing, 70 internal, 74 I/O or device,\n"
     "78 configuration, 130 interrupted, 143 terminated.\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer generate sum --out data/sum --files 20 --rows 100\n"
     "  trainer check --config mlp.yaml\n"
     "  trainer --config mlp.yaml --save model.safetensors\n"
     "  trainer --config mlp.yaml --set train.steps=5 --set optimizer.sgd.learning_rate=0.01"},
    {"train", "Trains the model that a configuration describes.", "  trainer train --config FILE [OPTIONS]",
     "A path of --set names a key (train.steps), an item of a list by its kind or name where only one has it\n"
     "(input.shuffle_batch.batch_size), or by position (input[3].batch_size). Values are YAML; the last one wins.\n"
     "With the key validation the model is judged by rows of its own every so many steps; keep_best keeps the best.\n"
     "SIGINT or SIGTERM ends the training after the running step and reports; a second one ends it at once.\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer train --config mlp.yaml --save model.safetensors\n"
     "  trainer train --config mlp.yaml --set train.steps=5 --set device=cpu\n"
     "  trainer train --config mlp.yaml --json --quiet > events.jsonl"},
    {"check", "Checks everything but the training: configuration, graph, shapes, every file and header.",
     "  trainer check --config FILE [OPTIONS]",
     "Says what the model looks like and how much memory a training needs at most.\n"
     "With --print the configuration with every default is on standard output, the rest on standard error.\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer check --config mlp.yaml\n"
     "  trainer check --config mlp.yaml --print > resolved.yaml\n"
     "  trainer check --config mlp.yaml --json"},
    {"input", "Runs the input graph alone and prints or writes its batches.",
     "  trainer input --config FILE [OPTIONS]\n  trainer input --config FILE --explain STEP",
     "The configuration needs no model. Formats:\n"
     "  jsonl  one line a batch: "
     "{\"batch\":0,\"size\":2,\"fields\":{\"label\":[[1],[0]]},\"rows\":[\"a.csv:1\",\"a.csv:7\"]}\n"
     "  csv    one line a row, each value in the column where decode_csv of this configuration looks for it, with a\n"
     "         header line where csv_reader wants one: the same configuration, reading this file in order, gives\n"
     "         equal batches. Columns that no field uses are empty. Without csv_reader and decode_csv: a header\n"
     "         (NAME, or NAME_0, NAME_1, ... for a field of several columns) and the fields in order.\n"
     "  none   only the counts\n"
     "--json adds a last line with exact counts: rows, batches, dropped (left out by name), bad (left out for "
     "faults).\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer input --config mlp.yaml --batches 1\n"
     "  trainer input --config mlp.yaml --format csv --out rows.csv\n"
     "  trainer input --config mlp.yaml --format none --json\n"
     "  trainer input --config mlp.yaml --explain 20"},
    {"evaluate", "Judges a saved model by data that it was not trained on: loss and metrics over all rows.",
     "  trainer evaluate --model FILE --data GLOB [OPTIONS]",
     "The data are read as in the training, by the configuration that the model file holds, but once and in order:\n"
     "no shuffling, every row, and a bad row is an error. --set changes that configuration: device, threads,\n"
     "input.batch.batch_size, the columns of the fields.\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer evaluate --model model.safetensors --data \"test/*.csv\"\n"
     "  trainer evaluate --model model.safetensors --data a.csv --data b.csv --json\n"
     "  trainer evaluate --model model.safetensors --data test.csv --set device=cpu"},
    {"predict", "Runs a saved model on data and writes a line for each row, in order.",
     "  trainer predict --model FILE --data GLOB [OPTIONS]",
     "The data are read as by `trainer evaluate`, but need no label: its column may be missing, in files without a\n"
     "header where it stands behind all others. Formats (a row is its file and line):\n"
     "  csv    row,class,probability             of a model trained with sigmoid_cross_entropy\n"
     "         row,class,probability_0,...       with softmax_cross_entropy; the class is the first of the likeliest\n"
     "         row,prediction or prediction_0,.. with another loss, and with --raw\n"
     "  jsonl  {\"v\":1,\"row\":\"a.csv:3\",\"class\":1,\"probability\":0.93}, or likewise with lists\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer predict --model model.safetensors --data \"new/*.csv\" --out predictions.csv\n"
     "  trainer predict --model model.safetensors --data new.csv --format jsonl --raw"},
    {"generate", "Generates data sets to try things with.", "  trainer generate sum --out DIR [OPTIONS]",
     "EXAMPLES:\n"
     "  trainer generate sum --out data/sum --files 20 --rows 100"},
    {"generate sum", "CSV files of normal numbers, labelled by whether their sum is positive.",
     "  trainer generate sum --out DIR [OPTIONS]",
     "Each row is --features numbers and a label, 1.0 or 0.0. Equal options give equal bytes.\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer generate sum --out data/sum --files 20 --rows 100\n"
     "  trainer generate sum --out data/small --files 2 --rows 10 --features 8 --seed 7"},
    {"ops", "Lists the input ops, with every option, type and default.", "  trainer ops [NAME]",
     "EXAMPLES:\n"
     "  trainer ops\n"
     "  trainer ops shuffle_batch"},
    {"layers", "Lists layers, losses, metrics, optimizers and schedules, with every option and default.",
     "  trainer layers [NAME]",
     "EXAMPLES:\n"
     "  trainer layers\n"
     "  trainer layers dense"},
};

constexpr size_t kColumn = 28;

std::string two_columns(const std::string& left, const std::string& right) {
  const std::string start = "  " + left;
  if (start.size() + 2 > kColumn) return fmt::format("{}\n{:{}}{}\n", start, "", kColumn, right);
  return fmt::format("{:<{}}{}\n", start, kColumn, right);
}

std::string option_line(const CLI::Option& option) {
  std::string name = option.get_positional() ? option.get_name(true, false) : option.get_name(false, true);
  if (!option.get_positional()) {
    const size_t comma = name.find(',');
    name = comma == std::string::npos ? cat("    ", name) : cat(name.substr(0, comma), ", ", name.substr(comma + 1));
    if (option.get_type_size() != 0) name += ' ' + option.get_type_name();
  }
  return two_columns(name, option.get_description());
}

// "trainer generate sum" -> "generate sum".
std::string path_of(const CLI::App& app) {
  if (app.get_parent() == nullptr) return {};
  const std::string above = path_of(*app.get_parent());
  return above.empty() ? app.get_name() : above + ' ' + app.get_name();
}

std::string make_help(const CLI::App& app) {
  const HelpText& text = help_text(path_of(app));
  std::string out = fmt::format("{}\n\nUSAGE:\n{}\n", text.summary, text.usage);
  std::string arguments, options, subcommands;
  for (const CLI::Option* option : app.get_options()) {
    (option->get_positional() ? arguments : options) += option_line(*option);
  }
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    subcommands += two_columns(sub->get_name(), std::string(help_text(path_of(*sub)).summary));
  }
  if (!arguments.empty()) out += "\nARGUMENTS:\n" + arguments;
  if (!options.empty()) out += "\nOPTIONS:\n" + options;
  if (!subcommands.empty()) out += "\nSUBCOMMANDS:\n" + subcommands;
  return out + fmt::format("\n{}\n", text.details);
}

}  // namespace

void set_help_format(CLI::App& app) {
  app.formatter(std::make_shared<CLI::FormatterLambda>(
      [](const CLI::App* shown, const std::string&, CLI::AppFormatMode) { return make_help(*shown); }));
}

const HelpText& help_text(std::string_view name) {
  for (const HelpText& text : kTexts) {
    if (text.name == name) return text;
  }
  return kTexts[0];
}

std::string_view short_help() {
  return "trainer: trains a model on files larger than memory, fed by a native input graph\n"
         "\n"
         "  trainer --config FILE           train\n"
         "  trainer check --config FILE     check everything but the training\n"
         "  trainer input --config FILE     print the batches of the input graph\n"
         "  trainer evaluate --model FILE   judge a saved model by data\n"
         "  trainer predict --model FILE    predict with it\n"
         "  trainer generate sum --out DIR  make a data set to begin with\n"
         "\n"
         "trainer --help says more\n";
}

}  // namespace millrace::cli
