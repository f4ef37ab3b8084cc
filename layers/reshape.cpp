#include <algorithm>
#include <vector>

#include "millrace/layers/catalog.h"
#include "millrace/layers/simple_layer.h"

namespace millrace {
namespace {

// Stands for the size that the others leave.
constexpr int64_t kRest = -1;

struct ReshapeOptions {
  std::vector<int64_t> shape;
  void declare(OptionReader& o) {
    o.required("shape", shape, "sizes of a row's axes, without the batch; one may be -1: what the others leave");
    o.stands_alone("shape");
    if (o.reading()) check(o.node("shape"));
  }

 private:
  void check(const Spec& node) const {
    constexpr size_t most = Shape::kMaxRank - 1;
    if (shape.empty() || shape.size() > most) {
      throw node.error(cat("expected 1 to ", most, " sizes, got ", shape.size()));
    }
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] > 0 || shape[i] == kRest) continue;
      const Spec& size = node.is_list() ? node.items()[i] : node;
      throw size.error(cat("expected at least 1, or -1, got ", size.describe()));
    }
    const auto rests = std::count(shape.begin(), shape.end(), kRest);
    if (rests > 1) throw node.error(cat("expected -1 once at most, got it ", rests, " times"));
  }
};

// The values of a row keep their order, so both passes copy rows.
class Reshape final : public SimpleLayer {
 public:
  using Options = ReshapeOptions;
  static constexpr std::string_view kDoc = "the values of a row in another shape, their order kept";
  static constexpr std::string_view kExample = "shape: [1, 28, 28]";

  explicit Reshape(const Options& options) : sizes_(options.shape) {}

  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder&) override {
    const int64_t values = inputs[0].shape.elements();
    std::vector<int64_t> sizes = sizes_;
    const auto rest = std::find(sizes.begin(), sizes.end(), kRest);
    if (rest != sizes.end()) *rest = 1;
    const int64_t factor = Shape(sizes).elements();
    if (rest != sizes.end()) *rest = values / factor;
    const Shape shape(sizes);
    if (shape.elements() == values) return {shape, inputs[0].dtype};
    throw ShapeError(cat("expected a row of ", rest != sizes.end() ? "a multiple of " : "", count_of(factor, "value"),
                         " for the shape ", sizes_text(), ", got ", inputs[0].text()));
  }
  void forward(Context& context, const SimpleForward& args) const override { copy_elements(context, args.x, args.y); }
  void backward(Context& context, const SimpleBackward& args) const override {
    copy_elements(context, args.dy, args.dx);
  }
  bool backward_reads_input() const override { return false; }
  bool backward_reads_output() const override { return false; }

 private:
  std::string sizes_text() const {
    std::vector<std::string> texts;
    for (const int64_t size : sizes_) texts.push_back(cat(size));
    return cat('(', join(texts, ", "), ')');
  }

  std::vector<int64_t> sizes_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(reshape, Reshape);
