#include "millrace/cli/init/init_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "millrace/cli/text/number_format.h"
#include "millrace/cli/text/text_layout.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace::cli {

namespace {

constexpr size_t kColumn = 12;
constexpr size_t kMostListed = 12;
constexpr uint64_t kFewRows = 20;  // a class with fewer rows is mentioned

std::string line(std::string_view head, const std::string& text) {
  return fmt::format("{:<{}}{}\n", head, kColumn, wrapped(text, kColumn, kColumn));
}

// Ten digits, so that large numbers like 2147483647 are shown exactly.
std::string amount(double value) { return fmt::format("{:.10g}", value); }

// A name without quotes, for people.
std::string shown(const std::string& name) { return comment_text(name, 60); }

// "item(0), item(1), .., 7 more": at most kMostListed items.
template <class Item>
std::string listed(size_t count, const Item& item) {
  const size_t named = count > kMostListed ? kMostListed - 1 : count;
  std::vector<std::string> out;
  for (size_t i = 0; i < named; ++i) out.push_back(item(i));
  if (named < count) out.push_back(cat(count - named, " more"));
  return join(out, ", ");
}

std::string form_text(const CsvForm& form) {
  if (form.parquet) return "Parquet, which names the columns";
  const std::string delimiter = form.delimiter == '\t' ? "a tab" : quote(std::string(1, form.delimiter));
  std::string out =
      cat(form.header      ? "the first line names the columns"
          : form.row_names ? "the header names all columns but the first: they are selected by number, so new "
                             "data need them at the same places"
                           : "no header: columns count from 0",
          ", ", delimiter, " between fields");
  if (!form.quotes) out += ", quotes are bytes like any other";
  if (form.skip_lines > 0) out += cat(", ", count_of(form.skip_lines, "line"), " above skipped");
  return out;
}

std::string label_text(const DataLook& look, const LabelChoice& label) {
  std::string out = shown(look.name_of(look.label));
  if (!label.classes) {
    out += cat(": an amount from ", amount(label.numbers.min), " to ", amount(label.numbers.max), ", ",
               amount(label.numbers.mean), " on average; ", label.why);
  } else {
    const auto text = [&](size_t i) { return cat(shown(label.texts[i]), " (", label.counts[i], ')'); };
    out += cat(": ", label.texts.size(), " classes: ", listed(label.texts.size(), text), "; ", label.why);
  }
  if (!label.notice.empty()) out += cat("; ", escape_controls(label.notice));
  const auto rarest = std::min_element(label.counts.begin(), label.counts.end());
  if (rarest != label.counts.end() && *rarest < kFewRows) {
    out += cat("; the rarest class has ", count_of(static_cast<int64_t>(*rarest), "row"),
               ", which is little to learn from");
  }
  if (label.missing > 0) out += cat("; ", label.missing, " without a label, left out");
  return out;
}

std::string column_lines(const DataLook& look, const InitPlan& plan) {
  std::string out;
  std::vector<size_t> numbers;
  std::vector<std::pair<size_t, std::string>> times;  // a column, and how it is written
  std::vector<std::pair<size_t, size_t>> categories;  // a column, and how many texts it has
  for (const PlannedField& field : plan.fields) {
    for (const size_t column : field.columns) {
      const size_t texts = field.found.texts.size();
      const std::string& letters = field.found.times.letters;
      if (field.times) times.emplace_back(column, letters.empty() ? "ISO 8601" : letters);
      if (!field.times) texts == 0 ? numbers.push_back(column) : categories.push_back({column, texts});
    }
  }
  std::sort(numbers.begin(), numbers.end());
  const auto name = [&](size_t column) { return shown(look.name_of(column)); };
  if (!numbers.empty()) {
    const auto number = [&](size_t i) { return name(numbers[i]); };
    out += line("numbers", cat(numbers.size(), ", normalised: ", listed(numbers.size(), number)));
  }
  if (!times.empty()) {
    const auto time = [&](size_t i) { return cat(name(times[i].first), " (", times[i].second, ')'); };
    out += line("dates", cat(times.size(), ", as what the calendar says of them: ", listed(times.size(), time)));
  }
  if (!categories.empty()) {
    const auto category = [&](size_t i) { return cat(name(categories[i].first), " (", categories[i].second, ')'); };
    out += line("categories",
                cat(categories.size(), ", with the number of texts in each: ", listed(categories.size(), category)));
  }
  for (size_t i = 0; i < std::min(plan.notes.size(), kMostListed); ++i) {
    const ColumnRemark& one = plan.notes[i];
    out += line(i == 0 ? "assumed" : "", cat(name(one.column), ": ", escape_controls(one.text)));
  }
  if (plan.left_out.empty()) return out;
  const auto left = [&](size_t i) {
    return cat(name(plan.left_out[i].column), " (", escape_controls(plan.left_out[i].text), ')');
  };
  return out + line("left out", listed(plan.left_out.size(), left));
}

}  // namespace

std::string shell_word(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./+,:@%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return std::string(text);
  if (escape_controls(text) == text) return cat('\'', replaced(text, '\'', "'\\''"), '\'');
  // Control characters might hide or disturb something on a terminal, so they are written as \NNN.
  std::string out = "$'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\'' || c == '\\') {
      out += fmt::format("\\{}", c);
    } else {
      out += byte < 0x20 || byte >= 0x7f ? fmt::format("\\{:03o}", byte) : std::string(1, c);
    }
  }
  return out + '\'';
}

std::string next_command(const std::string& config) { return cat("trainer --config ", shell_word(config)); }
std::string then_command(const std::string& model) {
  return cat("trainer evaluate --model ", shell_word(model), " --held-out");
}

std::string init_text(const InitTextArgs& args) {
  const DataLook& look = args.look;
  const InitPlan& plan = args.plan;
  const std::string files =
      look.paths.size() == 1 ? comment_text(look.paths.front(), 100) : count_of(std::ssize(look.paths), "file");
  std::string rows = cat(files, ": ", count_of(static_cast<int64_t>(look.rows), "row"), " of ",
                         count_of(std::ssize(look.columns), "column"));
  if (!look.whole) {
    rows += cat("; only ", format_bytes(look.bytes), " of ", format_bytes(look.all_bytes),
                " were looked at, so constants and lists of texts come from a part (--look N looks at N MiB)");
  }
  std::string out = line("data", rows);
  out += line("form", form_text(look.form));
  out += line("label", label_text(look, plan.label));
  out += column_lines(look, plan);
  if (args.by_number) {
    out += line("by number",
                "columns are selected by number, as their names are too long for a configuration; new data need "
                "the same columns at the same places");
  }
  if (plan.missing_columns > 0) {
    out += line("missing", cat(count_of(static_cast<int64_t>(plan.missing_columns), "column"),
                               " with gaps: missing numbers become the mean, missing texts are a category"));
  }
  if (look.bad_rows > 0) {
    std::string examples;
    for (const std::string& one : look.bad_examples) examples += cat(examples.empty() ? "" : "; ", comment_text(one));
    out += line("bad rows",
                cat(look.bad_rows, " have another number of fields and are left out, up to a limit: ", examples));
  }
  out += line("held out", plan.held_out > 0
                              ? cat("about ", format_share(plan.held_out), " of the rows, to judge the model by")
                              : std::string("nothing: there are too few rows to judge the model by a part of them"));
  std::vector<std::string> layers;
  for (const int64_t units : plan.hidden) layers.push_back(cat(units));
  layers.push_back(cat(plan.outputs));
  out += line("model", cat(count_of(plan.width, "number"), " in, dense layers of ", join(layers, ", "), "; ",
                           count_of(plan.epochs, "epoch"), " at most, batches of ", plan.batch_size));
  if (!args.config.empty()) out += line("wrote", comment_text(args.config, 4096));
  return out;
}

}  // namespace millrace::cli
