// take: gives the first rows, and asks for no more.
#include <algorithm>
#include <optional>
#include <vector>

#include "millrace/input/catalog.h"

namespace millrace {
namespace {

class Take final : public RowBuffer {
 public:
  struct Options {
    int64_t rows = 0;
    void declare(OptionReader& o) { o.required("rows", rows, {.min = 0}, "how many rows are given out"); }
  };
  static constexpr std::string_view kDoc = "gives the first rows, and reads no more";
  static constexpr std::string_view kExample = "rows: 1000";

  explicit Take(const Options& options) : rows_(options.rows) {}

  bool endless(const std::vector<bool>&) const override { return false; }
  bool picks_by_number() const override { return true; }

  // The input may end earlier.
  std::optional<double> share() const override {
    const double taken = rows_ == 0 ? 1 : static_cast<double>(taken_) / static_cast<double>(rows_);
    return std::max(taken, RowBuffer::share().value_or(0));
  }

  RowSpan pull(int64_t at_most) override {
    if (taken_ >= rows_) return {};
    const RowSpan span = input().pull(std::min(at_most, rows_ - taken_));
    taken_ += span.count;
    return span;
  }
  void rewind(uint32_t run) override {
    taken_ = 0;
    RowBuffer::rewind(run);
  }
  void save(State& state) const override { state.set("taken", static_cast<uint64_t>(taken_)); }
  void restore(const State& state) override { taken_ = state.count("taken", rows_); }

 private:
  const int64_t rows_;
  int64_t taken_ = 0;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(take, Take);
