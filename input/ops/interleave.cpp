// interleave: one row from each input in turn; an input that has ended is passed over.
#include <algorithm>
#include <utility>
#include <vector>

#include "millrace/input/catalog.h"
#include "millrace/input/ops/shared/join.h"

namespace millrace {
namespace {

class Interleave final : public RowBuffer {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "takes one row from each of its inputs in turn, until all have ended";

  explicit Interleave(const Options&) {}

  bool joins() const override { return true; }
  Port bind(const BindArgs& args) override {
    ended_.assign(args.inputs.size(), false);
    check_inputs(args);
    return RowBuffer::bind(args);
  }

  int64_t spread() const override {
    return static_cast<int64_t>(ended_.size()) * std::max<int64_t>(RowBuffer::spread(), 1);
  }

  RowSpan pull(int64_t) override {
    for (size_t tried = 0; tried < ended_.size(); ++tried) {
      const size_t turn = std::exchange(turn_, (turn_ + 1) % ended_.size());
      if (ended_[turn]) continue;
      if (const RowSpan row = input(turn).pull(1)) return row;
      ended_[turn] = true;
    }
    return {};
  }
  void rewind(uint32_t run) override {
    turn_ = 0;
    ended_.assign(ended_.size(), false);
    RowBuffer::rewind(run);
  }
  // Which inputs have ended is asked again: in a restored graph they may go on.
  void save(State& state) const override { state.set("turn", turn_); }
  void restore(const State& state) override { turn_ = state.count("turn", ended_.size() - 1); }

 private:
  size_t turn_ = 0;
  std::vector<bool> ended_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(interleave, Interleave);
