#include "millrace/trainer/cli/arguments.h"

#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <map>

#include "millrace/core/text.h"
#include "millrace/trainer/cli/help.h"
#include "millrace/trainer/cli/usage_error.h"

namespace millrace::cli {

namespace {

// The command line as CLI11 sees it. Every value is a text at first, so that the messages are ours.
class Parser {
 public:
  Parser();
  Arguments parse(std::span<const std::string> words);

 private:
  CLI::App& add_command(CLI::App& parent, Command command, const std::string& name);
  void add_set(CLI::App& app);
  void add_config(CLI::App& app);
  void add_training(CLI::App& app);
  void add_input();
  void add_model(CLI::App& app);
  void add_evaluate();
  void add_predict();
  void add_generate();
  void text(CLI::App& app, const std::string& name, std::string& value, const char* type, const char* doc);
  void number(CLI::App& app, const std::string& name, const char* doc);

  void check_file() const;
  void check_words(const CLI::App& app) const;
  void check_order(const CLI::App& selected) const;
  void check_explain() const;
  void read_numbers(const CLI::App& app);
  void read_config(const CLI::App& app);
  void read_formats();
  void check_model(const CLI::App& app) const;
  void check_overrides() const;

  CLI::App app_{"", "trainer"};
  Arguments out_;
  std::string file_;  // the configuration as a positional argument
  std::string format_, task_;
  bool version_ = false;
  std::map<const CLI::App*, Command> commands_;
  std::map<std::string, std::string> numbers_;
};

Parser::Parser() {
  set_help_format(app_);
  app_.set_help_flag("-h,--help", "print this help");
  app_.allow_extras();
  app_.require_subcommand(0, 1);
  commands_[&app_] = Command::train;
  add_training(app_);
  app_.add_flag("-V,--version", version_, "print version, compiler, CUDA, processor and libraries");
  add_training(add_command(app_, Command::train, "train"));
  CLI::App& check = add_command(app_, Command::check, "check");
  add_config(check);
  check.add_flag("--print", out_.print, "print the configuration with every default");
  check.add_flag("--json", out_.json, "print the report as one line of JSON");
  add_input();
  add_evaluate();
  add_predict();
  add_generate();
  add_command(app_, Command::ops, "ops").add_option("NAME", out_.name, "only this op");
  add_command(app_, Command::layers, "layers")
      .add_option("NAME", out_.name, "only this layer, loss, metric, optimizer or schedule");
}

CLI::App& Parser::add_command(CLI::App& parent, Command command, const std::string& name) {
  CLI::App& app = *parent.add_subcommand(name);
  app.allow_extras();
  commands_[&app] = command;
  return app;
}

void Parser::text(CLI::App& app, const std::string& name, std::string& value, const char* type, const char* doc) {
  app.add_option(name, value, doc)->type_name(type)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void Parser::number(CLI::App& app, const std::string& name, const char* doc) {
  text(app, "--" + name, numbers_[name], "N", doc);
}

void Parser::add_config(CLI::App& app) {
  app.add_option("FILE", file_, "the configuration, instead of --config");
  text(app, "--config", out_.config, "FILE", "the configuration, a YAML file");
  add_set(app);
}

void Parser::add_set(CLI::App& app) {
  app.add_option("--set", out_.overrides, "set a key of the configuration; may be repeated")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void Parser::add_training(CLI::App& app) {
  add_config(app);
  text(app, "--save", out_.save, "FILE", "keep the trained model in FILE, whatever the configuration says");
  app.add_flag("--json", out_.json, "print events as lines of JSON on standard output");
  app.add_flag("-q,--quiet", out_.quiet, "no progress and no log lines");
}

void Parser::add_input() {
  CLI::App& app = add_command(app_, Command::input, "input");
  add_config(app);
  number(app, "batches", "stop after N batches");
  text(app, "--format", format_, "FORMAT", "jsonl (the default), csv or none");
  text(app, "--out", out_.out, "FILE", "write the batches to FILE instead of standard output");
  app.add_flag("--json", out_.json, "end with exact counts as a line of JSON on standard output");
  number(app, "explain", "print file and line of every row of step N (from 1), nothing else");
}

void Parser::add_model(CLI::App& app) {
  text(app, "--model", out_.model, "FILE", "the model, as a training saved it");
  app.add_option("--data", out_.data, "the files to read, a path or a pattern; may be repeated")
      ->type_name("GLOB")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_set(app);
}

void Parser::add_evaluate() {
  CLI::App& app = add_command(app_, Command::evaluate, "evaluate");
  add_model(app);
  app.add_flag("--json", out_.json, "print the result as one line of JSON");
  app.add_flag("-q,--quiet", out_.quiet, "no warnings");
}

void Parser::add_predict() {
  CLI::App& app = add_command(app_, Command::predict, "predict");
  add_model(app);
  text(app, "--out", out_.out, "FILE", "write to FILE, which appears whole or not at all, instead of standard output");
  text(app, "--format", format_, "FORMAT", "csv (the default) or jsonl");
  app.add_flag("--raw", out_.raw, "the model's outputs as they are, no classes and probabilities");
}

void Parser::add_generate() {
  CLI::App& generate = add_command(app_, Command::help, "generate");
  generate.require_subcommand(0, 1);
  CLI::App& sum = add_command(generate, Command::generate_sum, "sum");
  text(sum, "--out", out_.out, "DIR", "the folder for the files; made when it is not there");
  number(sum, "files", "how many files; 20 by default");
  number(sum, "rows", "rows of each file; 100 by default");
  number(sum, "features", "numbers of each row; 1024 by default");
  number(sum, "seed", "other seeds give other numbers; 1 by default");
  sum.add_flag("--force", out_.force, "replace files that are there already");
}

const CLI::App& innermost(const CLI::App& app) {
  const auto selected = app.get_subcommands();
  return selected.empty() ? app : innermost(*selected.front());
}

// The message of CLI11 without its capitals: only values that are missing or not wanted remain for it to find.
UsageError translated(const CLI::ParseError& error) {
  const std::string what = error.what();
  if (const size_t colon = what.find(": 1 required"); colon != std::string::npos) {
    return UsageError(cat(what.substr(0, colon), " needs a value"));
  }
  return UsageError(what);
}

Arguments Parser::parse(std::span<const std::string> words) {
  if (words.empty()) return out_;
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  try {
    app_.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    out_.command = Command::help;
    out_.text = app_.help();
    return out_;
  } catch (const CLI::ParseError& error) {
    throw translated(error);
  }
  const CLI::App& selected = innermost(app_);
  if (&selected == &app_) check_file();
  check_words(app_);
  check_order(selected);
  out_.command = commands_.at(&selected);
  if (version_) {
    out_.command = Command::version;
    return out_;
  }
  if (out_.command == Command::help) {
    throw UsageError("generate needs to know what", {}, "trainer generate sum --out DIR");
  }
  read_numbers(selected);
  check_explain();
  read_config(selected);
  check_model(selected);
  check_overrides();
  read_formats();
  return out_;
}

void Parser::read_formats() {
  if (format_.empty()) return;
  const bool predicts = out_.command == Command::predict;
  try {
    const Spec format = Spec::of(format_);
    if (predicts) {
      out_.prediction_format = OptionType<PredictionFormat>::read(format);
    } else {
      out_.format = OptionType<BatchFormat>::read(format);
    }
  } catch (const ConfigError&) {
    throw UsageError(cat("--format: unknown format ", quote(format_)), {},
                     predicts ? "csv or jsonl" : "jsonl, csv or none");
  }
}

// Names of the options and subcommands that fit here, for hints.
std::vector<std::string> known_words(const CLI::App& app, bool flags) {
  std::vector<std::string> out;
  if (flags) {
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
    }
  } else {
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
      out.push_back(sub->get_name());
  }
  return out;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known, std::string otherwise) {
  const std::string near = nearest(word, known);
  return near.empty() ? std::move(otherwise) : cat("did you mean ", near, "?");
}

std::string help_command(const CLI::App& app) {
  return app.get_parent() == nullptr ? "trainer --help" : cat("trainer ", app.get_name(), " --help");
}

// Throws for a first word that is neither a subcommand nor looks like a file.
void Parser::check_file() const {
  const bool is_file = file_.find_first_of("./") != std::string::npos || ::access(file_.c_str(), F_OK) == 0;
  if (file_.empty() || is_file) return;
  const std::vector<std::string> known = known_words(app_, false);
  throw UsageError(cat("unknown subcommand ", quote(file_)), {}, suggestion(file_, known, cat("known: ", join(known))));
}

// Throws where --explain stands beside options that it leaves no meaning.
void Parser::check_explain() const {
  if (!out_.explain) return;
  const bool batches = out_.batches || !format_.empty() || !out_.out.empty();
  if (batches) throw UsageError("--explain prints no batches", {}, "leave out --batches, --format and --out");
}

// Throws for words that no option, subcommand or argument took, and for options given twice.
void Parser::check_words(const CLI::App& app) const {
  for (const std::string& word : app.remaining()) {
    if (word.size() > 1 && word.front() == '-') {
      const std::string flag = word.substr(0, word.find('='));
      throw UsageError(cat("unknown option ", flag), {},
                       suggestion(flag, known_words(app, true), cat(help_command(app), " lists the options")));
    }
    throw UsageError(cat("unexpected argument ", quote(word)), {},
                     suggestion(word, known_words(app, false), help_command(app) + " shows the usage"));
  }
  for (const CLI::Option* option : app.get_options()) {
    const bool may_repeat = option->get_single_name() == "set" || option->get_single_name() == "data";
    if (option->get_type_size() != 0 && option->count() > 1 && !may_repeat) {
      throw UsageError(cat(option->get_name(), " is given twice"));
    }
  }
  for (const CLI::App* selected : app.get_subcommands()) check_words(*selected);
}

// Throws when options stand before the subcommand that they are meant for.
void Parser::check_order(const CLI::App& selected) const {
  for (const CLI::App* app = selected.get_parent(); app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      if (option->count() == 0) continue;
      throw UsageError(cat(option->get_name(), " stands before ", selected.get_name(), ", where it means nothing"), {},
                       cat("put it behind: trainer ", selected.get_name(), " ", option->get_name(), " ..."));
    }
  }
}

int64_t whole_number(const std::string& name, const std::string& text, int64_t least) {
  int64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size() || value < least) {
    throw UsageError(cat("--", name, ": expected a whole number from ", least, ", got ", quote(text)));
  }
  return value;
}

void Parser::read_numbers(const CLI::App& app) {
  const auto given = [&](const std::string& name) {
    const CLI::Option* option = app.get_option_no_throw("--" + name);
    return option != nullptr && option->count() > 0;
  };
  const auto read = [&](const std::string& name, auto& value, int64_t least) {
    if (given(name)) value = whole_number(name, numbers_[name], least);
  };
  read("batches", out_.batches, 0);
  read("explain", out_.explain, 1);
  read("files", out_.files, 1);
  read("rows", out_.rows, 1);
  read("features", out_.features, 1);
  read("seed", out_.seed, 0);
}

void Parser::read_config(const CLI::App& app) {
  if (app.get_option_no_throw("--config") == nullptr) {
    if (out_.command == Command::generate_sum && out_.out.empty()) {
      throw UsageError("generate sum needs --out DIR", {}, "trainer generate sum --out data/sum");
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

void Parser::check_model(const CLI::App& app) const {
  if (app.get_option_no_throw("--model") == nullptr) return;
  const std::string usage = cat("trainer ", app.get_name(), " --model FILE --data GLOB");
  if (out_.model.empty()) throw UsageError("no model is given", {}, usage);
  if (out_.data.empty()) throw UsageError("no data are given", {}, usage);
}

void Parser::check_overrides() const {
  for (const std::string& setting : out_.overrides) {
    if (setting.find('=') == std::string::npos || setting.front() == '=') {
      throw UsageError(cat("--set ", quote(setting), ": expected PATH=VALUE"), {}, "for example --set train.steps=5");
    }
  }
}

}  // namespace

Arguments parse_arguments(std::span<const std::string> words) { return Parser().parse(words); }

}  // namespace millrace::cli
