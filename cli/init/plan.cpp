#include "millrace/cli/init/plan.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "millrace/cli/init/value_text.h"
#include "millrace/core/errors.h"
#include "millrace/core/free_names.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr int64_t kMostWidth = 65536;  // values of a row, as many as a model reads at most
constexpr size_t kMostPlanned = 256;   // fields; each has ops of its own
constexpr size_t kMostOps = 8;         // of a field
constexpr int64_t kWindowBytes = int64_t{128} << 20;
constexpr uint64_t kLeastRowsToDivide = 50;

// A name of letters, digits and _ that begins with a letter.
std::string plain_name(std::string_view text) {
  std::string out;
  for (const char c : lower_case(text.substr(0, 40))) {
    if ((c >= 'a' && c <= 'z') || is_digit(c)) {
      out += c;
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  if (out.ends_with('_')) out.pop_back();
  if (out.empty()) return "text";
  return is_digit(out[0]) ? cat("c", out) : out;
}

// Whether float32 would lose too much of these numbers before they are normalised.
bool needs_float64(const NumberSums& numbers) {
  const double most = std::max(std::abs(numbers.min), std::abs(numbers.max));
  return most > 1e30 || most < 1e-30 || most > 1e5 * numbers.deviation();
}

// The value with as many digits as its type has (float64 if it is `wide`, else float32).
Spec plain_number(double value, bool wide) { return Spec::of(rounded(value, wide ? 17 : 7)); }

// The divisor of numbers, after the mean was subtracted: their deviation, or more. If nearly all numbers are equal (a
// flag that is rarely set), the deviation is so small that one row would outweigh all others. Therefore the divisor is
// so large that no number in the data becomes more than 10.
double spread(const NumberSums& numbers) {
  return std::max(numbers.deviation(), std::max(numbers.max - numbers.mean, numbers.mean - numbers.min) / 10);
}

void add_note(std::string& notes, std::string_view note) { notes += cat(notes.empty() ? "" : "; ", note); }

// The kinds that suit the label, sorted by name.
template <class Base>
std::vector<std::string> suiting(const Registry<Base>& registry, FoundField label) {
  std::vector<std::string> out;
  for (const auto& [kind, entry] : registry.entries()) {
    if (entry.suit && entry.suit(label)) out.push_back(kind);
  }
  return out;
}

class Planner {
 public:
  explicit Planner(const InitPlanArgs& args) : args_(args), look_(args.look) {}

  InitPlan run() {
    find_wanted();
    plan_label();
    for (size_t column = 0; column < look_.columns.size(); ++column) {
      if (column != look_.label) add_column(column);
    }
    std::stable_partition(out_.fields.begin(), out_.fields.end(),
                          [](const PlannedField& field) { return field.found.texts.empty(); });
    finish_fields();
    if (out_.width == 0) throw nothing_to_learn_from();
    choose_sizes();
    return std::move(out_);
  }

 private:
  void find_wanted() {
    for (const std::string& name : args_.ignore) {
      const size_t column = find_column(look_.form, name, "--ignore");
      if (column == look_.label) throw ConfigError(cat("--ignore ", quote(name), ": this is the label"));
      ignored_.insert(column);
    }
    for (const std::string& name : args_.keep) {
      const size_t column = find_column(look_.form, name, "--keep");
      if (ignored_.contains(column)) throw ConfigError(cat("--keep ", quote(name), ": --ignore names it, too"));
      kept_.insert(column);
    }
  }

  void plan_label() {
    out_.label = choose_label(look_, args_.task);
    const LabelChoice& label = out_.label;
    PlannedField& field = out_.label_field;
    field.columns = {look_.label};
    field.marks = label.marks;
    field.found = {.about = "label", .field = "label", .label = true};
    if (!label.classes) {
      add_numbers(field.found, label.numbers, label.numbers.deviation());
    } else if (label.codes) {
      field.found.holds = FoundField::Holds::codes;
      field.found.classes = std::ssize(label.texts);
    } else {
      field.found.field = "label_text";
      field.found.texts = label.texts;
    }
    choose_ops(field);
    const std::vector<std::string> losses = suiting(args_.catalog.layers.losses, field.found);
    if (losses.empty()) throw DataError("no loss suits the label");
    out_.loss = losses.front();
    out_.metrics = suiting(args_.catalog.layers.metrics, field.found);
    if (field.found.classes > 2) out_.outputs = field.found.classes;
  }

  void add_column(size_t column) {
    if (ignored_.contains(column)) {
      out_.left_out.push_back({column, "--ignore"});
      return;
    }
    if (!look_.form.is_read(column)) {
      out_.left_out.push_back({column, cat("it holds ", look_.form.refused[column])});
      return;
    }
    const ColumnFacts& facts = look_.columns[column];
    ColumnChoice choice = choose_kind(look_, column, kept_.contains(column));
    if (choice.kind == ColumnKind::number && !add_number(column, choice)) choice.reason = "too many kinds of numbers";
    if (choice.kind == ColumnKind::time && !add_time(column, choice)) choice.reason = "too many columns of dates";
    if (choice.kind == ColumnKind::category && !add_category(column, choice)) {
      choice.reason = "there are too many categories before it";
    }
    if (!choice.reason.empty()) {
      out_.left_out.push_back({column, choice.reason});
      return;
    }
    if (look_.form.header && !look_.has_own_name(column)) {
      add_note(choice.note, "selected by its number, so new data need it there, too");
    }
    if (!choice.note.empty()) out_.notes.push_back({column, choice.note});
    if (facts.missing + facts.nonfinite > 0 || !choice.marks.empty()) ++out_.missing_columns;
  }

  static void add_numbers(FoundField& found, const NumberSums& numbers, double deviation) {
    found.holds = FoundField::Holds::amounts;
    found.wide = needs_float64(numbers);
    if (found.mean.is_null()) found.mean = found.deviation = Spec::list();
    found.mean.append(plain_number(numbers.mean, found.wide));
    found.deviation.append(plain_number(deviation, found.wide));
    found.width = std::ssize(found.mean.items());
  }

  // The field of the columns that are read in the same way. This column joins it; if it is the first, the field begins
  // as `found`. Null if there are too many fields.
  PlannedField* field_of(size_t column, FoundField found, const std::vector<std::string>& marks) {
    auto field = std::find_if(out_.fields.begin(), out_.fields.end(), [&](const PlannedField& one) {
      return one.found.holds == found.holds && !one.times && one.found.wide == found.wide &&
             one.found.texts == found.texts && one.marks == marks;
    });
    if (field == out_.fields.end()) {
      if (out_.fields.size() >= kMostPlanned) return nullptr;
      out_.fields.push_back({.found = std::move(found), .marks = marks});
      field = out_.fields.end() - 1;
      field->found.width = 0;
    }
    field->columns.push_back(column);
    ++field->found.width;
    return &*field;
  }

  bool add_number(size_t column, const ColumnChoice& choice) {
    const bool wide = needs_float64(choice.numbers);
    PlannedField* field = field_of(column, {.holds = FoundField::Holds::amounts, .wide = wide}, choice.marks);
    if (field == nullptr) return false;
    if (field->columns.size() == 1) {
      ++numbers_;
      field->found.field = field->found.about = numbers_ == 1 ? "numbers" : cat("numbers_", numbers_);
    }
    add_numbers(field->found, choice.numbers, spread(choice.numbers));
    return true;
  }

  bool add_time(size_t column, const ColumnChoice& choice) {
    FoundField found{.holds = FoundField::Holds::times, .times = choice.times, .mean = Spec::of(choice.mean)};
    PlannedField* field = field_of(column, std::move(found), choice.marks);
    if (field != nullptr) field->times = true;
    return field != nullptr;
  }

  bool add_category(size_t column, const ColumnChoice& choice) {
    category_width_ += std::ssize(choice.texts) + 1;
    return category_width_ <= kMostWidth &&
           field_of(column, {.holds = FoundField::Holds::texts, .texts = choice.texts}, choice.marks) != nullptr;
  }

  void finish_fields() {
    FreeNames names;
    names.take("label");
    for (PlannedField& field : out_.fields) {
      if (field.times || !field.found.texts.empty()) {
        const size_t first = field.columns.front();
        std::string base = look_.is_named(first) ? plain_name(look_.form.names[first]) : cat("column_", first);
        if (field.columns.size() > 1) base += "_and_others";
        field.found.about = names.give(base);
        field.found.field = field.found.about + (field.times ? "_seconds" : "_text");
      }
      choose_ops(field);
      if (!field.found.has(FoundField::Holds::amounts) || !field.found.scaled) {
        for (const size_t column : field.columns) out_.left_out.push_back({column, "no op turns it into numbers"});
        field.columns.clear();
      } else {
        out_.width += field.found.width;
      }
    }
    std::erase_if(out_.fields, [](const PlannedField& field) { return field.columns.empty(); });
  }

  // Each op that suits the field changes it, so all kinds are asked again, until none suits.
  void choose_ops(PlannedField& field) const {
    field.read_as = field.found.field;
    const auto& kinds = args_.catalog.ops.entries();
    for (auto kind = kinds.begin(); kind != kinds.end() && field.ops.size() < kMostOps;) {
      const auto& [name, entry] = *kind++;
      std::optional<Spec> options = entry.suit ? entry.suit(field.found) : std::nullopt;
      if (!options) continue;
      field.ops.push_back({name, std::move(*options), entry.doc});
      kind = kinds.begin();
    }
  }

  DataError nothing_to_learn_from() const {
    std::string reasons;
    for (size_t i = 0; i < std::min<size_t>(out_.left_out.size(), 5); ++i) {
      add_note(reasons, cat(quote(look_.name_of(out_.left_out[i].column)), ": ", out_.left_out[i].text));
    }
    return DataError("no column besides the label is left to learn from", {look_.paths.front()},
                     reasons + "; --keep COLUMN keeps one that holds numbers or few texts");
  }

  // The sizes are known to work for tables of so many rows.
  void choose_sizes() {
    const double share_seen =
        look_.whole || look_.bytes == 0 ? 1.0 : static_cast<double>(look_.all_bytes) / static_cast<double>(look_.bytes);
    const auto rows = static_cast<int64_t>(static_cast<double>(look_.rows - out_.label.missing) * share_seen);
    if (static_cast<uint64_t>(rows) >= kLeastRowsToDivide) out_.held_out = rows > 100000 ? 0.1 : 0.2;
    const auto trained = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(rows) * (1 - out_.held_out)));
    out_.batch_size = 8;
    while (out_.batch_size < 256 && out_.batch_size * 32 <= trained) out_.batch_size *= 2;
    out_.steps_per_epoch = (trained + out_.batch_size - 1) / out_.batch_size;
    const int64_t least = trained > 2000000 ? 1 : 3;
    out_.epochs = std::clamp<int64_t>((3000 + out_.steps_per_epoch - 1) / out_.steps_per_epoch, least, 100);
    choose_validations();
    // With many values in a row, steps of many weights add up, so each must be shorter.
    out_.learning_rate = out_.width > trained ? 0.0003 : 0.003;
    const int64_t units = trained < 1000 ? 16 : trained < 20000 ? 32 : 64;
    out_.hidden.assign(trained < 1000 ? 1 : 2, units);
    int64_t row_bytes = 4 * out_.width + 512;
    for (const PlannedField& field : out_.fields) {
      if (!field.found.texts.empty()) row_bytes += 96 + 40 * std::ssize(field.columns);
    }
    out_.window = std::min({trained, std::max<int64_t>(kWindowBytes / row_bytes, 4 * out_.batch_size), int64_t{50000}});
    if (look_.bad_rows > 0) {
      const double expected = static_cast<double>(look_.bad_rows) * share_seen * static_cast<double>(out_.epochs);
      out_.max_bad_rows = 10 + static_cast<int64_t>(2 * expected);
    }
  }

  // A run has several validations, however few epochs, so that they can find a best model and end the training. To find
  // the rows that were held out each validation reads all rows, so it may take as long as a part of an epoch.
  void choose_validations() {
    constexpr int64_t kLeast = 6, kUsual = 30;
    const int64_t steps = out_.steps_per_epoch * out_.epochs;
    out_.validate_every = out_.epochs < kLeast ? std::max<int64_t>(1, (steps + kLeast - 1) / kLeast)
                                               : out_.steps_per_epoch * std::max<int64_t>(1, out_.epochs / kUsual);
    out_.patience = std::clamp<int64_t>(steps / out_.validate_every / 2, 3, 10);
  }

  const InitPlanArgs& args_;
  const DataLook& look_;
  std::set<size_t> ignored_, kept_;
  size_t numbers_ = 0;  // fields that hold numbers
  int64_t category_width_ = 0;
  InitPlan out_;
};

}  // namespace

InitPlan plan_training(const InitPlanArgs& args) { return Planner(args).run(); }

}  // namespace millrace
