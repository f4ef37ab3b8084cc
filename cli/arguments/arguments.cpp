#include "millrace/cli/arguments/arguments.h"

#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <functional>
#include <map>
#include <memory>

#include "millrace/cli/arguments/argument_checks.h"
#include "millrace/cli/arguments/argument_words.h"
#include "millrace/cli/generate/generate.h"
#include "millrace/cli/generate/generate_images.h"
#include "millrace/cli/help/command_description.h"
#include "millrace/cli/help/help.h"
#include "millrace/cli/process/usage_error.h"
#include "millrace/core/text.h"
#include "millrace/core/version.h"

namespace millrace::cli {

namespace {

// The command line as CLI11 sees it. Every value is a text at first, so that the messages are ours.
class Parser {
 public:
  Parser();
  Arguments parse(std::span<const std::string> words);
  CommandInfo describe() const { return describe_command(app_); }

 private:
  Arguments take(std::span<const std::string> words);
  CLI::App& add_command(CLI::App& parent, Command command, const std::string& name);
  void add_set(CLI::App& app);
  void add_plugin(CLI::App& app, const char* group);
  void add_config(CLI::App& app);
  void add_training(CLI::App& app);
  void add_input();
  void add_speed();
  void add_compare();
  void add_model(CLI::App& app);
  void add_evaluate();
  void add_predict();
  void add_generate();
  void add_init();
  void add_references();
  CLI::Option& text(CLI::App& app, const std::string& name, std::string& value, const std::string& type,
                    const std::string& doc);
  // An option of the input that may be repeated.
  CLI::Option& texts(CLI::App& app, const std::string& name, std::vector<std::string>& values, const std::string& type,
                     const std::string& doc);
  // Values of other types are read when the whole command line is known. Their present value is the default.
  template <class T>
  CLI::Option& number(CLI::App& app, const std::string& name, T& value, const WholeRange& range,
                      const std::string& doc);
  template <class E>
  CLI::Option& choice(CLI::App& app, const std::string& name, E& value, const std::string& doc);

  void check_file() const;
  void read_config(const CLI::App& app);
  void read_model(const CLI::App& app);

  CLI::App app_{"", "trainer"};
  Arguments out_;
  std::string file_;                    // the configuration as a positional argument
  std::vector<std::string> more_data_;  // positional arguments
  bool version_ = false;
  std::map<const CLI::App*, Command> commands_;
  std::multimap<const CLI::App*, std::function<void()>> readers_;
};

constexpr const char* kInput = "INPUT";
constexpr const char* kOutput = "OUTPUT";
constexpr const char* kOptions = "OPTIONS";

Parser::Parser() {
  app_.set_help_flag("-h,--help", "print this help");
  app_.allow_extras();
  app_.require_subcommand(0, 1);
  commands_[&app_] = Command::train;
  add_training(app_);
  app_.add_flag("-V,--version", version_, "print version, compiler, CUDA, processor and libraries");
  add_training(add_command(app_, Command::train, "train"));
  CLI::App& check = add_command(app_, Command::check, "check");
  add_config(check);
  check.add_flag("--print", out_.print, "print the configuration with every default")->group(kOutput);
  check.add_flag("--json", out_.json, "print the report as one line of JSON")->group(kOutput);
  add_init();
  add_input();
  add_speed();
  add_compare();
  add_evaluate();
  add_predict();
  add_generate();
  add_references();
}

CLI::App& Parser::add_command(CLI::App& parent, Command command, const std::string& name) {
  CLI::App& app = *parent.add_subcommand(name);
  app.allow_extras();
  commands_[&app] = command;
  return app;
}

CLI::Option& Parser::text(CLI::App& app, const std::string& name, std::string& value, const std::string& type,
                          const std::string& doc) {
  return *app.add_option(name, value, doc)->type_name(type)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

CLI::Option& Parser::texts(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                           const std::string& type, const std::string& doc) {
  return *app.add_option(name, values, doc)
              ->type_name(type)
              ->group(kInput)
              ->allow_extra_args(false)
              ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

template <class T>
CLI::Option& Parser::number(CLI::App& app, const std::string& name, T& value, const WholeRange& range,
                            const std::string& doc) {
  const auto written = std::make_shared<std::string>();
  CLI::Option& option = text(app, name, *written, "N", doc);
  if constexpr (std::same_as<T, int64_t>) option.default_str(cat(value));
  readers_.emplace(&app, [&option, &value, written, name, range] {
    if (option.count() > 0) value = whole_number(name, *written, range);
  });
  return option;
}

template <class E>
CLI::Option& Parser::choice(CLI::App& app, const std::string& name, E& value, const std::string& doc) {
  const auto written = std::make_shared<std::string>();
  CLI::Option& option = text(app, name, *written, OptionType<E>::type(), doc);
  option.default_str(OptionType<E>::write(value).as_string());
  readers_.emplace(&app, [&option, &value, written, name] {
    if (option.count() == 0) return;
    const std::vector<std::string> known = choices_of(OptionType<E>::type());
    if (std::find(known.begin(), known.end(), *written) == known.end()) {
      const std::string near = nearest(*written, known);
      throw UsageError(cat(name, ": expected ", join(known, " or "), ", got ", quote(*written)), {},
                       near.empty() ? std::string() : cat("did you mean ", near, "?"));
    }
    value = OptionType<E>::read(Spec::of(*written));
  });
  return option;
}

void Parser::add_config(CLI::App& app) {
  app.add_option("FILE", file_, "the configuration, instead of --config");
  text(app, "--config", out_.config, "FILE", "the configuration, a YAML file").group(kInput);
  add_set(app);
}

void Parser::add_set(CLI::App& app) {
  texts(app, "--set", out_.overrides, "PATH=VALUE", "set a key of the configuration; may be repeated");
  add_plugin(app, kInput);
}

void Parser::add_plugin(CLI::App& app, const char* group) {
  texts(app, "--plugin", out_.plugins, "FILE", "add the kinds of the plug-in FILE; may be repeated").group(group);
}

void Parser::add_training(CLI::App& app) {
  add_config(app);
  text(app, "--save", out_.save, "FILE", "keep the trained model in FILE, whatever the configuration says")
      .group(kOutput);
  text(app, "--trace", out_.trace, "FILE", "write what each thread did when to FILE, for ui.perfetto.dev")
      .group(kOutput);
  app.add_flag("--json", out_.json, "print events as lines of JSON on standard output")->group(kOutput);
  app.add_flag("-q,--quiet", out_.quiet, "no progress, warnings and log lines")->group(kOutput);
}

void Parser::add_input() {
  CLI::App& app = add_command(app_, Command::input, "input");
  add_config(app);
  number(app, "--batches", out_.batches, {.least = 0}, "stop after N batches").group(kOutput);
  choice(app, "--format", out_.format, "how batches are written, see below").group(kOutput);
  text(app, "--out", out_.out, "FILE", "write the batches to FILE instead of standard output").group(kOutput);
  app.add_flag("--json", out_.json, "end with exact counts as a line of JSON on standard output")->group(kOutput);
  number(app, "--explain", out_.explain, {.least = 1},
         "print file and line of every row of step N (from 1), nothing else")
      .group(kOutput);
}

void Parser::add_speed() {
  CLI::App& app = add_command(app_, Command::speed, "speed");
  add_config(app);
  number(app, "--rounds", out_.rounds, {.least = 1, .most = 1000}, "how often everything is measured");
  app.add_flag("--json", out_.json, "print what was found as one line of JSON")->group(kOutput);
  app.add_flag("-q,--quiet", out_.quiet, "do not say what is measured")->group(kOutput);
}

void Parser::add_compare() {
  CLI::App& app = add_command(app_, Command::compare, "compare");
  add_config(app);
  text(app, "--json", out_.json_file, "FILE", "write what was found to FILE, as JSON; - is standard output")
      .group(kOutput);
  text(app, "--html", out_.html_file, "FILE", "write it to FILE, as a page with charts").group(kOutput);
  app.add_flag("-q,--quiet", out_.quiet, "do not say which round it is")->group(kOutput);
}

void Parser::add_model(CLI::App& app) {
  text(app, "--model", out_.model, "FILE", "the model, as a training saved it").group(kInput);
  texts(app, "--data", out_.data, "GLOB", "the files to read, a path or a pattern; may be repeated");
  app.add_option("DATA", more_data_, "more files to read, as a shell makes of a pattern without quotes")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_set(app);
}

void Parser::add_evaluate() {
  CLI::App& app = add_command(app_, Command::evaluate, "evaluate");
  add_model(app);
  app.add_flag("--held-out", out_.held_out,
               "only rows that hold_out kept from the training, by default of its own files")
      ->group(kInput);
  app.add_flag("--json", out_.json, "print the result as one line of JSON")->group(kOutput);
  app.add_flag("-q,--quiet", out_.quiet, "no warnings")->group(kOutput);
}

void Parser::add_predict() {
  CLI::App& app = add_command(app_, Command::predict, "predict");
  add_model(app);
  text(app, "--out", out_.out, "FILE", "write to FILE, which appears whole or not at all, instead of standard output")
      .group(kOutput);
  choice(app, "--format", out_.prediction_format, "how a row is written, see below").group(kOutput);
  app.add_flag("--raw", out_.raw, "the model's outputs as they are, no classes and probabilities")->group(kOutput);
}

void Parser::add_generate() {
  CLI::App& generate = add_command(app_, Command::help, "generate");
  generate.require_subcommand(0, 1);
  const auto add = [&](Command command, const char* name, int64_t most_rows) -> CLI::App& {
    CLI::App& app = add_command(generate, command, name);
    text(app, "--out", out_.out, "DIR", "the folder for the files; made when it is not there");
    number(app, "--files", out_.files, {.least = 1, .most = kMostGeneratedFiles}, "how many files");
    number(app, "--rows", out_.rows, {.least = 1, .most = most_rows}, "rows of each file");
    number(app, "--seed", out_.seed, {.least = 0}, "other seeds give other numbers");
    app.add_flag("--force", out_.force, "replace files that are there already");
    return app;
  };
  number(add(Command::generate_sum, "sum", kMostGeneratedRows), "--features", out_.features,
         {.least = 1, .most = kMostGeneratedFeatures}, "numbers of each row");
  number(add(Command::generate_images, "images", kMostImageRows), "--size", out_.size,
         {.least = kLeastImageSize, .most = kMostImageSize}, "pixels of an image in height and width");
}

void Parser::add_init() {
  CLI::App& app = add_command(app_, Command::init, "init");
  app.add_option("DATA", out_.data, "the files with the rows, paths or patterns")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  text(app, "--label", out_.label, "COLUMN", "what is to be predicted: a column's name, or its number from 0")
      .group(kInput);
  texts(app, "--ignore", out_.ignore, "COLUMN", "leave a column out; may be repeated");
  texts(app, "--keep", out_.keep, "COLUMN", "do not leave a column out; may be repeated");
  choice(app, "--task", out_.task, "whether the label is an amount or a class").group(kInput);
  choice(app, "--header", out_.header, "whether the first line names the columns").group(kInput);
  text(app, "--delimiter", out_.delimiter, "BYTE", "the byte between fields, or tab; found out by default")
      .group(kInput);
  number(app, "--look", out_.look, {.least = 1, .most = 1 << 20}, "look at so many MiB of the data at most")
      .group(kInput);
  text(app, "--out", out_.out, "FILE", "the configuration to write; - is standard output; DATA.yaml by default")
      .group(kOutput);
  app.add_flag("--force", out_.force, "replace FILE where it is there already")->group(kOutput);
}

void Parser::add_references() {
  const auto add = [this](Command command, const char* name, const char* type, const char* doc) -> CLI::App& {
    CLI::App& app = add_command(app_, command, name);
    app.add_option(type, out_.name, doc);
    app.add_flag("--json", out_.json, "print it as one line of JSON");
    add_plugin(app, kOptions);
    return app;
  };
  add(Command::ops, "ops", "OP", "only this op, as a page with an example");
  add(Command::layers, "layers", "KIND",
      "only this layer, loss, metric, optimizer or schedule, as a page; or all of a sort: metrics");
  CLI::App& config = add(Command::config, "config", "KEY", "only this key, and those below it: train, train.steps");
  config.add_flag("--example", out_.example, "print a whole configuration to begin with");
  config.add_flag("--markdown", out_.markdown, "print all of it, with every kind, as Markdown");
  add_plugin(add_command(app_, Command::schema, "schema"), kOptions);
  CLI::App& doctor = add_command(app_, Command::doctor, "doctor");
  doctor.add_flag("--json", out_.json, "print it as one line of JSON");
  add_command(app_, Command::man, "man");
  CLI::App& completion = add_command(app_, Command::completion, "completion");
  choice(completion, "SHELL", out_.shell, "the shell that is to complete").default_str("");
}

Arguments Parser::parse(std::span<const std::string> words) {
  try {
    return take(words);
  } catch (const UsageError& error) {
    const CLI::App& app = innermost(app_);
    const std::string help = cat("trainer ", path_of(app), app.get_parent() == nullptr ? "" : " ", "--help");
    const std::string& hint = error.hint();
    throw UsageError(error.message(), error.place(),
                     hint.empty() ? help + " shows the usage" : cat(hint, " (", help, " shows the usage)"));
  }
}

Arguments help_of(const CommandInfo& command) {
  Arguments out;
  out.command = Command::help;
  out.text = help_page(command);
  return out;
}

Arguments Parser::take(std::span<const std::string> words) {
  if (words.empty()) return out_;
  const CommandInfo program = describe();
  if (words.front() == "help") return help_of(find_command(words.subspan(1), program));
  const SplitWords split = split_values(words, program);
  std::vector<std::string> reversed(split.words.rbegin(), split.words.rend());
  try {
    app_.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return help_of(describe_command(innermost(app_)));
  } catch (const CLI::ParseError& error) {
    throw translated(error);
  }
  const CLI::App& selected = innermost(app_);
  check_build(selected, describe_build().left_out);
  check_values(app_);
  check_settings(out_.overrides);
  if (&selected == &app_) check_file();
  check_words(app_);
  if (!split.misuse.empty()) throw UsageError(split.misuse);
  check_order(selected);
  out_.command = commands_.at(&selected);
  if (version_) {
    out_.command = Command::version;
    return out_;
  }
  if (out_.command == Command::help) {
    throw UsageError("generate needs to know what", {},
                     "trainer generate sum --out DIR or trainer generate images --out DIR");
  }
  if (out_.command == Command::completion && selected.count("SHELL") == 0) {
    throw UsageError("completion needs to know for which shell", {}, "trainer completion bash");
  }
  const auto [first, last] = readers_.equal_range(&selected);
  std::for_each(first, last, [](const auto& reader) { reader.second(); });
  // As other programs have it.
  const bool writes_file = out_.command == Command::input || out_.command == Command::predict;
  if (writes_file && out_.out == "-") out_.out.clear();
  check_explain(out_, selected);
  read_config(selected);
  read_model(selected);
  return out_;
}

// Throws for a first word that is neither a subcommand nor looks like a file.
void Parser::check_file() const {
  const bool is_file = file_.find_first_of("./") != std::string::npos || ::access(file_.c_str(), F_OK) == 0;
  if (file_.empty() || is_file) return;
  const std::vector<std::string> known = known_words(app_, false);
  // A word behind a misspelt option is rather its value.
  if (nearest(file_, known).empty()) check_words(app_);
  throw unknown_subcommand(file_, known);
}

void Parser::read_config(const CLI::App& app) {
  if (app.get_option_no_throw("--config") == nullptr) {
    const bool generates = out_.command == Command::generate_sum || out_.command == Command::generate_images;
    if (generates && out_.out.empty()) {
      const std::string line = cat("trainer ", path_of(app), " --out data/", app.get_name());
      throw UsageError(cat(path_of(app), " needs --out DIR"), {}, line);
    }
    return;
  }
  if (!file_.empty() && !out_.config.empty()) {
    throw UsageError(cat("unexpected argument ", quote(file_)), {}, "the configuration is given by --config already");
  }
  if (out_.config.empty()) out_.config = file_;
  const std::string name = &app == &app_ ? "trainer" : cat("trainer ", app.get_name());
  if (out_.config.empty()) throw UsageError("no configuration is given", {}, cat(name, " --config FILE"));
}

void Parser::read_model(const CLI::App& app) {
  if (app.get_option_no_throw("--label") != nullptr) {
    const std::string usage = "trainer init DATA.csv --label COLUMN";
    if (out_.data.empty()) throw UsageError("no data are given", {}, usage);
    if (out_.label.empty()) throw UsageError("init needs to know which column is to be predicted", {}, usage);
  }
  if (app.get_option_no_throw("--model") == nullptr) return;
  const std::string usage = cat("trainer ", app.get_name(), " --model FILE --data GLOB");
  if (out_.model.empty()) throw UsageError("no model is given", {}, usage);
  out_.data.insert(out_.data.end(), more_data_.begin(), more_data_.end());
  if (out_.data.empty() && !out_.held_out) throw UsageError("no data are given", {}, usage);
}

}  // namespace

Arguments parse_arguments(std::span<const std::string> words) { return Parser().parse(words); }

CommandInfo describe_commands() { return Parser().describe(); }

}  // namespace millrace::cli
