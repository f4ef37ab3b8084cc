// csv: a header, then a line for each row. Every text is read back as it is written, to see that it is the same value.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "millrace/cli/convert/row_writer.h"
#include "millrace/cli/process/output.h"
#include "millrace/cli/rows/csv_text.h"
#include "millrace/core/text.h"
#include "millrace/input/csv/csv_dialect.h"
#include "millrace/input/csv/field_selection.h"
#include "millrace/input/csv/row_converter.h"

namespace millrace::cli {

namespace {

// A ragged field is one column.
int64_t csv_columns(const FieldSpec& field) { return field.ragged() ? 1 : field.shape.elements(); }

// The names that the header gives to the field's columns: those of the text that it was read from, if they are known.
std::vector<std::string> column_names(const FieldSpec& field, const TextColumns* from) {
  const int64_t count = csv_columns(field);
  const bool named = from != nullptr && from->format != nullptr && from->format->nameless_fields() == 0;
  const int found = named ? from->rows.find(field.name) : -1;
  const std::vector<uint32_t>* columns = found < 0 ? nullptr : &from->columns[static_cast<size_t>(found)];
  if (columns != nullptr && std::ssize(*columns) != count) columns = nullptr;
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) {
    if (columns != nullptr) {
      names.push_back(from->format->field_name((*columns)[static_cast<size_t>(i)]));
    } else {
      names.push_back(count == 1 ? field.name : cat(field.name, '_', i));
    }
  }
  return names;
}

bool is_picture(std::string_view bytes) { return bytes.starts_with("\x89PNG") || bytes.starts_with("\xff\xd8\xff"); }

// What decode_csv needs to know of a field whose first column is number `first`.
Spec decode_options(const FieldSpec& field, size_t first) {
  const auto count = static_cast<size_t>(csv_columns(field));
  Spec out = Spec::map();
  out.set("columns", Spec::scalar(count == 1 ? cat(first) : cat(first, '-', first + count - 1), false, {}));
  if (field.text || field.dtype != DType::f32) out.set("type", field.type_name());
  if (field.ragged()) {
    out.set("split", *field.split).set("default", Spec::list());  // an empty text is a list without values
  } else if (field.text) {
    out.set("default", "");
  } else if (field.shape.rank() != 1) {
    Spec sizes = Spec::list();
    for (int axis = 0; axis < field.shape.rank(); ++axis) sizes.append(Spec::of(field.shape[axis]));
    out.set("reshape", std::move(sizes));
  }
  return out;
}

class CsvWriter final : public RowWriter {
 public:
  explicit CsvWriter(const RowWriterArgs& args) : fields_(Spec::map()) {
    CsvDialect dialect;
    std::set<std::string> taken;
    for (const FieldSpec& field : args.rows.fields) {
      if (csv_columns(field) == 0) throw ConfigError(cat(field.name, " has no values, so it would have no column"));
      fields_.set(field.name, decode_options(field, dialect.header.size()));
      for (std::string& name : column_names(field, args.from)) {
        dialect.header.push_back(free_name(taken, std::move(name)));
      }
    }
    dialect.columns = std::ssize(dialect.header);
    // decode_csv itself refuses what it could not read.
    const auto converter =
        std::make_shared<const RowConverter>(select_fields(read_fields(fields_, true), dialect), ValueRules{});
    TextColumns columns = {std::make_shared<const CsvDialect>(dialect), converter->spec(), {}, converter};
    for (const SelectedField& field : converter->fields()) columns.columns.push_back(field.columns);
    layout_ = csv_layout(&columns, args.rows);
    layout_.whole_lists = true;
    layout_.way_out = "leave out such rows, or the field";
  }

  Spec readers() const override {
    return Spec::list(
        {Spec::map({{"csv_reader", {{"header", true}}}}), Spec::map({{"decode_csv", {{"fields", fields_}}}})});
  }

  void begin(const std::string& path) override {
    file_.emplace(Output::whole_file(path));
    csv_.emplace(layout_);
    text_.clear();
    csv_->append_head(text_);
    file_->write(text_);
  }

  void write(const RowSpan& rows, FunctionRef<Place(int64_t)> place) override {
    for (int64_t row = rows.begin; row < rows.begin + rows.count; ++row) {
      refuse_pictures(*rows.block, row, place);
      text_.clear();
      csv_->append(text_, RowSpan{rows.block, row, 1}, place);
      file_->write(text_);
    }
  }

  void finish() override {
    file_->close();
    file_.reset();
  }

 private:
  static void refuse_pictures(const RowBlock& rows, int64_t row, FunctionRef<Place(int64_t)> place) {
    for (size_t i = 0; i < rows.spec().fields.size(); ++i) {
      const FieldSpec& field = rows.spec().fields[i];
      if (!field.text || rows.varying(i, row).texts() == 0 || !is_picture(rows.varying(i, row).text(0))) continue;
      throw DataError(cat(field.name, " holds a picture as it is in its file, which is no text"), place(row),
                      "put decode_image into the list of ops, which makes numbers of it");
    }
  }

  Spec fields_;  // of decode_csv
  CsvLayout layout_;
  std::optional<Output> file_;
  std::optional<CsvText> csv_;
  std::string text_;
};

}  // namespace

std::unique_ptr<RowWriter> make_csv_writer(const RowWriterArgs& args) { return std::make_unique<CsvWriter>(args); }

}  // namespace millrace::cli
