// softsign: x / (1 + |x|), elementwise.
#include "millrace/layers/catalog.h"
#include "millrace/layers/simple_layer.h"

namespace millrace {
namespace {

struct Softsign {
  template <class T>
  MILLRACE_HD T operator()(T x) const {
    return x / (T(1) + (x < T(0) ? -x : x));
  }
};

// dy/dx = 1 / (1 + |x|)^2
struct SoftsignGradient {
  template <class T>
  MILLRACE_HD T operator()(T x, T dy) const {
    const T below = T(1) + (x < T(0) ? -x : x);
    return dy / (below * below);
  }
};

class SoftsignLayer final : public SimpleLayer {
 public:
  static constexpr std::string_view kDoc = "every value x becomes x / (1 + |x|)";

  void forward(Context& context, const SimpleForward& args) const override {
    map_elements(context, args.x, args.y, Softsign{});
  }
  void backward(Context& context, const SimpleBackward& args) const override {
    zip_elements(context, args.x, args.dy, args.dx, SoftsignGradient{});
  }
  bool backward_reads_output() const override { return false; }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(softsign, SoftsignLayer);
