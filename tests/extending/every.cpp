// every: lets one row in n through, the first of each n.
#include "millrace/input/catalog.h"

namespace millrace {
namespace {

class Every final : public RowBuffer {
 public:
  struct Options {
    int64_t rows = 1;
    void declare(OptionReader& o) { o.required("rows", rows, {.min = 1}, "one row in so many is let through"); }
  };
  static constexpr std::string_view kDoc = "lets one row in n through";

  explicit Every(const Options& options) : options_(options) {}

  RowSpan pull(int64_t) override {
    while (const RowSpan row = input().pull(1)) {
      if (seen_++ % static_cast<uint64_t>(options_.rows) == 0) return row;
      ++dropped_;
    }
    return {};
  }
  void rewind(uint32_t run) override {
    seen_ = 0;
    RowBuffer::rewind(run);
  }

  void save(State& state) const override {
    state.set("seen", seen_);
    state.set("dropped", dropped_);
  }
  void restore(const State& state) override {
    seen_ = state.count("seen");
    dropped_ = state.count("dropped");
  }
  void add_dropped(std::vector<Dropped>& out) const override {
    if (dropped_ > 0) out.push_back({"every", dropped_});
  }

 private:
  Options options_;
  uint64_t seen_ = 0, dropped_ = 0;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(every, Every);
