#include "millrace/cli/init/init_text.h"

#include <algorithm>
#include <set>
#include <utility>

#include "millrace/cli/init/value_text.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"

namespace millrace::cli {

namespace {

constexpr size_t kMostLeftOut = 20;  // columns that the comments name

// A list, or the item itself if there is only one.
Spec one_or_list(std::vector<Spec> items) { return items.size() == 1 ? items[0] : Spec::list(std::move(items), {}); }

Spec texts(const std::vector<std::string>& values) { return OptionType<std::vector<std::string>>::write(values); }

class ConfigWriter {
 public:
  ConfigWriter(const ConfigTextArgs& args, bool by_number)
      : look_(args.look), plan_(args.plan), args_(args), by_number_(by_number || !args.look.form.header) {}

  void run() {
    set("seed", Spec::of(1), "of first weights and order");
    add_reading();
    add_rows();
    add_ops();
    add_batches();
    set("input", std::move(ops_));
    add_model();
    add_training();
  }
  // The configuration must be readable from this text and from a model file, which keeps it without comments and in
  // another form. This is the size of the larger text.
  size_t bytes() const { return std::max(text().size(), to_yaml(config_).size()); }
  std::string text() const { return head() + to_yaml(config_, comments_); }

 private:
  void set(const std::string& key, Spec value, const std::string& comment = {}) {
    config_.set(key, std::move(value));
    if (!comment.empty()) comments_[key] = comment;
  }
  void add_op(const std::string& kind, Spec options, const std::string& comment = {}) {
    last_op_ = cat("input[", ops_.size(), "].", kind);
    ops_.append(Spec::map().set(kind, std::move(options)));
    if (!comment.empty()) comments_[last_op_] = comment;
  }
  // Puts a comment on an option of the last op.
  void note(const std::string& path, const std::string& comment) { comments_[cat(last_op_, '.', path)] = comment; }

  std::string head() const {
    const LabelChoice& label = plan_.label;
    const std::string files =
        look_.paths.size() == 1 ? comment_text(look_.paths.front()) : count_of(std::ssize(look_.paths), "file");
    std::string rows = count_of(static_cast<int64_t>(look_.rows), "row");
    if (!look_.whole) rows = cat("the first ", rows, ", a part of the data");
    std::string out =
        cat("# Made by `trainer init` of ", files, ": it looked at ", rows, ".\n# The label is ",
            comment_text(look_.name_of(look_.label)), ": ",
            label.classes ? cat("one of ", label.texts.size(), " classes") : "an amount (regression)", ".\n");
    if (!label.notice.empty()) out += cat("# Of its classes ", comment_text(label.notice, 400), ".\n");
    for (size_t i = 0; i < std::min(plan_.left_out.size(), kMostLeftOut); ++i) {
      const ColumnRemark& one = plan_.left_out[i];
      out += cat("# Left out: ", comment_text(look_.name_of(one.column), 60), " (", comment_text(one.text), ")\n");
    }
    if (plan_.left_out.size() > kMostLeftOut) {
      out += cat("# Left out, too: ", plan_.left_out.size() - kMostLeftOut, " other columns\n");
    }
    return out + cat("# Train with it: ", comment_text(args_.command), '\n');
  }

  void add_reading() {
    add_op("filename_queue",
           Spec::map().set("files", one_or_list(texts(look_.patterns).items())).set("epochs", plan_.epochs),
           "how often to read them");
    const CsvForm& form = look_.form;
    if (form.parquet) return;
    add_op("csv_reader", reader_options(form),
           form.header      ? "the first line names the columns"
           : form.row_names ? "the header has no name for the first column: columns count from 0"
                            : "columns count from 0");
  }

  // A column as an item of the option `columns`.
  Spec column(size_t index) const {
    return !by_number_ && look_.has_own_name(index) ? Spec::of(look_.form.names[index]) : Spec::of(index);
  }

  Spec columns(const std::vector<size_t>& indices) const {
    std::vector<Spec> out;
    for (size_t i = 0; i < indices.size();) {
      size_t end = i + 1;
      while (by_number_ && end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
      out.push_back(end - i > 1 ? Spec::scalar(cat(indices[i], '-', indices[end - 1]), false, {}) : column(indices[i]));
      i = end;
    }
    return one_or_list(std::move(out));
  }

  // For columns that are selected by number: the names that the header must have for them.
  Spec names() const {
    std::set<size_t> read = {look_.label};
    for (const PlannedField& field : plan_.fields) read.insert(field.columns.begin(), field.columns.end());
    Spec out = Spec::map();
    for (const size_t index : read) {
      if (look_.has_name(index) && !look_.has_own_name(index)) out.set(cat(index), look_.form.names[index]);
    }
    return out;
  }

  // The options of a field: its columns, how they are read, and which texts mean a missing value.
  Spec decoded(const PlannedField& field) const {
    Spec out = Spec::map().set("columns", columns(field.columns));
    for (const auto& [key, value] : field.ops.front().options.entries()) out.set(key, value);
    std::vector<std::string> marks = usual_missing_marks();
    const auto add = [&marks](const std::vector<std::string>& more) {
      for (const std::string& mark : more) {
        if (!contains(marks, mark)) marks.push_back(mark);
      }
    };
    const bool numbers = field.found.texts.empty();
    if (numbers) add({"None", "none", "-", "--", " "});
    if (numbers && field.found.label) add({"inf", "-inf"});
    add(field.marks);
    if (marks.size() > usual_missing_marks().size()) out.set("missing", texts(marks));
    return out;
  }

  void add_rows() {
    Spec options = Spec::map().set("missing", texts(usual_missing_marks()));
    if (plan_.max_bad_rows > 0) options.set("on_bad_row", "skip").set("max_bad_rows", plan_.max_bad_rows);
    const bool parquet = look_.form.parquet;
    const Spec named = by_number_ || parquet ? Spec::map() : names();
    if (named.size() > 0) options.set("names", named);
    Spec fields = Spec::map();
    for (const PlannedField& field : plan_.fields) fields.set(field.read_as, decoded(field));
    fields.set(plan_.label_field.read_as, decoded(plan_.label_field));
    options.set("fields", std::move(fields));
    add_op(parquet ? "parquet_reader" : plan_.label_field.ops.front().kind, std::move(options),
           look_.form.header && by_number_
               ? "by number, as names are too long: other files need the same columns at the same places"
               : "");
    note("missing", cat("these texts and ", parquet ? "nulls" : "the empty one", " mean a missing value"));
    note("on_bad_row", cat(look_.bad_rows, " were seen, which have another number of fields"));
    note("max_bad_rows", "in all epochs together; more are an error");
    note("names", "other files must have these columns at the same places");
    for (const PlannedField& field : plan_.fields) {
      note("fields." + field.read_as, count_of(std::ssize(field.columns), "column"));
      if (field.found.texts.empty()) note(cat("fields.", field.read_as, ".default"), "missing values become the mean");
    }
    note("fields." + plan_.label_field.read_as, "the label; rows without it are filtered out");
  }

  void add_ops() {
    const PlannedField& label = plan_.label_field;
    Spec with = Spec::map().set("field", label.read_as);
    if (!label.found.texts.empty()) {
      with.set("op", "!=").set("value", "");
    } else if (label.found.has(FoundField::Holds::codes)) {
      with.set("op", ">=").set("value", 0);
    } else {
      with.set("op", ">").set("value", Spec::scalar("-.inf", false, {}));
    }
    add_op("filter", std::move(with), "no rows without a label");
    if (plan_.held_out > 0) {
      add_op("hold_out", Spec::map().set("share", plan_.held_out), "rows to judge the model by; see validation");
    }
    for (const PlannedField& field : plan_.fields) add_ops_of(field);
    add_ops_of(label);
  }

  void add_ops_of(const PlannedField& field) {
    for (size_t i = 1; i < field.ops.size(); ++i) {
      const ChosenOp& op = field.ops[i];
      add_op(op.kind, op.options, cat(op.doc, look_.whole ? "" : "; of the rows that init looked at"));
    }
  }

  void add_batches() {
    const int64_t least = std::max<int64_t>(plan_.window - plan_.batch_size, 0);
    Spec options = Spec::map().set("batch_size", plan_.batch_size).set("capacity", least + 4 * plan_.batch_size);
    options.set("min_after_dequeue", least).set("threads", 4).set("allow_smaller_final_batch", true);
    add_op("shuffle_batch", std::move(options), "each row of a batch is drawn from a window of rows");
    note("threads", "tasks that decode at once, if there are as many threads");
  }

  void add_model() {
    std::vector<Spec> inputs;
    for (const PlannedField& field : plan_.fields) inputs.push_back(Spec::of(field.found.field));
    Spec layers = Spec::list();
    Spec from = inputs.size() == 1 ? inputs[0] : Spec();
    if (from.is_null()) {
      layers.append(Spec::map().set("concat", Spec::map().set("from", Spec::list(std::move(inputs), {}))));
    }
    const auto dense = [&](const std::string& name, int64_t units) {
      Spec out = Spec::map().set("name", name);
      if (!from.is_null()) out.set("from", std::exchange(from, Spec()));
      return out.set("units", units);
    };
    for (size_t i = 0; i < plan_.hidden.size(); ++i) {
      Spec hidden = dense(cat("hidden_", i + 1), plan_.hidden[i]);
      layers.append(Spec::map().set("dense", hidden.set("activation", "relu")));
    }
    layers.append(Spec::map().set("dense", dense("output", plan_.outputs)));
    const LabelChoice& label = plan_.label;
    const char* outputs = label.classes ? "one for each class" : "the label, normalised";
    comments_[cat("model[", layers.size() - 1, "].dense")] =
        label.classes && plan_.outputs == 1 ? cat("above 0: ", comment_text(label.texts[1], 40)) : outputs;
    set("model", std::move(layers), cat("reads ", count_of(plan_.width, "number")));
  }

  void add_training() {
    set("loss", Spec::of(plan_.loss));
    set("metrics", texts(plan_.metrics));
    Spec adamw = Spec::map().set("learning_rate", plan_.learning_rate).set("weight_decay", 0.01);
    set("optimizer", Spec::map().set("adamw", std::move(adamw)));
    const int64_t steps = plan_.steps_per_epoch * plan_.epochs;
    set("train", Spec::map().set("log_every", std::max<int64_t>(1, steps / 20)).set("report_over", "window"),
        "a report every so many steps, over all rows since the last");
    if (plan_.held_out > 0) {
      set("validation",
          Spec::map()
              .set("held_out", true)
              .set("every", plan_.validate_every)
              .set("keep_best", true)
              .set("patience", plan_.patience),
          "by the rows that were held out");
      comments_["validation.every"] = "steps";
      comments_["validation.keep_best"] = "the model with the least loss is kept";
      comments_["validation.patience"] = "so many validations without improvement end the training";
    }
    set("save", Spec::of(args_.save), "for trainer predict and trainer evaluate");
  }

  const DataLook& look_;
  const InitPlan& plan_;
  const ConfigTextArgs& args_;
  const bool by_number_;
  Spec config_ = Spec::map(), ops_ = Spec::list();
  std::string last_op_;
  YamlComments comments_;
};

}  // namespace

std::string comment_text(std::string_view text, size_t limit) {
  std::string plain = escape_controls(text);
  std::string_view left = plain;
  if (left.size() <= limit) return plain;
  size_t end = 0;
  while (end < limit) end += std::max<size_t>(utf8_length(left.substr(end)), 1);
  return cat(left.substr(0, end), "..");
}

ConfigText config_text(const ConfigTextArgs& args) {
  size_t bytes = 0;
  for (const bool by_number : {false, true}) {
    ConfigWriter writer(args, by_number);
    writer.run();
    bytes = writer.bytes();
    if (bytes <= kMaxYamlBytes) return {.text = writer.text(), .by_number = by_number};
    if (!args.look.form.header) break;
  }
  throw DataError(cat("the configuration for ", args.look.columns.size(), " columns would take ", bytes,
                      " bytes, at most ", kMaxYamlBytes, " are allowed"),
                  {}, "leave columns out with --ignore");
}

}  // namespace millrace::cli
