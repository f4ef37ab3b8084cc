#include "millrace/cli/help/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/text/text_layout.h"
#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

constexpr HelpText kTexts[] = {
    {"", "Trains a model on files larger than memory, fed by a native input graph.",
     "  trainer --config FILE [OPTIONS]\n  trainer FILE.yaml [OPTIONS]\n  trainer SUBCOMMAND [OPTIONS]",
     "Reads a configuration, one YAML file, and the data that it names, relative to the current folder.\n"
     "Results and JSON go to standard output; progress, log lines and errors to standard error. The model is written\n"
     "where --save or the key save says, else it is not kept.\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer config --example > mlp.yaml\n"
     "  trainer generate sum --out data/sum --features 8\n"
     "  trainer check --config mlp.yaml\n"
     "  trainer --config mlp.yaml --set optimizer.adam.learning_rate=0.003 --save model.safetensors",
     "trainer SUBCOMMAND --help, trainer config, trainer layers, trainer ops, docs/config.md"},
    {"train", "Trains the model that a configuration describes.",
     "  trainer train --config FILE [OPTIONS]\n  trainer train FILE [OPTIONS]",
     "A path of --set names a key (train.steps), an item of a list by its kind or name where only one has it\n"
     "(input.shuffle_batch.batch_size), or by position (input[3].batch_size). Values are YAML; the last one wins, and\n"
     "null takes a key away.\n"
     "With the key validation the model is judged by rows of its own every so many steps; keep_best keeps the best.\n"
     "\n"
     "Equal configuration, seed and data give equal weights; the result ends with their hash. SIGINT, SIGTERM or\n"
     "SIGHUP (a closed terminal) ends the training after the running step, reports and saves; a second SIGINT or\n"
     "SIGTERM ends it at once.\n"
     "\n"
     "The file of --trace shows ops, layers and waits on a time line in ui.perfetto.dev or chrome://tracing. It is\n"
     "written at the end, whatever ended the training.\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer train --config mlp.yaml --save model.safetensors\n"
     "  trainer train --config mlp.yaml --set train.steps=40 --trace trace.json\n"
     "  trainer train --config mlp.yaml --set train.steps=5 --set device=cpu\n"
     "  trainer train --config mlp.yaml --json --quiet > events.jsonl",
     "trainer check, trainer config train, docs/config.md"},
    {"init", "Looks at CSV data and writes a configuration that trains on them.",
     "  trainer init DATA.csv --label COLUMN [OPTIONS]",
     "Finds out how the files are written, what each column is and what the label asks for, chooses a small model and\n"
     "says what it assumed. The configuration has comments and is a beginning: change what you know better.\n"
     "Numbers are normalised, texts of few kinds become categories; what is missing in new data is provided for. Rows\n"
     "without a label are left out, and some rows are held out to judge the model by.\n"
     "Left out are identifiers, dates, free text and columns that say nothing; --keep and --ignore decide otherwise.\n"
     "A FILE that is there is replaced with --force only; data never are.\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer init iris.csv --label species\n"
     "  trainer init \"houses/*.csv\" --label price --task regression --ignore id --out prices.yaml\n"
     "  trainer init rows.csv --header no --label 0 --out -",
     "trainer check, trainer train, docs/init.md"},
    {"check", "Checks everything but the training: configuration, graph, shapes, files, headers, first rows.",
     "  trainer check --config FILE [OPTIONS]\n  trainer check FILE [OPTIONS]",
     "Says what the model looks like and how much memory a training needs at most; opens every file, reads a batch\n"
     "of rows from the first; writes nothing.\n"
     "With --print the configuration with every default is on standard output, the rest on standard error.\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer check --config mlp.yaml\n"
     "  trainer check --config mlp.yaml --print > resolved.yaml\n"
     "  trainer check --config mlp.yaml --json",
     "trainer input, trainer config, trainer schema"},
    {"input", "Runs the input graph alone and prints or writes its batches.",
     "  trainer input --config FILE [OPTIONS]\n  trainer input --config FILE --explain STEP",
     "The configuration needs no model. Formats:\n"
     "  jsonl  one line a batch:\n"
     "         {\"v\":1,\"batch\":0,\"size\":2,\"fields\":{\"label\":[[1],[0]]},\"rows\":[\"a.csv:1\",\"a.csv:7\"]}\n"
     "  csv    one line a row, each value in the column where decode_csv of this configuration looks for\n"
     "         it, with a header line where csv_reader wants one: the same configuration, reading this\n"
     "         file in order, gives equal batches; what no text can say is an error. Columns that no field\n"
     "         uses are empty; fields that map or one_hot add stand behind the others. What the graph did\n"
     "         it does again to what it reads back: map in place, normalize, augment, skip, repeat, epochs\n"
     "         and shuffle_batch want to be left out then. Without csv_reader and decode_csv: a header\n"
     "         (NAME, or NAME_0, NAME_1, ... for a field of several columns) and the fields in order.\n"
     "  none   only the counts\n"
     "The file of --out appears whole when the run is done, and not at all when it fails or is interrupted; a pipe\n"
     "or a device is written as the batches come; - is standard output.\n"
     "--json adds a last line with exact counts: rows, batches, dropped (left out by name), bad (left out for\n"
     "faults).\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer input --config mlp.yaml --batches 1\n"
     "  trainer input --config mlp.yaml --format csv --out rows.csv\n"
     "  trainer input --config mlp.yaml --format none --json\n"
     "  trainer input --config mlp.yaml --explain 2",
     "trainer ops, trainer check, docs/input_graph.md"},
    {"speed", "Measures input and step, alone and together: which is the bottleneck, and which key to change.",
     "  trainer speed --config FILE [OPTIONS]\n  trainer speed FILE [OPTIONS]",
     "Runs the input alone, the step alone on one batch, and both, in turn, for some seconds. Then it tries keys that\n"
     "change no result, such as threads, capacity, chunk_bytes or delivery, each for some seconds more, and advises\n"
     "what made the training faster, with the gain that it measured. Data that end are read again; nothing is\n"
     "validated or saved.\n"
     "Every training ends with a line on the same, from what it counted anyway.\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer speed --config mlp.yaml\n"
     "  trainer speed --config mlp.yaml --set threads=1 --rounds 1 --json",
     "trainer compare, docs/performance.md"},
    {"compare", "Trains with one delivery after another and says what each takes, and why.",
     "  trainer compare --config FILE [OPTIONS]\n  trainer compare FILE [OPTIONS]",
     "A delivery is how a batch reaches the step: fed by the thread that trains, through a queue, or natively. The "
     "same\n"
     "training runs with each of them in turn, round after round; the key compare says which, how often, and how many\n"
     "first steps are not timed. Without it: feed, queue, staging, native and constant, five times.\n"
     "The table has medians; *of its bound* is the time over what the threads could do it in at best, by what a step\n"
     "and a batch take alone. Weights must be equal; constant repeats one batch, so its own are not.\n"
     "Nothing is validated or saved.\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer compare --config mlp.yaml\n"
     "  trainer compare --config mlp.yaml --set train.steps=40 --html compare.html\n"
     "  trainer compare --config mlp.yaml --set compare.rounds=2 --json compare.json",
     "trainer speed, trainer config compare, docs/queue_vs_feed.md"},
    {"evaluate", "Judges a saved model by data that it was not trained on: loss and metrics over all rows.",
     "  trainer evaluate --model FILE --data GLOB [DATA...] [OPTIONS]\n"
     "  trainer evaluate --model FILE --held-out [OPTIONS]",
     "The data are read as in the training, by the configuration that the model file holds, but once and in order:\n"
     "no shuffling, every row, and a bad row is an error. --set changes that configuration: device, threads,\n"
     "the batch size by the op of the training (input.shuffle_batch.batch_size), the columns of the fields.\n"
     "With --held-out it reads the rows that the op hold_out kept from the training, and no others, of the files of "
     "the\n"
     "training unless --data names others; bad rows are left out as there.\n"
     "Where the label was normalised, loss and metrics are those of the normalised label, as in the training; mae and\n"
     "rmse are given in its own unit, too.\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer evaluate --model model.safetensors --data \"test/*.csv\"\n"
     "  trainer evaluate --model model.safetensors --data a.csv --data b.csv --json\n"
     "  trainer evaluate --model model.safetensors --data test.csv --set device=cpu\n"
     "  trainer evaluate --model iris.safetensors --held-out",
     "trainer predict, trainer layers"},
    {"predict", "Runs a saved model on data and writes a line for each row, in order.",
     "  trainer predict --model FILE --data GLOB [DATA...] [OPTIONS]",
     "The data are read as by `trainer evaluate`, but need no label: its column may be missing, in files without a\n"
     "header where it stands behind all others. The file of --out appears whole or not at all. Formats (a row is\n"
     "its file and line):\n"
     "  csv    row,class,probability             of a model trained with sigmoid_cross_entropy\n"
     "         row,class,probability_0,...       with softmax_cross_entropy; the first of the likeliest\n"
     "         row,prediction or prediction_0,.. with another loss, and with --raw\n"
     "  jsonl  {\"v\":1,\"row\":\"a.csv:3\",\"class\":1,\"probability\":0.93}, or likewise with lists\n"
     "Where the label went through a vocabulary, its text stands behind the class: row,class,name,probability. Where "
     "it\n"
     "was normalised or mapped, predictions are given as it was before. --raw does neither.\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer predict --model model.safetensors --data \"new/*.csv\" --out predictions.csv\n"
     "  trainer predict --model model.safetensors --data new.csv --format jsonl --raw",
     "trainer evaluate"},
    {"generate", "Generates data sets to try things with.",
     "  trainer generate sum --out DIR [OPTIONS]\n  trainer generate images --out DIR [OPTIONS]",
     "EXAMPLES:\n"
     "  trainer generate sum --out data/sum --files 20 --rows 100 --force\n"
     "  trainer generate images --out data/images --files 12 --rows 500",
     "trainer generate sum --help, trainer generate images --help"},
    {"generate sum", "CSV files of normal numbers, labelled by whether their sum is positive.",
     "  trainer generate sum --out DIR [OPTIONS]",
     "Writes DIR/examples-00.csv and so on. Each row is --features numbers and a label, 1.0 or 0.0, without a header.\n"
     "Equal options give equal bytes.\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer generate sum --out data/large --files 20 --rows 100\n"
     "  trainer generate sum --out data/small --files 2 --rows 10 --features 8 --seed 7",
     "trainer generate images, trainer input"},
    {"generate images", "CSV files of images of ten digits, each drawn in another way.",
     "  trainer generate images --out DIR [OPTIONS]",
     "Writes DIR/examples-00.csv and so on. Each row is a label, 0 to 9, and the pixels of a square image, 0 to 255,\n"
     "line by line, as MNIST is passed around in CSV, and as there without a header: csv_reader: {header: false}.\n"
     "The digits have seven segments; place, size, slant, thickness, brightness and noise are drawn for each image.\n"
     "configs/lenet.yaml reads them. Equal options give equal bytes, and a row depends on seed, size, file and row\n"
     "alone.\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer generate images --out data/digits --files 12 --rows 500\n"
     "  trainer generate images --out data/tiny --files 2 --rows 10 --size 16 --seed 7",
     "trainer generate sum, trainer layers conv2d"},
    {"ops", "Lists the input ops, with every option, type and default.", "  trainer ops [OP] [--json]",
     "An op is an item of the list `input` of a configuration: its name alone, or `name: {option: value}`.\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer ops\n"
     "  trainer ops shuffle_batch\n"
     "  trainer ops --json",
     "trainer layers, trainer config input, docs/input_graph.md"},
    {"layers", "Lists layers, losses, metrics, optimizers and schedules, with every option and default.",
     "  trainer layers [KIND] [--json]\n  trainer layers layers|losses|metrics|optimizers|schedules [--json]",
     "They are what the keys `model`, `loss`, `metrics` and `optimizer` of a configuration name: `dense: {units: 3}`,\n"
     "or the name alone where no option is required. Schedules are what an optimizer's option `schedule` names.\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer layers\n"
     "  trainer layers dense\n"
     "  trainer layers metrics\n"
     "  trainer layers --json",
     "trainer ops, trainer config model, docs/extending.md"},
    {"config", "Lists the keys of a configuration, with every type and default.",
     "  trainer config [KEY] [--json]\n  trainer config --example\n  trainer config --markdown",
     "A KEY with dots is a key below another one, as --set writes it. Ops, layers, losses, metrics and optimizers "
     "have\n"
     "pages of their own: trainer ops, trainer layers.\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer config --example > mlp.yaml\n"
     "  trainer config train\n"
     "  trainer config train.on_nonfinite\n"
     "  trainer config --markdown > config.md",
     "trainer ops, trainer layers, trainer schema, docs/config.md"},
    {"schema", "Prints the JSON Schema of configurations, by which editors complete and check them.",
     "  trainer schema",
     "The schema is of draft 2020-12 and knows every kind, option, range and default of this build. An editor with "
     "the\n"
     "YAML language server reads it from a first line such as\n"
     "  # yaml-language-server: $schema=millrace.schema.json\n"
     "What depends on several keys or on the data is left to trainer check.\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer schema > millrace.schema.json",
     "trainer config, trainer check"},
    {"doctor", "Checks the installation: processor, memory, limits, libraries, devices, and a tiny training.",
     "  trainer doctor [--json]",
     "A line for each check: ok, warning or error, and what to do. The exit code is 0 unless something is broken that\n"
     "trainings need; what a training on that device passes is a warning at most.\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer doctor\n"
     "  trainer doctor --json",
     "trainer --version, README.md"},
    {"man", "Prints the manual page.", "  trainer man",
     "The page has what --help says of every subcommand, for man and other readers of roff.\n"
     "\n"
     "EXAMPLES:\n"
     "  trainer man > trainer.1",
     "trainer --help, trainer completion"},
    {"completion", "Prints a script that makes a shell complete this command line.",
     "  trainer completion bash|zsh|fish",
     "INSTALL:\n"
     "  bash  add to ~/.bashrc: source <(trainer completion bash)\n"
     "  zsh   add to ~/.zshrc, behind compinit: source <(trainer completion zsh)\n"
     "  fish  trainer completion fish > ~/.config/fish/completions/trainer.fish\n"
     "\n"
     "EXAMPLES:\n"
     "  source <(trainer completion bash)\n"
     "  trainer completion zsh > _trainer\n"
     "  trainer completion fish > trainer.fish",
     "trainer --help"},
};

constexpr size_t kColumn = 28;

std::string two_columns(const std::string& left, const std::string& right) {
  const std::string start = "  " + left;
  const std::string doc = wrapped(right, kColumn, kColumn);
  if (start.size() + 2 > kColumn) return fmt::format("{}\n{:{}}{}\n", start, "", kColumn, doc);
  return fmt::format("{:<{}}{}\n", start, kColumn, doc);
}

std::string argument_lines(const ArgumentInfo& argument) {
  std::string left = join(argument.names, ", ");
  if (argument.names.empty()) {
    left = argument.value;
  } else {
    if (argument.names.front().starts_with("--")) left = "    " + left;
    if (!argument.value.empty()) left += ' ' + argument.value;
  }
  const std::string& value = argument.default_value;
  return two_columns(left, value.empty() ? argument.doc : cat(argument.doc, " [default: ", value, ']'));
}

// The options in the order of their declaration, under the headings of their groups; the common ones come last.
std::string option_groups(const CommandInfo& command) {
  constexpr const char* kPlain = "OPTIONS";
  std::vector<std::pair<std::string, std::string>> groups;
  const auto lines_of = [&](const std::string& heading) -> std::string& {
    for (auto& [name, lines] : groups) {
      if (name == heading) return lines;
    }
    return groups.emplace_back(heading, "").second;
  };
  std::string help;
  for (const ArgumentInfo& argument : command.arguments) {
    const bool is_help = std::find(argument.names.begin(), argument.names.end(), "--help") != argument.names.end();
    if (is_help) {
      help = argument_lines(argument);
    } else if (argument.names.empty()) {
      lines_of("ARGUMENTS") += argument_lines(argument);
    } else if (!argument.group.empty()) {
      lines_of(argument.group) += argument_lines(argument);
    }
  }
  std::string& plain = lines_of(kPlain);
  for (const ArgumentInfo& argument : command.arguments) {
    const std::string lines = argument_lines(argument);
    if (!argument.names.empty() && argument.group.empty() && lines != help) plain += lines;
  }
  plain += help;
  std::string out;
  for (const auto& [heading, lines] : groups) out += cat('\n', heading, ":\n", lines);
  return out;
}

// Whether the command runs something, and so may fail in many ways.
bool reads_configuration(const CommandInfo& command) {
  return std::any_of(command.arguments.begin(), command.arguments.end(), [](const ArgumentInfo& argument) {
    return std::find(argument.names.begin(), argument.names.end(), "--set") != argument.names.end();
  });
}

}  // namespace

std::string help_page(const CommandInfo& command) {
  const HelpText& text = help_text(command.path);
  std::string out = fmt::format("{}\n\nUSAGE:\n{}\n", text.summary, text.usage);
  out += option_groups(command);
  if (!command.commands.empty()) out += "\nSUBCOMMANDS:\n";
  for (const CommandInfo& below : command.commands) {
    out += two_columns(last_word(below.path), std::string(help_text(below.path).summary));
  }
  if (!text.details.empty()) out += '\n' + reflowed(text.details);
  if (reads_configuration(command)) out += cat("\nEXIT CODES:\n  ", wrapped(exit_codes_text(), 2, 2), '\n');
  if (!text.see_also.empty()) out += cat("\nSEE ALSO:\n  ", wrapped(text.see_also, 2, 2), '\n');
  return out;
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
         "  trainer init DATA --label NAME  make a configuration for data\n"
         "  trainer --config FILE           train\n"
         "  trainer check --config FILE     check everything but the training\n"
         "  trainer input --config FILE     print the batches of the input graph\n"
         "  trainer speed --config FILE     find out what makes a training slow\n"
         "  trainer compare --config FILE   compare the ways in which batches reach the step\n"
         "  trainer evaluate --model FILE   judge a saved model by data\n"
         "  trainer predict --model FILE    predict with it\n"
         "  trainer generate sum --out DIR  make a data set to begin with\n"
         "  trainer config --example        a configuration to begin with\n"
         "  trainer config                  its keys\n"
         "\n"
         "trainer --help says more\n";
}

}  // namespace millrace::cli
