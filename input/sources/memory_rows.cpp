#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "millrace/core/options.h"
#include "millrace/core/random.h"
#include "millrace/input/source.h"

namespace millrace {

namespace {

// The most that one task copies.
constexpr uint64_t kBytesOfAUnit = 1 << 18;
constexpr uint64_t kRowsOfAUnit = 1024;

struct MemoryOptions {
  std::optional<int64_t> epochs;

  void declare(OptionReader& o) {
    o.optional("epochs", epochs, {.min = 1, .max = UINT32_MAX}, "how often to give the rows; absent: endlessly");
    o.used_as("epochs", OptionUse::ends);
    o.decides("epochs", Decides::length);
    o.in_pass("epochs", int64_t{1});
  }
};

// Turns a unit into rows.
class CopyRows final : public Transform {
 public:
  explicit CopyRows(std::shared_ptr<const RowBlock> rows) : rows_(std::move(rows)) {}

  Port bind(const BindArgs&) override { return {.type = PortType::rows, .rows = rows_->spec()}; }

  void apply(Chunk& chunk) const override {
    const auto count = static_cast<int64_t>(chunk.unit.end - chunk.unit.begin);
    chunk.rows.configure(rows_->shared_spec(), std::max<int64_t>(count, 1));
    chunk.rows.resize(count);
    for (int64_t row = 0; row < count; ++row) {
      const uint64_t number = chunk.unit.begin + static_cast<uint64_t>(row);
      chunk.rows.copy_row(*rows_, static_cast<int64_t>(number), row);
      chunk.rows.id(row) = IndexSource::id_of(chunk.unit, number);
    }
    chunk.rows.complete_texts();
  }

 private:
  const std::shared_ptr<const RowBlock> rows_;
};

// A hash of all values, by field and row, without the padding between rows.
uint64_t hash_of(const RowBlock& rows) {
  uint64_t hash = 0;
  const auto add = [&hash](std::string_view bytes) {
    const uint64_t both[2] = {hash, fnv1a64(bytes)};
    hash = fnv1a64({reinterpret_cast<const char*>(both), sizeof both});
  };
  for (size_t field = 0; field < rows.spec().fields.size(); ++field) {
    const FieldSpec& spec = rows.spec().fields[field];
    for (int64_t row = 0; row < rows.size(); ++row) {
      if (spec.varies()) {
        rows.varying(field, row).visit_bytes(add);
      } else {
        add({reinterpret_cast<const char*>(rows.at(field, row)), spec.tensor().bytes()});
      }
    }
  }
  return hash;
}

class MemorySource final : public IndexSource {
 public:
  using Options = MemoryOptions;

  MemorySource(std::shared_ptr<const RowBlock> rows, const Options& options)
      : IndexSource("memory",
                    {.rows = static_cast<uint64_t>(rows->size()),
                     .unit_rows = std::clamp<uint64_t>(kBytesOfAUnit / (rows->spec().row_bytes() + 1), 1, kRowsOfAUnit),
                     .passes = passes_of(options)},
                    std::make_unique<CopyRows>(rows)),
        rows_(std::move(rows)) {}

  // The hash tells whether a later program holds the same rows. Only the first save takes time to compute it.
  void save(State& state) const override {
    IndexSource::save(state);
    state.set("hash", hash());
  }
  void check(const State& state) const override {
    IndexSource::check(state);
    if (state.value("hash") == hash()) return;
    throw DataError("the rows in memory differ from the rows of the saved state", {},
                    "a run goes on only with the data that it began with");
  }

 private:
  static std::optional<uint32_t> passes_of(const Options& options) {
    return options.epochs ? std::optional(static_cast<uint32_t>(*options.epochs)) : std::nullopt;
  }

  uint64_t hash() const {
    if (!hash_) hash_ = hash_of(*rows_);
    return *hash_;
  }

  const std::shared_ptr<const RowBlock> rows_;
  mutable std::optional<uint64_t> hash_;
};

}  // namespace

OpRegistry::Entry memory_op(std::shared_ptr<const RowBlock> rows) {
  if (rows == nullptr) throw ConfigError("rows in memory need a block");
  rows->check_texts();
  return {.doc = "gives the rows that the program holds",
          .describe = describe_options<MemoryOptions>,
          .make = [rows = std::move(rows)](const Spec& options, Spec* resolved) -> std::unique_ptr<Op> {
            return std::make_unique<MemorySource>(rows, read_options<MemoryOptions>(options, resolved));
          }};
}

}  // namespace millrace
