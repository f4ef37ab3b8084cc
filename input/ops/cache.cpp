// cache: keeps the rows of the first run in memory and gives them again in every further run.
//
// The rows, their order and their ids are the same as in the first run, but the passes are counted on. If the first run
// was not pulled to its end (because of a `take` after the cache), or if a saved state was restored in the middle of
// it, the rows are read once more.
#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/run/run_length.h"

namespace millrace {

namespace {

// "2GiB", "500 MB" or a number of bytes.
struct ByteCount {
  int64_t bytes = int64_t{2} << 30;
};

constexpr std::pair<std::string_view, double> kUnits[] = {
    {"", 1},      {"B", 1},        {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
    {"TB", 1e12}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};

}  // namespace

template <>
struct OptionType<ByteCount> {
  static ByteCount read(const Spec& spec) {
    const std::string& text = spec.as_string();
    const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::string_view unit =
        std::string_view(text).substr(std::min(text.find_first_not_of(' ', digits), text.size()));
    for (const auto& [name, factor] : kUnits) {
      if (unit != name) continue;
      const double bytes = Spec::scalar(text.substr(0, digits), false, spec.place()).as_double() * factor;
      if (bytes >= 1 && bytes < 0x1p62) return {static_cast<int64_t>(bytes)};
    }
    throw spec.error(cat("expected a number of bytes, got ", spec.describe()), "for example 512MiB or 2GiB");
  }
  static Spec write(const ByteCount& value) {
    for (const auto& [name, factor] : {std::pair("GiB", 30), std::pair("MiB", 20), std::pair("KiB", 10)}) {
      const int64_t one = int64_t{1} << factor;
      if (value.bytes % one == 0) return Spec::scalar(cat(value.bytes / one, name), false, {});
    }
    return Spec::scalar(cat(value.bytes), false, {});
  }
  static std::string type() { return "bytes, such as 512MiB"; }
  static std::vector<OptionForm> forms() {
    return {{.is = OptionForm::Is::integer, .range = {.min = 1}},
            {.is = OptionForm::Is::text, .pattern = "^[0-9.]+ *([KMGT]i?B|B)?$"}};
  }
};

namespace {

class Cache final : public RowBuffer {
 public:
  struct Options {
    ByteCount memory;
    void declare(OptionReader& o) {
      o.optional("memory", memory, "how much memory the rows may take; more is an error");
      o.only_speed("memory");
    }
  };
  static constexpr std::string_view kDoc = "keeps the rows in memory, so that a repeat after it reads them only once";
  static constexpr std::string_view kExample = "memory: 512MiB";

  explicit Cache(const Options& options) : memory_(static_cast<uint64_t>(options.memory.bytes)) {}

  Port bind(const BindArgs& args) override {
    spec_ = args.inputs.front().rows;
    block_rows_ = static_cast<int64_t>(std::max<uint64_t>(kBlockBytes / row_bytes(), 1));
    return RowBuffer::bind(args);
  }
  bool needs_end() const override { return true; }
  uint64_t memory_bound() const override { return memory_ + std::max<uint64_t>(kBlockBytes, row_bytes()); }

  std::optional<double> share() const override {
    if (!whole_) return RowBuffer::share();
    const int64_t all = rows_ + lacking_;
    return all == 0 ? 1 : static_cast<double>(given_ + lacking_) / static_cast<double>(all);
  }

  RowSpan pull(int64_t at_most) override {
    if (cancelled()) return {};  // once all rows are kept, no source would end this
    if (rows_to_pass_ > 0) read_again();
    if (given_ == rows_ && !whole_) take_one();
    if (given_ == rows_) return {};
    const RowBlock& block = blocks_[static_cast<size_t>(given_ / block_rows_)];
    const int64_t begin = given_ % block_rows_;
    const int64_t count = std::min({at_most, rows_ - given_, block_rows_ - begin});
    given_ += count;
    if (run_ == 0) return {&block, begin, count};
    return in_this_run(block, begin, count);
  }

  void rewind(uint32_t run) override {
    run_ = run;
    given_ = 0;
    rows_to_pass_ = 0;
    if (!whole_ || lacking_ > 0) begin_filling();
  }

  void set_silent(bool silent) override {
    RowBuffer::set_silent(silent);
    input().set_silent(silent || reads_again_);
  }

  // Only the pass differs from the rows of run 0.
  void fetch(const RowId& id, RowBlock& block, int64_t row) override {
    RowId first = id;
    first.pass = id.pass % RowBuffer::passes();
    RowBuffer::fetch(first, block, row);
    block.id(row) = id;
  }

  void save(State& state) const override {
    state.set("run", run_);
    state.set("given", static_cast<uint64_t>(given_ + lacking_ + rows_to_pass_));
    state.set("told", told_whole_ ? 1 : 0);
    save_length(state, RowBuffer::passes());
  }
  // In run 0 the input goes on after the rows that were given out. These rows are lacking, and are read when they are
  // needed.
  void restore(const State& state) override {
    run_ = state.count("run", UINT32_MAX);
    const uint64_t now = RowBuffer::passes();
    check_length(name(), {.saved = saved_length(state, now), .now = now, .run = run_});
    const auto given = state.count<int64_t>("given");
    told_whole_ = state.count("told", 1) != 0;
    if (run_ > 0) {
      begin_filling();
      rows_to_pass_ = given;
    } else {
      lacking_ = given;
    }
  }

 private:
  static constexpr uint64_t kBlockBytes = uint64_t{1} << 20;

  uint64_t row_bytes() const { return spec_.row_bytes() + sizeof(RowId); }

  void begin_filling() {
    rows_ = given_ = lacking_ = 0;
    varying_bytes_ = 0;
    whole_ = false;
    needs_rewind_ = true;
  }

  // After a restore: reads the rows again that had been given out.
  void read_again() {
    for (; rows_to_pass_ > 0; --rows_to_pass_, ++given_) {
      take_one();
      if (given_ == rows_) {
        throw DataError(cat(name(), ": the data have fewer rows than when the state was saved"), {},
                        "a run goes on only with the data that it began with");
      }
    }
    if (!told_whole_) set_reads_again(false);
  }

  void set_reads_again(bool again) {
    reads_again_ = again;
    input().set_silent(silent() || again);
  }

  // Puts the input's next row after the others.
  void take_one() {
    if (std::exchange(needs_rewind_, false)) {
      set_reads_again(told_whole_ || rows_to_pass_ > 0);
      RowBuffer::rewind(0);
    }
    const RowSpan row = input().pull(1);
    if (!row) {
      whole_ = told_whole_ = true;
      set_reads_again(false);
      return;
    }
    varying_bytes_ += row.block->varying_bytes(row.begin);
    if (static_cast<uint64_t>(rows_ + 1) * row_bytes() + varying_bytes_ > memory_) {
      throw ConfigError(cat(name(), ": only ", count_of(rows_, "row"), rows_ == 1 ? " fits" : " fit",
                            " into memory: ", memory_, " bytes"),
                        {}, "raise it, or leave the op out");
    }
    const auto block = static_cast<size_t>(rows_ / block_rows_);
    if (block == blocks_.size()) blocks_.emplace_back().configure(spec_, block_rows_);
    RowBlock& to = blocks_[block];
    to.resize(rows_ % block_rows_ + 1);
    to.copy_row(*row.block, row.begin, rows_ % block_rows_);
    ++rows_;
  }

  RowSpan in_this_run(const RowBlock& block, int64_t begin, int64_t count) {
    out_.configure(spec_, count);
    out_.resize(count);
    for (int64_t i = 0; i < count; ++i) {
      out_.copy_row(block, begin + i, i);
      out_.id(i).pass += run_ * RowBuffer::passes();
    }
    return {&out_, 0, count};
  }

  const uint64_t memory_;
  RowSpec spec_;
  int64_t block_rows_ = 1;

  std::deque<RowBlock> blocks_;
  int64_t rows_ = 0;            // rows that are kept
  uint64_t varying_bytes_ = 0;  // the bytes of their values whose size varies
  int64_t lacking_ = 0;         // earlier rows of run 0, given out before a state was saved
  bool whole_ = false;          // all rows of run 0 are kept, except the lacking ones
  bool told_whole_ = false;     // all rows of run 0 were taken once, perhaps before a state was saved
  bool reads_again_ = false;    // the rows taken now were taken before
  bool needs_rewind_ = false;   // the input must be rewound before the next row is taken
  uint32_t run_ = 0;
  int64_t given_ = 0;         // how many of the kept rows this run gave out
  int64_t rows_to_pass_ = 0;  // rows that a further run gave out before its state was saved: they are read again
  RowBlock out_;              // rows of a further run
};

}  // namespace

}  // namespace millrace

MILLRACE_REGISTER_OP(cache, Cache);
