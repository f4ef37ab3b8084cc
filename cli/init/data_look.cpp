#include "millrace/cli/init/data_look.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "millrace/cli/init/value_text.h"
#include "millrace/core/context.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/input/catalog.h"
#include "millrace/input/compressed/inflated_file.h"
#include "millrace/input/files/matched_files.h"
#include "millrace/input/graph/pipeline.h"

namespace millrace {

namespace {

constexpr size_t kHeadBytes = size_t{4} << 20;
constexpr ColumnLimits kLabelLimits = {.numbers = 1024, .texts = 1024, .bytes = 4096};
constexpr size_t kMostColumns = 65536;
constexpr int64_t kCellsAtOnce = 65536;
constexpr size_t kMostExamples = 3;
const Place kFilesPlace = {"DATA"};

void check_paths(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    if (find_invalid_utf8(file) != std::string::npos) {
      throw ConfigError(cat("the path ", quote(file, 4096), " is not UTF-8, and no configuration can name it"),
                        kFilesPlace, "rename it, or make a link to it");
    }
    if (file == "-") {
      throw ConfigError("init reads the data before the training does, so they cannot come from standard input",
                        kFilesPlace, "write them to a file first");
    }
    if (file.find("://") != std::string::npos) {
      throw MissingError(cat("no file matches ", quote(file, 200)), kFilesPlace,
                         "only local files are read: download it first");
    }
  }
}

void match(const DataLookArgs& args, DataLook& look) {
  check_paths(args.files);
  std::set<std::string> seen;
  for (const std::string& file : args.files) {
    bool is_new = false;
    for (const MatchedFile& matched : match_files({&file, 1}, kFilesPlace, *args.file_system)) {
      if (matched.is_stream) {
        throw ConfigError(
            cat(quote(matched.path, 4096), " can be read only once, and init reads it before the training does"),
            kFilesPlace, "write it to a file first");
      }
      if (find_invalid_utf8(matched.path) != std::string::npos) check_paths({matched.path});
      if (!seen.insert(matched.path).second) continue;
      is_new = true;
      look.paths.push_back(matched.path);
      look.all_bytes += matched.size;
    }
    if (is_new) look.patterns.push_back(file);
  }
}

// The form of a Parquet file is in its schema.
CsvForm parquet_form(const DataLookArgs& args, const std::string& path) {
  if (args.delimiter) throw ConfigError("--delimiter: a Parquet file has none");
  if (args.header) throw ConfigError("--header: a Parquet file always names its columns");
  const OpRegistry ops = builtin_ops();
  const Spec field = Spec::map().set("columns", 0);
  const Spec reader = Spec::map().set("parquet_reader", Spec::map().set("fields", Spec::map().set("x", field)));
  const std::unique_ptr<Op> op = ops.make(ops.read(reader, "an input op"), reader);
  CsvForm out;
  out.header = out.parquet = true;
  try {
    for (RowSource::Column& column : dynamic_cast<RowSource&>(*op).columns_of(*args.file_system->open(path))) {
      out.names.push_back(std::move(column.name));
      out.refused.push_back(std::move(column.refused));
    }
  } catch (Error& error) {
    error.set_place({path});
    throw;
  }
  out.columns = out.names.size();
  if (out.columns == 0) throw DataError("the Parquet file has no columns", {path});
  return out;
}

// Finds out the form from the start of the first file that is not empty.
CsvForm look_at_form(const DataLookArgs& args, const std::vector<std::string>& paths) {
  std::string head;
  std::string path = paths.front();
  bool whole = true;
  for (const std::string& candidate : paths) {
    const std::shared_ptr<const File> file = inflated(args.file_system->open(candidate), candidate);
    head.resize(kHeadBytes + 1);
    head.resize(file->read(0, head.data(), head.size()));
    if (head.empty()) continue;
    path = candidate;
    whole = head.size() <= kHeadBytes;
    head.resize(std::min(head.size(), kHeadBytes));
    break;
  }
  if (head.starts_with("PAR1") || head.starts_with("PARE")) return parquet_form(args, path);
  return sniff_csv({.head = head,
                    .whole = whole,
                    .path = path,
                    .delimiter = args.delimiter,
                    .header = args.header,
                    .label = args.label});
}

// The ops that give every column of every record as a text.
Spec ops_of(const DataLook& look, bool spread) {
  const CsvForm& form = look.form;
  const int64_t rows = std::clamp<int64_t>(kCellsAtOnce / static_cast<int64_t>(form.columns), 1, 512);
  Spec all = Spec::scalar(cat("0-", form.columns - 1), false, kFilesPlace);
  if (form.parquet) {
    all = Spec::list();
    for (size_t column = 0; column < form.columns; ++column) {
      if (form.is_read(column)) all.append(Spec::of(column));
    }
  }
  const Spec files = OptionType<std::vector<std::string>>::write(look.patterns);
  Spec cells = Spec::map({{"columns", all}, {"type", "string"}, {"default", ""}});
  Spec decode = Spec::map().set("fields", Spec::map().set("cells", std::move(cells)));
  decode.set("missing", Spec::list()).set("on_bad_row", "skip");
  Spec list = Spec::list();
  list.append(Spec::map().set("filename_queue", Spec::map({{"files", files}, {"shuffle", false}, {"epochs", 1}})));
  if (!form.parquet) {
    Spec reader = reader_options(form);
    // If there is more data than is looked at, it looks into several files.
    if (spread) reader.set("readers", std::min<int64_t>(std::ssize(look.paths), 16));
    list.append(Spec::map().set("csv_reader", std::move(reader)));
  }
  list.append(Spec::map().set(form.parquet ? "parquet_reader" : "decode_csv", std::move(decode)));
  list.append(
      Spec::map().set(std::string(kBatchKind), Spec::map({{"batch_size", rows}, {"allow_smaller_final_batch", true}})));
  list.set_path("init");
  return list;
}

void read_rows(const DataLookArgs& args, DataLook& look) {
  const bool spread = look.all_bytes > args.most_bytes && look.paths.size() > 1;
  Executor executor(0);
  PipelineOptions options;
  options.executor = &executor;
  options.on_bad_row = [&look](const BadRow& row) {
    ++look.bad_rows;
    if (look.bad_examples.size() < kMostExamples) look.bad_examples.push_back(cat(row.place.text(), ": ", row.reason));
  };
  Pipeline pipeline(InputGraph::build(ops_of(look, spread), builtin_ops(), {.files = args.file_system}),
                    std::move(options));
  RowBlock batch = pipeline.make_slot();
  TextBudget budget;
  InputSummary summary;
  // Rows of files that are no text have no bytes of their own.
  const auto bytes_read = [&] {
    pipeline.summary(summary);
    if (!look.form.parquet) return summary.bytes;
    return static_cast<uint64_t>(static_cast<double>(look.all_bytes) * summary.share.value_or(1));
  };
  while (pipeline.next(batch) > 0) {
    for (int64_t row = 0; row < batch.size(); ++row) {
      const Varying& cells = batch.varying(0, row);
      for (size_t column = 0, cell = 0; column < look.columns.size(); ++column) {
        if (look.form.is_read(column)) look.columns[column].add(cells.text(cell++), budget);
      }
    }
    look.rows += static_cast<uint64_t>(batch.size());
    if (bytes_read() < args.most_bytes) continue;
    look.whole = pipeline.next(batch) == 0;
    break;
  }
  look.bytes = bytes_read();
  // How much text is in compressed files is not known before it was read.
  const bool compressed =
      std::ranges::any_of(look.paths, [](const auto& path) { return without_compression(path) != path; });
  const double share = look.whole ? 1 : summary.share.value_or(0);
  if (compressed && share > 0) look.all_bytes = static_cast<uint64_t>(static_cast<double>(look.bytes) / share);
}

}  // namespace

std::string DataLook::name_of(size_t column) const {
  if (!is_named(column)) return cat("column ", column);
  const std::string& name = form.names[column];
  return repeated.contains(name) ? cat(name, " (column ", column, ')') : name;
}

bool DataLook::has_name(size_t column) const {
  if (!form.header) return false;
  const std::string& name = form.names[column];
  return name.size() <= 1024 && find_invalid_utf8(name) == std::string::npos && name.find('\0') == name.npos;
}

bool DataLook::has_own_name(size_t column) const {
  return has_name(column) && !form.names[column].empty() && !repeated.contains(form.names[column]);
}

size_t find_column(const CsvForm& form, const std::string& name, const std::string& what) {
  std::vector<size_t> found;
  for (const bool exactly : {true, false}) {
    for (size_t i = 0; i < form.names.size() && (exactly || found.empty()); ++i) {
      if (exactly ? form.names[i] == name : trimmed(form.names[i]) == trimmed(name)) found.push_back(i);
    }
    if (found.size() == 1) return found.front();
    if (found.size() > 1) {
      throw ConfigError(cat(what, ' ', quote(name), ": the header has this name ", found.size(),
                            " times, in the columns ", found[0], " and ", found[1]),
                        {}, cat("select it by its number: ", what, ' ', found[0]));
    }
  }
  size_t number = 0;
  const auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = fault == std::errc() && end == name.data() + name.size();
  if (is_number && number < form.columns) return number;
  std::string another;
  if (form.columns == 1) {
    another = form.blanks_hint.empty() ? "; is there another delimiter? --delimiter names it" : "; " + form.blanks_hint;
  }
  const std::string have = form.columns == 1 ? std::string("only column 0") : cat("columns 0 to ", form.columns - 1);
  if (is_number)
    throw ConfigError(cat(what, ' ', name, ": there is no such column"), {}, cat("the files have ", have, another));
  if (form.names.empty()) {
    throw ConfigError(cat(what, ' ', quote(name), ": the files seem to have no header, so columns have numbers"), {},
                      cat("they have ", have,
                          another.empty() ? "; if the first line is a header after all, set --header yes" : another));
  }
  const std::string near = nearest(name, form.names);
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min<size_t>(10, form.names.size()); ++i) shown.push_back(quote(form.names[i]));
  if (form.names.size() > shown.size()) shown.push_back(cat(form.names.size() - shown.size(), " more"));
  throw ConfigError(
      cat(what, ' ', quote(name), ": there is no such column"), {},
      near.empty() ? cat("the header has ", join(shown), another) : cat("did you mean ", quote(near), '?'));
}

DataLook look_at_data(const DataLookArgs& args) {
  DataLook look;
  match(args, look);
  look.form = look_at_form(args, look.paths);
  if (look.form.columns > kMostColumns) {
    throw DataError(cat("the records have ", look.form.columns, " fields, init looks at ", kMostColumns, " at most"),
                    {look.paths.front(), 1, 1});
  }
  std::set<std::string> names;
  for (const std::string& name : look.form.names) {
    if (!names.insert(name).second) look.repeated.insert(name);
  }
  look.label = find_column(look.form, args.label, "--label");
  if (!look.form.is_read(look.label)) {
    throw ConfigError(cat("--label ", quote(args.label), ": the column holds ", look.form.refused[look.label],
                          ", from which no label is made"));
  }
  if (look.form.columns == 1) {
    throw DataError(
        "the files have one column, the label, and nothing to learn from", {look.paths.front(), 1, 1},
        look.form.blanks_hint.empty() ? "is there another delimiter? --delimiter names it" : look.form.blanks_hint);
  }
  look.columns.resize(look.form.columns);
  look.columns[look.label] = ColumnFacts(kLabelLimits);
  read_rows(args, look);
  if (look.rows == 0)
    throw DataError("the files have no rows that can be read", {look.paths.front(), 1, 1},
                    look.bad_examples.empty() ? "" : look.bad_examples.front());
  if (look.bad_rows * 10 > look.rows) {
    throw DataError(
        cat(look.bad_rows, " of ", look.rows + look.bad_rows, " records do not have ",
            count_of(static_cast<int64_t>(look.form.columns), "field"), "; the first is ", look.bad_examples.front()),
        {look.paths.front()}, "mend them, or name the delimiter with --delimiter");
  }
  return look;
}

}  // namespace millrace
