// parquet_reader: rows of Parquet files, from the columns that the fields name.
#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/arrays/array_source.h"
#include "millrace/input/catalog.h"
#include "millrace/input/csv/given_values.h"
#include "millrace/input/ops/shared/bad_rows.h"
#include "millrace/input/ops/shared/fields.h"
#include "millrace/input/parquet/group_bounds.h"
#include "millrace/input/parquet/parquet_files.h"
#include "millrace/input/source.h"

namespace millrace {
namespace {

struct ParquetReaderOptions : BadRowOptions {
  Spec fields;
  std::vector<std::string> missing;
  bool allow_nonfinite = true;
  int64_t chunk_bytes = 1 << 20;

  void declare(OptionReader& o) {
    o.required("fields", fields, "name: {columns, type: float32, default} of each field, as in decode_csv");
    o.may_be("fields", field_forms());
    o.used_as("fields", OptionUse::fields);
    o.optional("missing", missing, "texts and numbers that mean a missing value");
    o.optional("allow_nonfinite", allow_nonfinite, "whether nan and infinities are values");
    declare_chunk_bytes(o, chunk_bytes);
    BadRowOptions::declare(o);
  }
};

class ParquetReader final : public FileSource {
 public:
  using Options = ParquetReaderOptions;
  static constexpr std::string_view kDoc = "reads the columns of Parquet files";
  static constexpr std::string_view kExample =
      "fields: {features: {columns: [a, b]}, label: {columns: y, default: -1}}";

  explicit ParquetReader(const Options& options)
      : FileSource({.unit_bytes = static_cast<uint64_t>(options.chunk_bytes)}),
        requests_(read_fields(options.fields, options.allow_nonfinite, true)),
        rules_{options.missing, options.allow_nonfinite},
        files_(requests_, rules_),
        decoder_(*this, options) {}

  Port open(const BindArgs& args) override {
    decoder_.check_report();
    const auto entries = files();
    for (const auto& entry : entries) {
      if (entry->stream) {
        throw ConfigError("a Parquet file cannot be read from a pipe", {entry->path}, "write the data to a file first");
      }
      files_.add(entry, *open_file(*entry).file);
    }
    table_ = std::make_unique<TableReader>(files_.take_tables(),
                                           [this](const FileEntry& file) { return open_file(file).file; });
    RowSpec rows;
    for (const SelectedField& field : files_.fields()) rows.fields.push_back(field.spec);
    if (args.bad_rows_stay) error_field_ = add_field(rows, text_field(std::string(kRowError)));
    rows_ = std::make_shared<const RowSpec>(std::move(rows));
    measure();
    return {.type = PortType::rows, .rows = *rows_};
  }

  bool cut(Unit& unit) const override {
    const uint64_t end = unit.end;
    const ParquetTable& table = table_->tables()[unit.file->index];
    if (unneeded_.empty() || unit.begin == end) {
      unit.end = std::min(end, unit.begin + unit_rows_);
    } else {
      // Row groups that are needed, or ones that are not.
      const std::vector<bool>& unneeded = unneeded_[unit.file->index];
      const auto first = unneeded.begin() + (&table.group_of(unit.begin) - table.groups.data());
      const auto other = std::find(first, unneeded.end(), !*first) - unneeded.begin();
      const auto next = static_cast<size_t>(other);
      unit.end = next == table.groups.size() ? end : table.groups[next].first_row;
      if (!*first) unit.end = std::min(unit.end, unit.begin + unit_rows_);
    }
    unit.exact = true;
    unit.line = unit.begin + 1;
    return unit.end < end;
  }

  uint64_t end_of(const FileEntry& file) const override { return table_->tables()[file.index].rows; }

  void read(Chunk& chunk) const override {
    const Unit& unit = chunk.unit;
    const auto count = static_cast<int64_t>(unit.end - unit.begin);
    chunk.rows.configure(rows_, std::max<int64_t>(count, 1));
    if (count == 0) return;
    if (is_unneeded(unit)) {
      return chunk.add({.kind = Note::Kind::dropped, .count = static_cast<uint64_t>(count), .text = cause_});
    }
    chunk.rows.resize(count);
    for (int64_t row = 0; row < count; ++row) chunk.rows.id(row) = id_of(unit, unit.begin + static_cast<uint64_t>(row));
    auto& scratch = chunk.work().get<TableScratch>(this);
    const std::exception_ptr failure = read_rows(chunk, scratch);
    // Where the damage is, before rows are left out.
    const uint64_t damaged = unit.begin + static_cast<uint64_t>(chunk.rows.size());
    refuse(chunk, scratch);
    if (failure) chunk.fail(failure, place_of(*unit.file, damaged));
  }

  void leave_out_others(RowCondition condition) override {
    cause_ = condition.cause;
    for (const ParquetTable& table : table_->tables()) {
      unneeded_.push_back(unneeded_groups(table, *open_file(*table.file).file, condition));
    }
  }
  std::vector<Column> columns_of(const File& file) const override {
    std::vector<Column> out;
    const ParquetFooter footer(file, file.size());
    for (const ParquetColumn& column : footer.columns()) {
      const bool refused = column.is_list || !column.refused.empty();
      out.push_back({column.name, refused ? column.type_text() : std::string()});
    }
    return out;
  }
  std::vector<std::string> column_names(std::string_view field) const override {
    return millrace::column_names(requests_, HeaderNames(Spec()), field);
  }
  Place place(const RowId& id) const override { return place_of(*FileSource::files()[id.file], id.offset); }
  ChunkBound chunk_bound() const override {
    return {.text_bytes = unit_rows_ * varying_bytes_, .rows = unit_rows_, .records = unit_rows_};
  }
  uint64_t memory_bound() const override { return pages_bound_; }
  const Transform& producer() const override { return decoder_; }
  Transform* reporter() override { return &decoder_; }

 private:
  class Decoder final : public DecodingTransform {
   public:
    Decoder(const ParquetReader& reader, const BadRowOptions& options) : DecodingTransform(options), reader_(reader) {}
    void apply(Chunk& chunk) const override { reader_.read(chunk); }
    uint64_t work_bound() const override { return sizeof(TableScratch) + reader_.page_bound_; }
    std::unique_ptr<Transform> for_given_rows() const override {
      return std::make_unique<GivenValues>(reader_.requests_, reader_.rules_);
    }
    using DecodingTransform::bad_row;
    using DecodingTransform::check_report;
    using DecodingTransform::skips_bad_rows;

   private:
    const ParquetReader& reader_;
  };

  static RowId id_of(const Unit& unit, uint64_t row) {
    return {.source = unit.source,
            .pass = unit.pass,
            .file = unit.file->index,
            .length = 1,
            .offset = row,
            .line = row + 1,
            .next_line = row + 2};
  }

  // The row group and the row in it, both from 1.
  Place place_of(const FileEntry& file, uint64_t row) const {
    const ParquetTable& table = table_->tables()[file.index];
    const RowGroup& group = table.group_of(row);
    return {cat(file.path, ':', &group - table.groups.data() + 1, '/', row - group.first_row + 1)};
  }

  bool is_unneeded(const Unit& unit) const {
    if (unneeded_.empty()) return false;
    const ParquetTable& table = table_->tables()[unit.file->index];
    return unneeded_[unit.file->index][static_cast<size_t>(&table.group_of(unit.begin) - table.groups.data())];
  }

  // Finds out how large rows are, and what their pages take.
  void measure() {
    uint64_t all_rows = 0, varying = 0, fixed = 0;
    std::vector<uint64_t> most(table_->tables().front().columns.size());
    for (const FieldSpec& field : rows_->fields) fixed += field.row_bytes();
    for (const ParquetTable& table : table_->tables()) {
      all_rows += table.rows;
      for (const RowGroup& group : table.groups) {
        for (size_t i = 0; i < group.chunks.size(); ++i) {
          const uint64_t bytes = std::min(group.chunks[i].unpacked_bytes, kMostOfChunk);
          most[i] = std::max(most[i], bytes);
          if (table.columns[i]->field().spec.varies()) varying += bytes;
        }
      }
    }
    if (all_rows == 0) throw DataError("the file has no rows", {FileSource::files().front()->path});
    varying_bytes_ = varying / all_rows;
    for (const FieldSpec& field : rows_->fields) varying_bytes_ += field.varies() ? kLeastVarying : 0;
    unit_rows_ = std::clamp<uint64_t>(unit_bytes() / std::max<uint64_t>(fixed + varying_bytes_, 1), 1, kMostRows);
    for (const uint64_t bytes : most) {
      pages_bound_ += 2 * bytes;
      page_bound_ = std::max(page_bound_, bytes);
    }
  }

  // Reads as many of the chunk's rows as can be read, and returns what is wrong with the row after them.
  std::exception_ptr read_rows(Chunk& chunk, TableScratch& scratch) const {
    const Unit& unit = chunk.unit;
    std::exception_ptr failure;
    const auto reads = [&](int64_t rows) {
      if (rows == 0) return true;
      try {
        table_->read(unit.file->index, unit.begin, rows, chunk.rows, scratch);
        return true;
      } catch (const DataError&) {
        failure = std::current_exception();
        return false;
      }
    };
    int64_t good = chunk.rows.size();
    if (reads(good)) return nullptr;
    for (int64_t bad = std::exchange(good, 0); good + 1 < bad;) {
      const int64_t middle = good + (bad - good) / 2;
      (reads(middle) ? good : bad) = middle;
    }
    std::exception_ptr first = failure;
    scratch.faults.clear();
    reads(good);
    chunk.rows.resize(good);
    return first;
  }

  // Rows with a wrong value are left out, stay with a reason, or are errors.
  void refuse(Chunk& chunk, TableScratch& scratch) const {
    RowBlock& rows = chunk.rows;
    for (int64_t row = 0; error_field_ && row < rows.size(); ++row) set_text(rows, *error_field_, row, {});
    if (scratch.faults.empty()) return;
    scratch.keep.assign(static_cast<size_t>(rows.size()), 1);
    for (RowFault& fault : scratch.faults.take()) {
      DataError error = error_of(fault);
      Place where = place(rows.id(fault.row));
      if (error_field_) {
        set_text(rows, *error_field_, fault.row, error.message());
      } else if (!decoder_.skips_bad_rows()) {
        rows.resize(fault.row);
        return chunk.fail(std::make_exception_ptr(error), std::move(where));
      } else {
        scratch.keep[static_cast<size_t>(fault.row)] = 0;
        Note note = decoder_.bad_row(fault.row, error.message());
        note.place = std::move(where);
        note.field = fault.column->field().spec.name;
        note.value = std::move(fault.value);
        chunk.add(std::move(note));
      }
    }
    if (!error_field_) chunk.keep_rows(scratch.keep, {});
  }

  // With kMostRows, narrow rows and their ids stay in a core's cache until they are copied into a batch.
  static constexpr uint64_t kMostRows = 4096, kLeastVarying = 32, kMostOfChunk = uint64_t{1} << 31;

  const std::vector<FieldRequest> requests_;
  const ValueRules rules_;
  ParquetFiles files_;
  Decoder decoder_;
  std::unique_ptr<TableReader> table_;
  SharedRowSpec rows_;
  std::optional<size_t> error_field_;        // kRowError, if bad rows stay
  std::vector<std::vector<bool>> unneeded_;  // by file: the row groups without a row that is needed
  std::string cause_;                        // why they are not
  uint64_t unit_rows_ = 1;
  uint64_t varying_bytes_ = 0;  // of texts and lists, in a row
  uint64_t pages_bound_ = 0, page_bound_ = 0;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(parquet_reader, ParquetReader);
