// queue: a place to run ahead. Changes no row and no order, only how many decoded rows may wait.
#include "millrace/input/catalog.h"

namespace millrace {
namespace {

class Queue final : public Transform {
 public:
  struct Options {
    int64_t capacity = 32;
    int64_t threads = 1;
    void declare(OptionReader& o) {
      o.optional("capacity", capacity, {.min = 1, .max = 1e12},
                 "rows that may wait, or batches if it stands after a batch");
      o.optional("threads", threads, {.min = 1, .max = 1024}, "how many tasks may decode at once");
      o.only_speed("capacity");
      o.used_as("capacity", OptionUse::waiting);
      o.only_speed("threads");
      o.used_as("threads", OptionUse::tasks);
    }
  };
  static constexpr std::string_view kDoc = "lets the ops before it run ahead; changes no row and no order";
  static constexpr std::string_view kExample = "capacity: 1000";

  explicit Queue(const Options& options) : options_(options) {}

  void to_onnx(OnnxRows&) const override {}
  void apply(Chunk&) const override {}
  std::optional<std::vector<std::string>> concerned_fields() const override { return std::vector<std::string>(); }
  Ahead ahead() const override { return {options_.capacity, static_cast<int>(options_.threads)}; }

 private:
  const Options options_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(queue, Queue);
