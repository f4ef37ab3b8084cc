// print: writes a line to the log for every n-th row.
#include <algorithm>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/ops/shared/fields.h"

namespace millrace {
namespace {

// The most values that are shown of a field; more would hide the rest of the line.
constexpr size_t kShownValues = 8;

std::string text_of(const RowBlock& rows, int64_t row) {
  std::string out;
  for (size_t field = 0; field < rows.spec().fields.size(); ++field) {
    const FieldSpec& spec = rows.spec().fields[field];
    out += cat(' ', spec.name, '=');
    const auto show = [&out](size_t values, const auto& value) {
      for (size_t i = 0; i < std::min(values, kShownValues); ++i) out += cat(i == 0 ? "" : ",", value(i));
      if (values > kShownValues) out += cat(",.. (", values, ')');
    };
    if (spec.text) {
      const Varying& texts = rows.varying(field, row);
      show(texts.texts(), [&](size_t i) { return quote(texts.text(i)); });
    } else {
      with_number_type(spec.dtype, [&](auto type) {
        const auto numbers = rows.numbers<decltype(type)>(field, row);
        show(numbers.size(), [&](size_t i) { return numbers[i]; });
      });
    }
  }
  return out;
}

class Print final : public RowBuffer {
 public:
  struct Options {
    int64_t every = 1;
    void declare(OptionReader& o) {
      o.optional("every", every, {.min = 1}, "rows from one line to the next; the first row has a line");
    }
  };
  static constexpr std::string_view kDoc = "writes a line to the log for every n-th row: its number, place and values";
  static constexpr std::string_view kExample = "every: 1000";

  explicit Print(const Options& options) : every_(static_cast<uint64_t>(options.every)) {}

  bool reads_fields() const override { return true; }

  RowSpan pull(int64_t at_most) override {
    // A row with a line is pulled alone, so that this line stays in order with what other ops print and report, however
    // many rows are pulled at once.
    const auto unprinted = static_cast<int64_t>(std::min<uint64_t>((every_ - seen_ % every_) % every_, INT64_MAX));
    const RowSpan span = input().pull(silent() ? at_most : std::min(at_most, std::max<int64_t>(unprinted, 1)));
    for (int64_t i = 0; i < span.count && !silent(); ++i) {
      const int64_t row = span.begin + i;
      if (seen_++ % every_ != 0 || !host().print) continue;
      host().print(
          cat(name(), ": row ", seen_, ", ", host().place(span.block->id(row)).text(), ':', text_of(*span.block, row)));
    }
    return span;
  }
  void save(State& state) const override { state.set("seen", seen_); }
  void restore(const State& state) override { seen_ = state.count("seen"); }

 private:
  const uint64_t every_;
  uint64_t seen_ = 0;  // rows seen in the whole run
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(print, Print);
