#include "millrace/cli/init/plan.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "millrace/cli/init/column_numbers.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr int64_t kMostWidth = 65536;    // values that a model is made for
constexpr size_t kMostCategories = 256;  // groups of columns, each with ops of its own
constexpr int64_t kWindowBytes = int64_t{128} << 20;
constexpr uint64_t kLeastRowsToDivide = 50;

// A name of letters, digits and _ that begins with a letter.
std::string plain_name(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 40)) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter || (c >= '0' && c <= '9')) {
      out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  if (out.empty() || out[0] < 'a') out = out.empty() ? "text" : cat("c", out);
  return out;
}

// What numbers are divided by. Where nearly all are alike, as of a flag that is rarely set, the deviation is so small
// that one row would outweigh all others; so no number that was seen becomes more than 10.
double spread(const NumberSums& numbers) {
  return std::max(numbers.deviation(), std::max(numbers.max - numbers.mean, numbers.mean - numbers.min) / 10);
}

class Planner {
 public:
  explicit Planner(const InitPlanArgs& args) : args_(args), look_(args.look) {}

  InitPlan run() {
    find_wanted();
    out_.label =
        choose_label(look_.columns[look_.label], look_.name_of(look_.label), args_.task, look_.form.delimiter == ',');
    if (!out_.label.texts.empty() && out_.label.texts.size() != 2) out_.outputs = std::ssize(out_.label.texts);
    for (size_t column = 0; column < look_.columns.size(); ++column) {
      if (column != look_.label) add_column(column);
    }
    name_categories();
    for (const NumberGroup& group : out_.numbers) out_.width += std::ssize(group.columns);
    for (const CategoryGroup& group : out_.categories) out_.width += width_of(group);
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

  static int64_t width_of(const CategoryGroup& group) {
    return std::ssize(group.columns) * (std::ssize(group.texts) + 1);
  }

  void add_column(size_t column) {
    if (ignored_.contains(column)) {
      out_.left_out.push_back({column, "--ignore"});
      return;
    }
    const bool named = look_.is_named(column);
    const ColumnFacts& facts = look_.columns[column];
    ColumnChoice choice = choose_kind({.facts = facts,
                                       .name = look_.name_of(column),
                                       .named = named,
                                       .unnamed = !named && !look_.form.names.empty(),
                                       .keep = kept_.contains(column),
                                       .commas_divide = look_.form.delimiter == ','});
    if (choice.kind == ColumnKind::category && !add_category(column, choice)) {
      choice.kind = ColumnKind::left_out;
      choice.reason = "there are too many categories before it";
    }
    if (choice.kind == ColumnKind::left_out) {
      out_.left_out.push_back({column, choice.reason});
      return;
    }
    if (choice.kind == ColumnKind::number) add_number(column, choice);
    if (look_.form.header && !look_.has_own_name(column))
      choice.note += cat(choice.note.empty() ? "" : "; ", "selected by its number, so new data need it there, too");
    if (!choice.note.empty()) out_.notes.push_back({column, choice.note});
    if (facts.missing + facts.nonfinite > 0 || !choice.marks.empty()) ++out_.missing_columns;
  }

  void add_number(size_t column, const ColumnChoice& choice) {
    const bool wide = needs_float64(choice.numbers);
    auto group = std::find_if(out_.numbers.begin(), out_.numbers.end(),
                              [&](const NumberGroup& one) { return one.wide == wide && one.marks == choice.marks; });
    if (group == out_.numbers.end()) {
      const size_t number = out_.numbers.size() + 1;
      out_.numbers.push_back(
          {.field = number == 1 ? "numbers" : cat("numbers_", number), .marks = choice.marks, .wide = wide});
      group = out_.numbers.end() - 1;
    }
    group->columns.push_back(column);
    group->mean.push_back(choice.numbers.mean);
    group->spread.push_back(spread(choice.numbers));
  }

  bool add_category(size_t column, const ColumnChoice& choice) {
    // Columns of more than two texts are easier to read alone, unless there are many.
    auto group = std::find_if(out_.categories.begin(), out_.categories.end(), [&](const CategoryGroup& one) {
      return one.texts == choice.texts && one.marks == choice.marks;
    });
    if (group == out_.categories.end()) {
      if (out_.categories.size() >= kMostCategories) return false;
      out_.categories.push_back({.texts = choice.texts, .marks = choice.marks});
      group = out_.categories.end() - 1;
    }
    category_width_ += std::ssize(choice.texts) + 1;
    if (category_width_ > kMostWidth) return false;
    group->columns.push_back(column);
    return true;
  }

  void name_categories() {
    std::erase_if(out_.categories, [](const CategoryGroup& group) { return group.columns.empty(); });
    std::set<std::string> taken = {"label"};
    for (CategoryGroup& group : out_.categories) {
      const size_t first = group.columns.front();
      std::string base = look_.is_named(first) ? plain_name(look_.form.names[first]) : cat("column_", first);
      if (group.columns.size() > 1) base += "_and_others";
      std::string name = base;
      for (int number = 2; !taken.insert(name).second; ++number) name = cat(base, '_', number);
      group.field = name + "_text";
      group.code = name + "_code";
      group.one_hot = name + "_class";
    }
  }

  DataError nothing_to_learn_from() const {
    std::string reasons;
    size_t shown = 0;
    for (const ColumnRemark& one : out_.left_out) {
      if (++shown <= 5) reasons += cat(reasons.empty() ? "" : "; ", quote(look_.name_of(one.column)), ": ", one.text);
    }
    return DataError("no column besides the label is left to learn from", {look_.paths.front()},
                     reasons + "; --keep COLUMN takes one in that holds numbers or few texts");
  }

  // Powers of two, that are known to work for tables of such a size.
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
    // Where each of many weights takes a step of this length, their sum goes far.
    out_.learning_rate = out_.width > trained ? 0.0003 : 0.003;
    const int64_t units = trained < 1000 ? 16 : trained < 20000 ? 32 : 64;
    out_.hidden = {units};
    if (trained >= 1000) out_.hidden.push_back(units);
    int64_t row_bytes = 4 * out_.width + 512;
    for (const CategoryGroup& group : out_.categories) row_bytes += 96 + 40 * std::ssize(group.columns);
    out_.window = std::min({trained, std::max<int64_t>(kWindowBytes / row_bytes, 4 * out_.batch_size), int64_t{50000}});
    if (look_.bad_rows > 0) {
      const double expected = static_cast<double>(look_.bad_rows) * share_seen * static_cast<double>(out_.epochs);
      out_.max_bad_rows = 10 + static_cast<int64_t>(2 * expected);
    }
  }

  const InitPlanArgs& args_;
  const DataLook& look_;
  std::set<size_t> ignored_, kept_;
  int64_t category_width_ = 0;
  InitPlan out_;
};

}  // namespace

InitPlan plan_training(const InitPlanArgs& args) { return Planner(args).run(); }

}  // namespace millrace
