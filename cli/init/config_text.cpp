#include "millrace/cli/init/config_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "millrace/cli/init/column_numbers.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"

namespace millrace {

namespace {

constexpr size_t kWidth = 110;

const std::vector<std::string>& number_marks() {
  static const std::vector<std::string> kMarks = [] {
    std::vector<std::string> out = usual_missing_marks();
    for (const char* more : {"None", "none", "-", "--", " "}) out.emplace_back(more);
    return out;
  }();
  return kMarks;
}

std::string scalar(const std::string& text) {
  std::string out = to_yaml(Spec::scalar(text, true, {}));
  out.pop_back();
  return out;
}

// As many digits as the type of the values has, and no more.
std::string number(double value, bool wide) {
  std::array<char, 40> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::general, wide ? 17 : 7);
  const std::string rounded(buffer.data(), end.ptr);
  double shown = value;
  std::from_chars(rounded.data(), rounded.data() + rounded.size(), shown);
  return cat(shown);
}

std::vector<std::string> scalars(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts) out.push_back(scalar(text));
  return out;
}

std::vector<std::string> numbers(const std::vector<double>& values, bool wide) {
  std::vector<std::string> out;
  for (const double value : values) out.push_back(number(value, wide));
  return out;
}

// Lines of YAML.
class Writer {
 public:
  std::string text;

  // A comment that does not fit behind the words stands above them.
  void line(const std::string& words, const std::string& comment = {}) {
    const size_t last = words.size() - std::min(words.size(), words.rfind('\n') + 1);
    if (!comment.empty() && (last + comment.size() + 4 > kWidth || words.find('\n') != words.npos)) {
      text += cat(words.substr(0, words.find_first_not_of(' ')), "# ", comment, '\n', words, '\n');
      return;
    }
    text += words;
    const size_t used = words.size() - std::min(words.size(), words.rfind('\n') + 1);
    if (!comment.empty()) text.append(used < 46 ? 48 - used : 2, ' ') += "# " + comment;
    text += '\n';
  }

  // "head [a, b, c]tail", on as many lines as it takes; one item stands alone where `alone`.
  void list(const std::string& head, const std::vector<std::string>& items, const std::string& comment = {},
            bool alone = false, const std::string& tail = {}) {
    if (alone && items.size() == 1) return line(cat(head, items.front(), tail), comment);
    const std::string indent(head.find_first_not_of(' ') + 2, ' ');
    std::string out = head + '[', rest;
    size_t used = out.size();
    for (size_t i = 0; i < items.size(); ++i) {
      const std::string item = items[i] + (i + 1 < items.size() ? "," : cat(']', tail));
      if (used + item.size() + 1 > kWidth) {
        out += '\n' + indent;
        used = indent.size();
      } else if (i > 0) {
        out += ' ';
        ++used;
      }
      out += item;
      used += item.size();
    }
    line(out, comment);
  }
};

class ConfigWriter {
 public:
  ConfigWriter(const ConfigTextArgs& args, bool by_number)
      : look_(args.look), plan_(args.plan), args_(args), by_number_(by_number || !args.look.form.header) {}

  std::string run() {
    write_head();
    write_reading();
    write_decoding();
    write_transforms();
    write_batches();
    write_model();
    write_training();
    return std::move(out_.text);
  }

 private:
  void write_head() {
    const std::string files =
        look_.paths.size() == 1 ? comment_text(look_.paths.front()) : count_of(std::ssize(look_.paths), "file");
    std::string rows = count_of(static_cast<int64_t>(look_.rows), "row");
    if (!look_.whole) rows = cat("the first ", rows, ", a part of the data");
    out_.line(cat("# Made by `trainer init` of ", files, ": it looked at ", rows, "."));
    out_.line(cat("# The label is ", comment_text(look_.name_of(look_.label)), ": ", task_text(), "."));
    if (!plan_.label.notice.empty()) out_.line(cat("# Of its classes ", comment_text(plan_.label.notice, 400), "."));
    for (size_t i = 0; i < std::min<size_t>(plan_.left_out.size(), 20); ++i) {
      const ColumnRemark& one = plan_.left_out[i];
      out_.line(cat("# Left out: ", comment_text(look_.name_of(one.column), 60), " (", comment_text(one.text), ")"));
    }
    if (plan_.left_out.size() > 20) out_.line(cat("# Left out, too: ", plan_.left_out.size() - 20, " other columns"));
    out_.line(cat("# Train with it: ", comment_text(args_.command)));
    out_.line("seed: 1", "of first weights and order");
  }

  std::string task_text() const {
    if (plan_.label.task == InitTask::regression) return "an amount (regression)";
    return cat("one of ", plan_.label.texts.size(), " classes");
  }

  void write_reading() {
    out_.line("input:");
    out_.list("  - filename_queue: {files: ", scalars(look_.patterns), "how often to read them", true,
              cat(", epochs: ", plan_.epochs, '}'));
    const CsvForm& form = look_.form;
    std::string reader = cat("header: ", form.header ? "true" : "false");
    if (form.delimiter != ',') reader += cat(", delimiter: ", scalar(std::string(1, form.delimiter)));
    if (!form.quotes) reader += ", quote: none";
    if (form.skip_lines > 0) reader += cat(", skip_lines: ", form.skip_lines);
    out_.line(cat("  - csv_reader: {", reader, '}'),
              form.header      ? "the first line names the columns"
              : form.row_names ? "the header has no name for the first column: columns count from 0"
                               : "columns count from 0");
  }

  // A column as `columns` names it.
  std::string column(size_t index) const {
    return !by_number_ && look_.has_own_name(index) ? scalar(look_.form.names[index]) : cat(index);
  }

  // What the header has to call columns that are selected by number.
  void write_names() {
    if (by_number_) return;
    std::set<size_t> read = {look_.label};
    for (const NumberGroup& group : plan_.numbers) read.insert(group.columns.begin(), group.columns.end());
    for (const CategoryGroup& group : plan_.categories) read.insert(group.columns.begin(), group.columns.end());
    std::erase_if(read, [&](size_t index) { return !look_.has_name(index) || look_.has_own_name(index); });
    if (read.empty()) return;
    out_.line("      names:", "other files must have these columns at the same places");
    for (const size_t index : read) out_.line(cat("        ", index, ": ", scalar(look_.form.names[index])));
  }

  std::vector<std::string> columns(const std::vector<size_t>& indices) const {
    std::vector<std::string> out;
    for (size_t i = 0; i < indices.size();) {
      size_t end = i + 1;
      while (by_number_ && end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
      out.push_back(end - i > 1 ? cat(indices[i], '-', indices[end - 1]) : column(indices[i]));
      i = end;
    }
    return out;
  }

  void write_decoding() {
    out_.line("  - decode_csv:", look_.form.header && by_number_
                                     ? "by number, names are too long: other files need the same columns at the same "
                                       "places"
                                     : "");
    out_.list("      missing: ", scalars(usual_missing_marks()), "these, and nothing, stand for no value");
    if (plan_.max_bad_rows > 0) {
      out_.line("      on_bad_row: skip", cat(look_.bad_rows, " were seen, which have other numbers of fields"));
      out_.line(cat("      max_bad_rows: ", plan_.max_bad_rows), "in all epochs together; more are an error");
    }
    write_names();
    out_.line("      fields:");
    for (const NumberGroup& group : plan_.numbers) {
      out_.line(cat("        ", group.field, ':'), count_of(std::ssize(group.columns), "column"));
      out_.list("          columns: ", columns(group.columns));
      if (group.wide) out_.line("          type: float64", "these need more digits than float32 has");
      std::vector<std::string> marks = number_marks();
      for (const std::string& mark : group.marks) {
        if (std::find(marks.begin(), marks.end(), mark) == marks.end()) marks.push_back(mark);
      }
      out_.list("          missing: ", scalars(marks));
      out_.list("          default: ", numbers(group.mean, group.wide), "what is missing becomes the mean");
    }
    for (const CategoryGroup& group : plan_.categories) {
      write_texts(group.field, columns(group.columns), group.marks);
    }
    write_label();
  }

  void write_texts(const std::string& field, const std::vector<std::string>& columns,
                   const std::vector<std::string>& more_marks, const std::string& comment = {}) {
    if (more_marks.empty()) {
      return out_.list(cat("        ", field, ": {type: string, default: \"\", columns: "), columns, comment, true,
                       "}");
    }
    std::vector<std::string> marks = usual_missing_marks();
    marks.insert(marks.end(), more_marks.begin(), more_marks.end());
    out_.line(cat("        ", field, ':'), comment);
    out_.list("          columns: ", columns, {}, true);
    out_.line("          type: string");
    out_.line("          default: \"\"");
    out_.list("          missing: ", scalars(marks));
  }

  bool is_codes() const { return plan_.label.task == InitTask::classes && plan_.label.codes; }

  void write_label() {
    const LabelChoice& label = plan_.label;
    const std::string name = column(look_.label), what = "the label; rows without it are filtered";
    if (label.task == InitTask::classes && !label.codes) return write_texts("label_text", {name}, label.marks, what);
    std::vector<std::string> marks = number_marks();
    for (const char* more : {"inf", "-inf"}) marks.emplace_back(more);
    for (const std::string& mark : label.marks) {
      if (std::find(marks.begin(), marks.end(), mark) == marks.end()) marks.push_back(mark);
    }
    const std::string type = is_codes() ? "int32" : needs_float64(label.numbers) ? "float64" : "float32";
    out_.line("        label:", what);
    out_.line(cat("          columns: ", name));
    out_.line(cat("          type: ", type));
    out_.line(cat("          default: ", is_codes() ? "-1" : "nan"));
    out_.list("          missing: ", scalars(marks));
  }

  void write_transforms() {
    const LabelChoice& label = plan_.label;
    if (label.task == InitTask::regression) {
      out_.line("  - filter: {field: label, op: \">\", value: -.inf}", "no rows without a label");
    } else if (label.codes) {
      out_.line("  - filter: {field: label, op: \">=\", value: 0}", "no rows without a label");
    } else {
      out_.line("  - filter: {field: label_text, op: \"!=\", value: \"\"}", "no rows without a label");
    }
    if (plan_.held_out > 0) {
      out_.line(cat("  - hold_out: {share: ", plan_.held_out, '}'), "rows to judge the model by; see validation");
    }
    const std::string part = look_.whole ? "of all rows" : "of the rows that init looked at";
    for (const NumberGroup& group : plan_.numbers) {
      out_.line("  - normalize:", cat("(value - mean) / std, ", part));
      out_.line(cat("      fields: ", group.field));
      out_.list("      mean: ", numbers(group.mean, group.wide));
      out_.list("      std: ", numbers(group.spread, group.wide),
                "the deviation, at least a tenth of the largest |value - mean|");
    }
    for (const CategoryGroup& group : plan_.categories) {
      write_vocabulary(group.field, group.code, group.texts, "code", "other texts share one more code");
      out_.line(cat("  - one_hot: {field: ", group.code, ", classes: ", group.texts.size() + 1, ", as: ", group.one_hot,
                    '}'));
    }
    if (label.task == InitTask::regression) {
      const bool wide = needs_float64(label.numbers);
      out_.line(cat("  - normalize: {fields: label, mean: ", number(label.numbers.mean, wide),
                    ", std: ", number(label.numbers.deviation(), wide), '}'),
                "trainer predict undoes it");
    } else if (!label.codes) {
      write_vocabulary("label_text", "label", label.texts, "error", "the classes, from 0 on");
    }
  }

  void write_vocabulary(const std::string& field, const std::string& as, const std::vector<std::string>& texts,
                        const std::string& unknown, const std::string& comment) {
    out_.line("  - vocabulary:", comment);
    out_.line(cat("      field: ", field));
    out_.line(cat("      as: ", as));
    out_.list("      texts: ", scalars(texts));
    out_.line(cat("      unknown: ", unknown));
  }

  void write_batches() {
    const int64_t least = std::max<int64_t>(plan_.window - plan_.batch_size, 0);
    out_.line("  - shuffle_batch:", "each row of a batch is drawn from so many");
    out_.line(cat("      batch_size: ", plan_.batch_size));
    out_.line(cat("      capacity: ", least + 4 * plan_.batch_size));
    out_.line(cat("      min_after_dequeue: ", least));
    out_.line("      threads: 4", "tasks that decode at once, where there are as many threads");
    out_.line("      allow_smaller_final_batch: true");
  }

  void write_model() {
    std::vector<std::string> inputs;
    for (const NumberGroup& group : plan_.numbers) inputs.push_back(group.field);
    for (const CategoryGroup& group : plan_.categories) inputs.push_back(group.one_hot);
    out_.line("model:", cat("reads ", count_of(plan_.width, "number")));
    if (inputs.size() > 1) out_.list("  - concat: {from: ", inputs, {}, false, "}");
    for (size_t i = 0; i < plan_.hidden.size(); ++i) {
      const std::string from = i == 0 && inputs.size() == 1 ? cat("from: ", inputs.front(), ", ") : std::string();
      out_.line(cat("  - dense: {", from, "units: ", plan_.hidden[i], ", activation: relu}"));
    }
    const LabelChoice& label = plan_.label;
    std::string meaning = "the label, normalised";
    if (label.task == InitTask::classes) {
      meaning = plan_.outputs == 1 ? cat("above 0: ", comment_text(label.texts[1], 40)) : "one for each class";
    }
    out_.line(cat("  - dense: {units: ", plan_.outputs, '}'), meaning);
  }

  void write_training() {
    const bool regression = plan_.label.task == InitTask::regression;
    const bool binary = !regression && plan_.outputs == 1;
    out_.line(cat("loss: ", regression ? "mse" : binary ? "sigmoid_cross_entropy" : "softmax_cross_entropy"));
    out_.line(cat("metrics: ", regression ? "[r2, mae]" : binary ? "[accuracy, auc]" : "[accuracy]"));
    out_.line(cat("optimizer: {adamw: {learning_rate: ", plan_.learning_rate, ", weight_decay: 0.01}}"));
    const int64_t steps = plan_.steps_per_epoch * plan_.epochs;
    out_.line(cat("train: {log_every: ", std::max<int64_t>(1, steps / 20), ", report_over: window}"),
              "a report every so many steps, over all rows since the last");
    if (plan_.held_out > 0) {
      out_.line("validation:", "by the rows that were held out");
      out_.line("  held_out: true");
      out_.line(cat("  every: ", plan_.steps_per_epoch * std::max<int64_t>(1, plan_.epochs / 30)), "steps");
      out_.line("  keep_best: true", "the model of the least loss is kept");
      out_.line("  patience: 10", "validations without improvement end the training");
    }
    out_.line(cat("save: ", scalar(args_.save)), "for trainer predict and trainer evaluate");
  }

  const DataLook& look_;
  const InitPlan& plan_;
  const ConfigTextArgs& args_;
  const bool by_number_;
  Writer out_;
};

}  // namespace

std::string comment_text(std::string_view text, size_t limit) {
  const std::string plain = escape_controls(text);
  std::string_view left = plain;
  if (left.size() <= limit) return plain;
  size_t end = 0;
  while (end < limit) end += std::max<size_t>(utf8_length(left.substr(end)), 1);
  return cat(left.substr(0, end), "..");
}

ConfigText config_text(const ConfigTextArgs& args) {
  size_t bytes = 0;
  for (const bool by_number : {false, true}) {
    std::string out = ConfigWriter(args, by_number).run();
    // A model file keeps it in another form.
    bytes = out.size() > kMaxYamlBytes ? out.size() : std::max(out.size(), to_yaml(parse_yaml(out, {})).size());
    if (bytes <= kMaxYamlBytes) return {.text = std::move(out), .by_number = by_number};
    if (!args.look.form.header) break;
  }
  throw DataError(cat("the configuration for ", args.look.columns.size(), " columns would take ", bytes,
                      " bytes, at most ", kMaxYamlBytes, " are allowed"),
                  {}, "leave columns out with --ignore");
}

}  // namespace millrace
