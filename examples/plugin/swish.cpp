// A plug-in with a layer: swish, x * sigmoid(beta x) of every value.
#include <millrace/plugin.h>

using namespace millrace;

namespace {

struct Swish {
  double beta;
  template <class T>
  MILLRACE_HD T operator()(T x) const {
    return x / (T(1) + math::exp(-static_cast<T>(beta) * x));
  }
};

// With s = sigmoid(beta x): dy/dx = s + beta x s (1 - s).
struct SwishGradient {
  double beta;
  template <class T>
  MILLRACE_HD T operator()(T x, T dy) const {
    const T b = static_cast<T>(beta), s = T(1) / (T(1) + math::exp(-b * x));
    return dy * (s + b * x * s * (T(1) - s));
  }
};

class SwishLayer final : public SimpleLayer {
 public:
  struct Options {
    double beta = 1;
    void declare(OptionReader& o) { o.optional("beta", beta, {.min = 0}, "how sharp the bend is"); }
  };
  static constexpr std::string_view kDoc = "every value x becomes x * sigmoid(beta x)";

  explicit SwishLayer(const Options& options) : options_(options) {}

  void forward(Context& context, const SimpleForward& args) const override {
    map_elements(context, args.x, args.y, Swish{options_.beta});
  }
  void backward(Context& context, const SimpleBackward& args) const override {
    zip_elements(context, args.x, args.dy, args.dx, SwishGradient{options_.beta});
  }
  bool backward_reads_output() const override { return false; }

 private:
  Options options_;
};

}  // namespace

MILLRACE_PLUGIN(catalog) { catalog.add_layer<SwishLayer>("swish"); }
