// A plug-in with a layer whose output depends on how often this process has called it: a training that goes on in
// another process goes on differently.
#include <atomic>
#include <cstdint>

#include "millrace/extend.h"
#include "millrace/plugin.h"

namespace {

using namespace millrace;

struct Scale {
  double factor;
  template <class T>
  MILLRACE_HD T operator()(T x) const {
    return x * static_cast<T>(factor);
  }
  template <class T>
  MILLRACE_HD T operator()(T, T dy) const {
    return dy * static_cast<T>(factor);
  }
};

class Forgetful final : public SimpleLayer {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "every value becomes a little larger with each step of the process";

  explicit Forgetful(const Options&) {}

  void forward(Context& context, const SimpleForward& args) const override {
    calls_.fetch_add(1);
    map_elements(context, args.x, args.y, scale());
  }
  void backward(Context& context, const SimpleBackward& args) const override {
    zip_elements(context, args.x, args.dy, args.dx, scale());
  }

 private:
  Scale scale() const { return {1 + 1e-3 * static_cast<double>(calls_.load())}; }

  mutable std::atomic<int64_t> calls_{0};
};

}  // namespace

MILLRACE_PLUGIN(catalog) { catalog.add_layer<Forgetful>("forgetful"); }
