#include "millrace/cli/rows/prediction_text.h"

#include <algorithm>
#include <set>
#include <utility>

#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/rows/csv_text.h"
#include "millrace/cli/text/json_text.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/core/text.h"

namespace millrace::cli {

void check_threshold(const Answers& answers) {
  const PredictionKind kind = answers.kind();
  if (kind == PredictionKind::yes_or_no || kind == PredictionKind::each_yes_or_no) return;
  throw UsageError("--threshold is for models that say yes or no, which this one does not", {},
                   "a loss such as sigmoid_cross_entropy trains them");
}

PredictionText::PredictionText(PredictionTextArgs args)
    : args_(std::move(args)),
      classes_(args_.answers.choices() > 0),
      names_(!args_.answers.classes().empty()),
      each_(args_.answers.kind() == PredictionKind::each_yes_or_no),
      several_(args_.answers.outputs() != 1 || args_.answers.kind() == PredictionKind::one_of_many),
      columns_(own_columns()) {
  std::set<std::string> taken(columns_.begin(), columns_.end());
  taken.insert({"v", "row", "class", "name", "probability", "prediction", "error"});
  for (std::string& name : args_.kept) name = free_name(taken, std::move(name));
}

std::vector<std::string> PredictionText::own_columns() const {
  std::vector<std::string> out;
  // Names, or with numbers if there are several.
  const auto add = [&out](std::string_view name, int64_t count, bool numbered) {
    for (int64_t i = 0; i < count; ++i) out.push_back(numbered ? cat(name, '_', i) : std::string(name));
  };
  add("class", args_.answers.choices(), each_);
  if (names_) add("name", args_.answers.choices(), each_);
  add(classes_ ? "probability" : "prediction", args_.answers.outputs(), several_);
  return out;
}

std::string PredictionText::head() const {
  if (args_.format != "csv") return {};
  std::string out = "row";
  for (const std::string& name : args_.kept) append_csv_field(out += ',', name, {}, false);
  for (const std::string& name : columns_) out += ',' + name;
  return out + '\n';
}

void PredictionText::append(std::string& out, const PredictedRow& row) const {
  const Answer answer = row.error.empty() ? args_.answers.answer(row.output) : Answer();
  args_.format == "csv" ? append_csv(out, row, answer) : append_json(out, row, answer);
}

void PredictionText::append_csv(std::string& out, const PredictedRow& row, const Answer& answer) const {
  append_csv_field(out, row.place, {}, true);
  for (const std::string_view text : row.kept) append_csv_field(out += ',', text, {}, false);
  if (!row.error.empty()) {
    out.append(columns_.size(), ',') += '\n';
    return;
  }
  for (const int64_t chosen : answer.classes) out += chosen >= 0 ? cat(',', chosen) : ",";
  for (size_t i = 0; names_ && i < answer.classes.size(); ++i) {
    out += ',';
    const std::string* const name = args_.answers.class_text(answer.classes[i]);
    if (name != nullptr) append_csv_field(out, *name, {}, false);
  }
  char buffer[40];
  for (const double value : answer.values) {
    out += ',';
    out += args_.answers.undoes() ? shortest_text(value, buffer) : shortest_text(static_cast<float>(value), buffer);
  }
  out += '\n';
}

void PredictionText::append_json(std::string& out, const PredictedRow& row, const Answer& answer) const {
  JsonText json;
  json.open('{').key("v").value(1).key("row");
  row.number ? json.value(*row.number) : json.value(row.place);
  for (size_t i = 0; i < row.kept.size(); ++i) json.key(args_.kept[i]).value(row.kept[i]);
  // One value, or a list.
  const auto add = [&](std::string_view key, bool list, size_t count, const auto& value) {
    json.key(key);
    if (!row.error.empty()) {
      json.null();
      return;
    }
    if (list) json.open('[');
    for (size_t i = 0; i < count; ++i) value(i);
    if (list) json.close(']');
  };
  std::vector<const std::string*> names;
  for (const int64_t chosen : answer.classes) names.push_back(args_.answers.class_text(chosen));
  if (classes_) {
    add("class", each_, answer.classes.size(),
        [&](size_t i) { answer.classes[i] >= 0 ? json.value(answer.classes[i]) : json.null(); });
  }
  if (std::ranges::any_of(names, [](const std::string* name) { return name != nullptr; })) {
    add("name", each_, names.size(), [&](size_t i) { names[i] != nullptr ? json.value(*names[i]) : json.null(); });
  }
  add(classes_ ? "probability" : "prediction", several_, answer.values.size(), [&](size_t i) {
    args_.answers.undoes() ? json.value(answer.values[i]) : json.value(static_cast<float>(answer.values[i]));
  });
  if (!row.error.empty()) json.key("error").value(row.error);
  out += json.line();
}

}  // namespace millrace::cli
