// skip: leaves out the first rows.

#include "millrace/input/catalog.h"

namespace millrace {
namespace {

class Skip final : public RowBuffer {
 public:
  struct Options {
    int64_t rows = 0;
    void declare(OptionReader& o) { o.required("rows", rows, {.min = 0}, "how many rows are left out"); }
  };
  static constexpr std::string_view kDoc = "leaves out the first rows";
  static constexpr std::string_view kExample = "rows: 1000";

  explicit Skip(const Options& options) : rows_(options.rows) {}

  bool picks_by_number() const override { return true; }

  RowSpan pull(int64_t at_most) override {
    while (skipped_ < rows_) {
      const RowSpan span = input().pull(rows_ - skipped_);
      if (!span) return {};
      skipped_ += span.count;
      if (!silent()) dropped_ += static_cast<uint64_t>(span.count);
    }
    return input().pull(at_most);
  }
  void rewind(uint32_t run) override {
    skipped_ = 0;
    RowBuffer::rewind(run);
  }
  void save(State& state) const override {
    state.set("skipped", static_cast<uint64_t>(skipped_));
    state.set("dropped", dropped_);
  }
  void restore(const State& state) override {
    skipped_ = state.count("skipped", rows_);
    dropped_ = state.count("dropped");
  }
  void add_dropped(std::vector<Dropped>& out) const override {
    if (dropped_ > 0) out.push_back({"skip", dropped_});
  }

 private:
  const int64_t rows_;
  int64_t skipped_ = 0;   // in this run
  uint64_t dropped_ = 0;  // in all runs
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(skip, Skip);
