// dropout: makes a share of the values 0 while a model trains. Step and index decide which ones are drawn.
#include "millrace/layers/catalog.h"
#include "millrace/layers/onnx_layer.h"
#include "millrace/layers/simple_layer.h"

namespace millrace {
namespace {

// The kept values are scaled, so that the mean stays the same, and predictions need no change.
struct Drop {
  Draws draws;
  double rate, scale;

  Drop(const Draws& numbers, double share) : draws(numbers), rate(share), scale(1 / (1 - share)) {}

  template <class T>
  MILLRACE_HD T operator()(T x, int64_t i) const {
    return draws.unit(i) < rate ? T(0) : x * static_cast<T>(scale);
  }
};

class Dropout final : public SimpleLayer {
 public:
  struct Options {
    double rate = 0.5;
    void declare(OptionReader& o) {
      o.optional("rate", rate, {.min = 0, .max = 1, .below_max = true}, "share of the values that become 0");
      o.stands_alone("rate");
    }
  };
  static constexpr std::string_view kDoc =
      "in training, a share of the values, drawn anew in every step, becomes 0, and every other x becomes x / (1 - "
      "rate); outside of training x stays";

  explicit Dropout(const Options& options) : rate_(options.rate) {}

  void forward(Context& context, const SimpleForward& args) const override {
    if (args.mode == Mode::predict) {
      copy_elements(context, args.x, args.y);
    } else {
      map_indexed(context, args.x, args.y, Drop(args.draws, rate_));
    }
  }
  // The gradient is dropped and scaled like the values.
  void backward(Context& context, const SimpleBackward& args) const override {
    map_indexed(context, args.dy, args.dx, Drop(args.draws, rate_));
  }
  bool backward_reads_input() const override { return false; }
  bool backward_reads_output() const override { return false; }
  bool draws() const override { return true; }
  OnnxValue to_onnx(const OnnxLayer& layer) const override { return layer.inputs[0]; }

 private:
  double rate_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(dropout, Dropout);
