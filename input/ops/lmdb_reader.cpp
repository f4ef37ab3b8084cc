// lmdb_reader: nothing to rows. The records of a database of LMDB are rows, or those of several databases that have
// equal keys: in the order of the keys, or shuffled as a whole.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "millrace/input/arrays/array_source.h"
#include "millrace/input/catalog.h"
#include "millrace/input/files/open_files.h"
#include "millrace/input/lmdb/lmdb_file.h"
#include "millrace/input/lmdb/lmdb_value.h"
#include "millrace/input/ops/shared/fields.h"
#include "millrace/input/sources/file_names.h"
#include "millrace/input/sources/row_order.h"

namespace millrace {

namespace {

struct LmdbFieldOptions {
  std::optional<std::string> db;
  LmdbType type = LmdbType::npy;
  std::optional<int64_t> offset;
  std::optional<std::vector<int64_t>> size;

  void declare(OptionReader& o) {
    o.optional("db", db, "the name of its database in the file; absent: the main one");
    o.required("type", type,
               "of the numbers in a value; npy: it is an array of NumPy; string: a text, or the bytes of a picture");
    o.optional(
        "offset", offset, {.min = 0},
        "its first byte in the value, so that several fields may share a database; absent: it is the whole value");
    o.optional("size", size, {.min = 1}, "how many numbers, or the shape of an image: [3, 32, 32]; absent: one");
    if (!o.reading() || !size) return;
    if (type == LmdbType::npy || type == LmdbType::string) {
      throw o.node("size").error("the value says by itself how much it holds", "leave size out");
    }
    if (!size->empty() && size->size() < Shape::kMaxRank) return;
    throw o.node("size").error(cat("expected 1 to ", Shape::kMaxRank - 1, " numbers, got ", size->size()));
  }
};

// A database, and what fields read from it.
struct LmdbDatabase {
  std::optional<std::string> name;  // absent: the main one
  bool shared = true;               // the fields have an offset
  LmdbIndex index = {};

  std::string text() const { return name ? cat("the database ", quote(*name)) : "the main database"; }
};

struct LmdbField {
  size_t database = 0;
  LmdbValue value;
};

struct LmdbReaderOptions : FileNamesOptions {
  std::vector<std::string> path;
  Spec fields;
  ByteOrder endian = ByteOrder::little;
  int64_t chunk_bytes = 262144;
  Place path_place;
  std::vector<LmdbDatabase> databases;
  std::vector<LmdbField> read;  // of the fields

  void declare(OptionReader& o) {
    o.required("path", path, "the folder of an LMDB database, or its file");
    o.used_as("path", OptionUse::files);
    o.required("fields", fields, "name: {db, type, offset, size} of each field");
    o.may_be("fields", {{.is = OptionForm::Is::map, .items = option_forms<LmdbFieldOptions>()}});
    o.used_as("fields", OptionUse::fields);
    FileNamesOptions::declare(o, "row");
    o.optional("endian", endian, "which byte of a number comes first: little, the last one, or big");
    declare_chunk_bytes(o, chunk_bytes);
    if (!o.reading()) return;
    path_place = o.node("path").place();
    if (path.size() != 1) {
      throw o.node("path").error(cat("expected one database, got ", path.size()), "mix and interleave join readers");
    }
    names_of_fields(fields,
                    "for example fields: {features: {db: x, type: uint8, size: 784}, label: {db: y, type: int32}}");
    for (const auto& [name, field] : fields.entries()) add(name, field);
  }

 private:
  void add(const std::string& name, const Spec& written) {
    const auto field = read_options<LmdbFieldOptions>(written);
    auto from = std::ranges::find(databases, field.db, &LmdbDatabase::name);
    if (from == databases.end()) {
      from = databases.insert(from, {.name = field.db, .shared = field.offset.has_value()});
    } else if (!from->shared || !field.offset) {
      throw written.error(cat("several fields read ", from->text(), ", but not all of them have an offset"),
                          "say where in a value each field begins: offset: N");
    }
    read.push_back({static_cast<size_t>(from - databases.begin()),
                    LmdbValue({.field = name,
                               .type = field.type,
                               .big_endian = endian == ByteOrder::big,
                               .offset = field.offset,
                               .size = field.size.value_or(std::vector<int64_t>{1})})});
  }
};

// The file and its databases, opened when the op is bound; turns units into rows.
class LmdbRows final : public Transform {
 public:
  explicit LmdbRows(const LmdbReaderOptions& options)
      : options_(options),
        names_({.match = [this](FileSystem& files) { return find(files); }, .place = options.path_place},
               {.shuffle = false, .epochs = 1}),
        databases_(options.databases),
        fields_(options.read) {}

  Port bind(const BindArgs& args) override {
    names_.bind(args);
    entry_ = names_.files().front();
    if (entry_->stream) {
      throw ConfigError("a database cannot be read from a pipe", {entry_->path}, "write it to a file first");
    }
    open_files_ = std::make_unique<OpenFiles>(*args.files);
    try {
      open();
    } catch (Error& error) {
      error.set_place({entry_->path});
      throw;
    }
    order_in(args);
    RowSpec rows;
    for (const LmdbField& field : fields_) rows.fields.push_back(field.value.field());
    bad_rows_stay_ = args.bad_rows_stay;
    if (bad_rows_stay_) rows.fields.push_back(text_field(std::string(kRowError)));
    spec_ = std::make_shared<const RowSpec>(std::move(rows));
    return {.type = PortType::rows, .rows = *spec_};
  }

  void apply(Chunk& chunk) const override {
    const auto count = static_cast<int64_t>(chunk.unit.end - chunk.unit.begin);
    chunk.rows.configure(spec_, std::max<int64_t>(count, 1));
    if (count == 0) return;
    auto& memory = chunk.work().get<std::vector<LmdbIndex::Memory>>(this);
    memory.resize(databases_.size());
    with_file([&](const LmdbFile& file) {
      read_rows(file, count, memory, chunk);
      file.check_unchanged();
    });
  }

  uint64_t work_bound() const override {
    return bytes_of_a_row() + databases_.size() * (kLmdbPageHeader + 2 * meta_.page_bytes);
  }

  const FileNames& names() const { return names_; }
  const RowOrder& order() const { return order_; }
  uint64_t transaction() const { return meta_.transaction; }
  // The values of all databases, at most.
  uint64_t bytes_of_a_row() const {
    uint64_t bytes = 0;
    for (const LmdbDatabase& one : databases_) bytes += one.index.most_bytes();
    return bytes;
  }
  uint64_t unit_rows() const {
    const uint64_t rows = static_cast<uint64_t>(options_.chunk_bytes) / std::max<uint64_t>(bytes_of_a_row(), 1);
    return std::clamp<uint64_t>(rows, 1, order_.places());
  }
  uint64_t index_bytes() const {
    uint64_t bytes = 0;
    for (const LmdbDatabase& one : databases_) bytes += one.index.bytes();
    return bytes;
  }
  Place place_of(uint64_t row) const {
    Place out;
    with_file([&](const LmdbFile& file) { out = place_of(file, row); });
    return out;
  }

 private:
  std::vector<MatchedFile> find(FileSystem& files) const {
    std::string path = options_.path.front();
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    if (files.type(path) == FileSystem::Type::folder) path += path == "/" ? "data.mdb" : "/data.mdb";
    std::vector<MatchedFile> found = match_files({&path, 1}, options_.path_place, files);
    if (found.size() == 1) return found;
    throw ConfigError(cat("expected one database, ", quote(path), " matches ", found.size()), options_.path_place);
  }

  template <class Body>
  void with_file(const Body& body) const {
    const ReadingTurn turn;
    const std::shared_ptr<const File> opened = open_files_->get(*entry_).file;
    body(LmdbFile(*opened, *entry_, meta_));
  }

  void open() {
    const std::shared_ptr<const File> opened = open_files_->get(*entry_).file;
    const std::string start = FileRange{*opened, 0, entry_->size}.read(0, 512);
    const bool has_mark = start.size() >= 20 && start.compare(16, 4, "\xde\xc0\xef\xbe") == 0;
    if (const std::string hint = has_mark ? "" : format_hint(start); !hint.empty()) {
      throw DataError("this is no LMDB database", {}, hint);
    }
    meta_ = LmdbFile(*opened, *entry_).meta();
    with_file([this](const LmdbFile& file) {
      try {
        look_at(file);
      } catch (const DataError&) {
        file.check_unchanged();
        throw;
      }
      file.check_unchanged();
    });
  }

  void look_at(const LmdbFile& file) {
    for (LmdbDatabase& one : databases_) {
      try {
        one.index = LmdbIndex(file, one.name ? file.find(*one.name) : meta_.main);
      } catch (Error& error) {
        if (one.name) error.add_context(cat("database ", quote(*one.name)));
        throw;
      }
    }
    for (const LmdbDatabase& one : databases_) check_keys(file, one);
    if (databases_.front().index.rows() == 0) throw DataError(cat(databases_.front().text(), " has no rows"));
    std::vector<LmdbIndex::Memory> memory(databases_.size());
    for (LmdbField& field : fields_) look_at_first(file, field, memory[field.database]);
  }

  void look_at_first(const LmdbFile& file, LmdbField& field, LmdbIndex::Memory& memory) const {
    try {
      field.value.look_at(databases_[field.database].index.read(file, 0, memory).value);
    } catch (Error& error) {
      error.set_place(place_of(file, 0));
      throw;
    }
  }

  // Row i is record i of each database, so their keys must be equal.
  void check_keys(const LmdbFile& file, const LmdbDatabase& one) const {
    const LmdbDatabase& first = databases_.front();
    if (one.index.rows() == first.index.rows() && one.index.keys_hash() == first.index.keys_hash()) return;
    for (const auto& [has, lacks] : {std::pair(&first, &one), std::pair(&one, &first)}) {
      const std::optional<std::string> key = key_only_in(file, has->index, lacks->index);
      if (!key) continue;
      throw DataError(cat("the key ", lmdb_key_text(*key), " is in ", has->text(), ", but not in ", lacks->text()));
    }
    throw DataError(cat(one.text(), " has its keys in another order than ", first.text()));
  }

  // The key where the two first differ, if `other` lacks it.
  static std::optional<std::string> key_only_in(const LmdbFile& file, const LmdbIndex& index, const LmdbIndex& other) {
    LmdbIndex::Memory memory, other_memory;
    const auto key = [&](uint64_t row) { return index.read(file, row, memory, false).key; };
    const auto other_key = [&](uint64_t row) { return other.read(file, row, other_memory, false).key; };
    uint64_t row = 0;
    while (row < index.rows() && row < other.rows() && key(row) == other_key(row)) ++row;
    if (row == index.rows()) return {};
    for (uint64_t i = row; i < other.rows(); ++i) {
      if (other_key(i) == key(row)) return {};
    }
    return std::string(key(row));
  }

  void order_in(const BindArgs& args) {
    const ShardOptions shard = options_.shard.value_or(ShardOptions());
    const uint64_t rows = databases_.front().index.rows();
    order_ = RowOrder({.rows = rows,
                       .shuffle = options_.shuffle,
                       .seed = args.seed,
                       .stream = fnv1a64(args.name),
                       .shard_index = static_cast<uint64_t>(shard.index),
                       .shard_count = static_cast<uint64_t>(shard.count)});
    if (order_.places() > 0) return;
    throw ConfigError(cat("shard ", shard.index, " of ", shard.count, " is empty: there ", rows == 1 ? "is " : "are ",
                          count_of(static_cast<int64_t>(rows), "row")),
                      options_.path_place);
  }

  void read_rows(const LmdbFile& file, int64_t count, std::vector<LmdbIndex::Memory>& memory, Chunk& chunk) const {
    RowBlock& rows = chunk.rows;
    for (int64_t row = 0; row < count; ++row) {
      const uint64_t number = order_.row(chunk.unit.pass, chunk.unit.begin + static_cast<uint64_t>(row));
      rows.resize(row + 1);
      rows.id(row) = IndexSource::id_of(chunk.unit, number);
      try {
        read_row(file, number, memory, rows, row);
      } catch (const DataError&) {
        file.check_unchanged();
        const Place where = place_of(file, number);
        rows.resize(row);
        return chunk.fail(std::current_exception(), where);
      }
      if (bad_rows_stay_) rows.set_text(fields_.size(), row, {});
    }
  }

  void read_row(const LmdbFile& file, uint64_t number, std::vector<LmdbIndex::Memory>& memory, RowBlock& rows,
                int64_t row) const {
    for (size_t from = 0; from < databases_.size(); ++from) {
      const std::string_view value = databases_[from].index.read(file, number, memory[from]).value;
      for (size_t field = 0; field < fields_.size(); ++field) {
        if (fields_[field].database == from) fields_[field].value.read(value, rows, field, row);
      }
    }
  }

  Place place_of(const LmdbFile& file, uint64_t row) const {
    LmdbIndex::Memory memory;
    return {cat(entry_->path, ':', lmdb_key_text(databases_.front().index.read(file, row, memory, false).key))};
  }

  const LmdbReaderOptions options_;
  FileNames names_;
  std::vector<LmdbDatabase> databases_;
  std::vector<LmdbField> fields_;
  std::shared_ptr<const FileEntry> entry_;
  std::unique_ptr<OpenFiles> open_files_;
  LmdbMeta meta_;
  RowOrder order_;
  SharedRowSpec spec_;
  bool bad_rows_stay_ = false;
};

class LmdbReader final : public IndexSource {
 public:
  using Options = LmdbReaderOptions;
  static constexpr std::string_view kDoc = "reads the records of LMDB databases";
  static constexpr std::string_view kExample = "path: train, fields: {x: {db: x, type: npy}, y: {db: y, type: int32}}";

  explicit LmdbReader(const Options& options)
      : IndexSource("the database",
                    {.rows = 0,
                     .passes = options.epochs ? std::optional(static_cast<uint32_t>(*options.epochs)) : std::nullopt},
                    std::make_unique<LmdbRows>(options)) {}

  Port bind(const BindArgs& args) override {
    Port out = IndexSource::bind(args);
    set_rows(rows().order().places(), rows().unit_rows());
    return out;
  }

  ChunkBound chunk_bound() const override {
    ChunkBound out = IndexSource::chunk_bound();
    out.text_bytes = out.rows * rows().bytes_of_a_row();
    return out;
  }
  uint64_t memory_bound() const override { return rows().index_bytes(); }
  std::vector<std::shared_ptr<const FileEntry>> files() const override { return rows().names().files(); }
  Place place(const RowId& id) const override { return rows().place_of(id.offset); }

  void seek(const Position& position) override {
    Position at = position;
    if (at.offset > 0) at.offset = place_in(at.pass, at.offset - 1) + 1;
    IndexSource::seek(at);
  }
  Unit unit_of(const RowId& id) const override {
    RowId at = id;
    at.offset = place_in(id.pass, id.offset);
    return IndexSource::unit_of(at);
  }

  void save(State& state) const override {
    IndexSource::save(state);
    rows().names().save(state);
    state.set("transaction", rows().transaction());
  }
  void check(const State& state) const override {
    rows().names().check(state);
    IndexSource::check(state);
    if (state.value("transaction") == rows().transaction()) return;
    throw DataError("the database has changed since the state was saved", {files().front()->path},
                    "a run goes on only with the data that it began with");
  }

 private:
  const LmdbRows& rows() const { return static_cast<const LmdbRows&>(producer()); }

  // Where in a pass the row stands.
  uint64_t place_in(uint32_t pass, uint64_t row) const {
    if (const auto place = rows().order().place(pass, row)) return *place;
    throw DataError(cat("the saved state is at row ", row, " of the database, which does not exist"));
  }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(lmdb_reader, LmdbReader);
