#include "millrace/layers/gradients/one_output.h"

#include "millrace/core/export.h"
#include "millrace/core/kernels/reduce.h"
#include "millrace/core/parallel.h"
#include "millrace/core/sizes.h"
#include "millrace/layers/simple_layer.h"

namespace millrace {
namespace {

// Sums for four columns: the gradient of the weight, and the sums of dx.
struct OneOutputSums {
  Quad weight, dx;
  MILLRACE_HD OneOutputSums& operator+=(const OneOutputSums& more) {
    weight += more.weight;
    dx += more.dx;
    return *this;
  }
};

// A column of the kernel is a quad of x's columns. The bias is treated as the weight of one more input, which is always
// 1.
struct OneOutputColumns {
  const float* x;
  const float* weight;
  const float* dy;
  int64_t in, x_stride, dy_stride;
  bool aligned, rectified;
  Target<float> dx, dweight, dbias, sums;

  struct Loaded {
    Quad x, weight;
    float slope;
  };
  MILLRACE_HD int64_t there(int64_t quad) const { return in - quad * 4; }
  MILLRACE_HD Loaded load(int64_t row, int64_t quad) const {
    const float slope = dy[row * dy_stride];
    if (there(quad) <= 0) return {{{1}}, {}, slope};
    return {load_quad(x + row * x_stride + quad * 4, there(quad), aligned),
            load_quad(weight + quad * 4, there(quad), aligned), slope};
  }
  MILLRACE_HD OneOutputSums term(const Loaded& loaded, int64_t row, int64_t quad) const {
    OneOutputSums out;
    for (int i = 0; i < 4; ++i) {
      out.weight.at[i] = loaded.slope * loaded.x.at[i];
      out.dx.at[i] = rectified && !(loaded.x.at[i] > 0) ? 0 : loaded.slope * loaded.weight.at[i];
    }
    if (dx.data != nullptr) store_dx(out.dx, row * dx.stride + quad * 4, there(quad));
    return out;
  }
  MILLRACE_HD void store_dx(const Quad& gradient, int64_t at, int64_t there) const {
    if (dx.beta == 0 && dx.alpha == nullptr) return store_quad(dx.data + at, gradient, there, aligned);
    for (int i = 0; i < 4; ++i) {
      if (i < there) dx.store_at(at + i, gradient.at[i]);
    }
  }
  MILLRACE_HD void store(int64_t quad, const OneOutputSums& sum) const {
    if (there(quad) <= 0) return dbias.store_at(0, sum.weight.at[0]);
    for (int i = 0; i < 4; ++i) {
      if (i >= there(quad)) break;
      dweight.store_at(quad * 4 + i, sum.weight.at[i]);
      if (sums.data != nullptr) sums.store_at(quad * 4 + i, sum.dx.at[i]);
    }
  }
};

int64_t quads_of(int64_t in) { return ceil_div(in, int64_t{4}); }

// A block of threads has so many quads: 64 bytes, the alignment of rows.
constexpr int kQuads = 4;

}  // namespace

size_t one_output_scratch(const TensorSpec& x) {
  constexpr int64_t kFloats = sizeof(OneOutputSums) / sizeof(float);
  const int64_t columns = quads_of(x.shape.row().elements()) + 1;
  return column_sum_scratch({Shape{x.shape[0], columns * kFloats}, x.dtype});
}

void compute_head(Context& context, const Head& head) {
  launch_rows(context, head.x.rows(), head.x.columns(), HeadRow(head));
}

void one_output_gradients(Context& context, const OneOutput& args, void* scratch) {
  const ConstTensorView& x = args.x;
  const bool aligned = has_quads(x) && has_quads(args.weight) && has_quads(args.dx.view);
  const auto target = [&](const Destination& gradient) { return Target<float>(context, gradient); };
  launch_columns<OneOutputSums, kQuads>(
      context, x.rows(), quads_of(x.columns()) + (args.dbias ? 1 : 0),
      OneOutputColumns{x.as<float>(), args.weight.as<float>(), args.dy.as<float>(), x.columns(), x.stride(),
                       args.dy.stride(), aligned, args.rectified, target(args.dx), target(args.dweight),
                       target(args.dbias), target(args.sums)},
      scratch);
}

}  // namespace millrace
