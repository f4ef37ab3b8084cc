// A plug-in that fails when half of it is added.
#include <stdexcept>

#include "millrace/extend.h"
#include "millrace/plugin.h"

namespace {

using namespace millrace;

struct Take {
  template <class T>
  MILLRACE_HD T operator()(T x) const {
    return x;
  }
  template <class T>
  MILLRACE_HD T operator()(T, T dy) const {
    return dy;
  }
};

class Same final : public SimpleLayer {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "nothing";
  explicit Same(const Options&) {}
  void forward(Context& context, const SimpleForward& args) const override {
    map_elements(context, args.x, args.y, Take{});
  }
  void backward(Context& context, const SimpleBackward& args) const override {
    zip_elements(context, args.x, args.dy, args.dx, Take{});
  }
};

}  // namespace

MILLRACE_PLUGIN(catalog) {
  catalog.layers.layers.add<Same>("same");
  throw std::runtime_error("no second half");
}
