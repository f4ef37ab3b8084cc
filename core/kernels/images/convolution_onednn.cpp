#include <algorithm>
#include <array>
#include <dnnl.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/core/kernels/epilogue.h"
#include "millrace/core/kernels/images/convolution_cpu.h"
#include "millrace/core/kernels/images/tiles.h"
#include "millrace/core/kernels/images/weight_layout.h"
#include "millrace/core/kernels/onednn_planning.h"
#include "millrace/core/kernels/slot_pool.h"
#include "millrace/core/kernels/slot_primitive.h"
#include "millrace/core/sizes.h"
#include "millrace/core/text.h"

namespace millrace::cpu {

namespace {

using dnnl::memory;
using Tag = memory::format_tag;

constexpr int64_t kNoLimit = INT64_MAX;
// Values that one task adds up.
constexpr int64_t kSumBlock = 16384;

// A convolution of some images, as oneDNN describes it.
class Described {
 public:
  Described(const ConvolutionSpec& spec, int64_t images)
      : x(images_of(images, spec.in_channels, spec.height.in, spec.width.in)),
        y(images_of(images, spec.out_channels, spec.height.out(), spec.width.out())),
        any_weight(weight_of(spec, Tag::any, Tag::any)),
        plain_weight(weight_of(spec, Tag::oihw, Tag::goihw)),
        bias({spec.out_channels}, memory::data_type::f32, Tag::x),
        strides{spec.height.stride, spec.width.stride},
        dilates{spec.height.dilation - 1, spec.width.dilation - 1},
        before{spec.height.before, spec.width.before},
        after{spec.height.after, spec.width.after} {
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  }

  dnnl::convolution_forward::primitive_desc forward(const dnnl::engine& engine, bool with_bias) const {
    const memory::desc none;
    return {{dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, x, any_weight,
             with_bias ? bias : none, y, strides, dilates, before, after},
            attributes,
            engine};
  }
  dnnl::convolution_backward_data::primitive_desc input_gradient(const dnnl::engine& engine) const {
    return {{dnnl::algorithm::convolution_direct, x, any_weight, y, strides, dilates, before, after},
            attributes,
            engine,
            forward(engine, false)};
  }
  dnnl::convolution_backward_weights::primitive_desc weight_gradient(const dnnl::engine& engine, bool with_bias) const {
    const memory::desc none;
    return {{dnnl::algorithm::convolution_direct, x, any_weight, with_bias ? bias : none, y, strides, dilates, before,
             after},
            attributes,
            engine,
            forward(engine, with_bias)};
  }

  memory::desc x, y, any_weight, plain_weight, bias;

 private:
  static memory::desc images_of(int64_t images, int64_t channels, int64_t height, int64_t width) {
    return memory::desc({images, channels, height, width}, memory::data_type::f32, Tag::nhwc);
  }
  static memory::desc weight_of(const ConvolutionSpec& spec, Tag one_group, Tag groups) {
    const int64_t out = spec.out_channels / spec.groups, in = spec.in_channels / spec.groups;
    const int64_t height = spec.height.kernel, width = spec.width.kernel;
    if (spec.groups == 1) return memory::desc({out, in, height, width}, memory::data_type::f32, one_group);
    return memory::desc({spec.groups, out, in, height, width}, memory::data_type::f32, groups);
  }

  memory::dims strides, dilates, before, after;
  dnnl::primitive_attr attributes;
};

// The common part of the passes. A batch is cut into tiles of images, of at most two sizes; each tile is one call of a
// primitive. With `alone`, each image is one call.
class ImagePass : public Convolution {
 public:
  ImagePass(Context& context, const ConvolutionSpec& spec, bool alone, int64_t most_tiles = kNoLimit)
      : spec_(spec),
        alone_(alone),
        most_tiles_(most_tiles),
        threads_(context.executor().threads()),
        tiles_(spec.batch, spec.products(), most_tiles),
        slots_(slots_of(tiles_)) {}

  // Suits passes that read the weight.
  void run(Context& context, const ConvolutionArgs& args) override {
    first_run_.require_code_memory();
    context.executor().run([&] {
      weight_->change(args.weight);
      context.executor().parallel_for(tiles_.count(), [&](int64_t tile) { run_tile(args, tile); });
    });
  }

 protected:
  virtual void run_tile(const ConvolutionArgs& args, int64_t tile) = 0;

  // Makes the primitives and their memory: `describe(described, engine)` gives the library's description of a pass.
  // `ids` are the pass's arguments in the order in which each call gives their data; the third one is the weight or its
  // gradient. The scratchpad comes before the third one. Calls do not give the data of a weight that is read: it is
  // weight_->inner(). Returns the weight's layout. `unbooked`: bytes of scratch that the library does not ask for, but
  // uses; `image_bytes`: bytes that a slot has for each image besides the scratch, see extra().
  template <class Primitive, class Describe>
  memory::desc plan(Context& context, const char* what, std::span<const int> ids, const Describe& describe,
                    size_t unbooked = 0, size_t image_bytes = 0) {
    memory::desc weight;
    const std::string whole = cat("a convolution of ", spec_.input().text(), " with ", spec_.weight().text());
    plan_inside(context, whole, [&](const dnnl::engine& engine) {
      const auto pass_of = [&](int64_t images) { return describe(Described(spec_, images), engine); };
      const auto layout_of = [](const auto& pass, int id) { return pass.query_md(dnnl::query::exec_arg_md, id); };
      const auto weight_of = [&](const auto& pass) { return layout_of(pass, ids[2]); };
      weight = weight_of(pass_of(most_of(tiles_)));
      // Both sizes of a tile must have one layout.
      if (!alone_ && weight_of(pass_of(tiles_.least_images())) != weight) {
        tiles_ = tiles_.evened();
        weight = weight_of(pass_of(tiles_.most_images()));
      }
      const bool reads = ids[2] == DNNL_ARG_WEIGHTS;
      weight_.emplace(engine, Described(spec_, 1).plain_weight, weight,
                      reads ? WeightLayout::Way::inwards : WeightLayout::Way::outwards);
      for (const int64_t images : {most_of(tiles_), alone_ ? 1 : tiles_.least_images()}) {
        std::optional<SlotPrimitive>& primitive = primitives_[kind_of(images)];
        if (primitive) continue;
        const auto pass = pass_of(images);
        const memory::desc scratchpad = pass.scratchpad_desc();
        scratch_bytes_ = std::max(scratch_bytes_, aligned_bytes(scratchpad.get_size() + unbooked));
        std::vector<SlotPrimitive::Arg> args;
        for (const int id : ids) args.push_back({id, layout_of(pass, id)});
        if (reads) args[2].data = weight_->inner();
        args.insert(args.begin() + 2, {DNNL_ARG_SCRATCHPAD, scratchpad});
        primitive.emplace(what, engine, make_primitive<Primitive>(pass), args, slots_.size());
      }
    });
    for (size_t slot = 0; slot < slots_.size(); ++slot) {
      scratch_.emplace_back(Device::cpu(), scratch_bytes_ + static_cast<size_t>(most_of(tiles_)) * image_bytes);
    }
    return weight;
  }
  void* scratch(size_t slot) const { return scratch_[slot].data(); }
  void* extra(size_t slot) const { return static_cast<std::byte*>(scratch(slot)) + scratch_bytes_; }
  SlotPrimitive& primitive(int64_t images) { return *primitives_[kind_of(images)]; }

  // body(begin, images) for each call of a primitive that the tile needs.
  template <class F>
  void for_each_call(int64_t tile, const F& body) const {
    const int64_t end = tiles_.begin(tile) + tiles_.images(tile), images = alone_ ? 1 : tiles_.images(tile);
    for (int64_t begin = tiles_.begin(tile); begin < end; begin += images) body(begin, images);
  }

  const float* x_of(const void* x, int64_t image) const {
    return static_cast<const float*>(x) + image * spec_.input().shape.row().elements();
  }
  const float* y_of(const void* y, int64_t image) const {
    return static_cast<const float*>(y) + image * spec_.output().shape.row().elements();
  }

  // The most bytes of all slots, for this batch or a smaller one.
  size_t slot_bytes(size_t extra_an_image = 0) const {
    size_t most = 0;
    for (int64_t batch = 1; batch <= spec_.batch; ++batch) {
      const ImageTiles tiles(batch, spec_.products(), most_tiles_);
      const size_t slots = slots_of(tiles);
      const auto images = static_cast<size_t>(most_of(tiles));
      most = std::max(most, slots * (scratch_bytes_ + aligned_bytes(images * extra_an_image)));
    }
    return most;
  }

  size_t slots_of(const ImageTiles& tiles) const {
    return static_cast<size_t>(std::min<int64_t>(tiles.count(), threads_));
  }

  // The most images of a call.
  int64_t most_of(const ImageTiles& tiles) const { return alone_ ? 1 : tiles.most_images(); }

  ConvolutionSpec spec_;
  bool alone_;
  int64_t most_tiles_;
  int threads_;
  ImageTiles tiles_;
  SlotPool slots_;
  FirstRun first_run_;
  std::optional<WeightLayout> weight_;

 private:
  size_t kind_of(int64_t images) const { return images == most_of(tiles_) ? 0 : 1; }

  std::array<std::optional<SlotPrimitive>, 2> primitives_;
  size_t scratch_bytes_ = 0;
  std::vector<Memory> scratch_;  // one for each slot
};

class OnednnConvolution final : public ImagePass {
 public:
  OnednnConvolution(Context& context, const ConvolutionSpec& spec, const ConvolutionOptions& options)
      : ImagePass(context, spec, options.images_alone), bias_(options.bias), activation_(options.activation) {
    constexpr int ids[] = {DNNL_ARG_SRC, DNNL_ARG_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS};
    plan<dnnl::convolution_forward>(
        context, "a convolution", std::span(ids, bias_ ? 4 : 3),
        [&](const Described& pass, const dnnl::engine& engine) { return pass.forward(engine, bias_); });
  }
  size_t bytes() const override { return weight_->bytes() + slot_bytes(); }

 private:
  void run_tile(const ConvolutionArgs& args, int64_t tile) override {
    const SlotPool::Lease lease(slots_);
    for_each_call(tile, [&](int64_t begin, int64_t images) {
      float* y = const_cast<float*>(y_of(args.y, begin));
      const void* const data[] = {x_of(args.x, begin), y, scratch(lease.slot()), args.bias};
      primitive(images).run(lease.slot(), std::span(data, bias_ ? 4 : 3));
      // The library's activation would turn a NaN into 0.
      add_bias_and_activate<float>(nullptr, activation_, images * spec_.output().shape.row().elements(), y);
    });
  }

  bool bias_;
  FusedActivation activation_;
};

class OnednnInputGradient final : public ImagePass {
 public:
  OnednnInputGradient(Context& context, const ConvolutionSpec& spec, const ConvolutionOptions& options)
      : ImagePass(context, spec, options.images_alone),
        beta_(options.beta),
        image_size_(spec.input().shape.row().elements()) {
    constexpr int ids[] = {DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS};
    plan<dnnl::convolution_backward_data>(
        context, "the gradient of a convolution's input", ids,
        [](const Described& pass, const dnnl::engine& engine) { return pass.input_gradient(engine); }, 0,
        added_bytes());
  }
  size_t bytes() const override { return weight_->bytes() + slot_bytes(added_bytes()); }

 private:
  // Bytes for each image, if the gradient is added to other values.
  size_t added_bytes() const { return beta_ == 0 ? 0 : static_cast<size_t>(image_size_) * sizeof(float); }

  void run_tile(const ConvolutionArgs& args, int64_t tile) override {
    const SlotPool::Lease lease(slots_);
    const float alpha = args.dx.alpha != nullptr ? *args.dx.alpha : 1.0F;
    for_each_call(tile, [&](int64_t begin, int64_t images) {
      float* const dx = const_cast<float*>(x_of(args.dx.view.data(), begin));
      float* const gradient = beta_ == 0 ? dx : static_cast<float*>(extra(lease.slot()));
      const void* const data[] = {y_of(args.dy, begin), gradient, scratch(lease.slot())};
      primitive(images).run(lease.slot(), data);
      if (gradient == dx && alpha == 1.0F) return;
      store_row<float>(gradient, alpha, beta_, nullptr, FusedActivation::none, images * image_size_, dx);
    });
  }

  float beta_;
  int64_t image_size_;
};

// Each tile makes a gradient of its own; they are added up in order.
class OnednnWeightGradient final : public ImagePass {
 public:
  OnednnWeightGradient(Context& context, const ConvolutionSpec& spec, bool bias)
      : ImagePass(context, spec, false, most_parts(spec)), bias_(bias), plain_(Device::cpu(), spec.weight().bytes()) {
    constexpr int ids[] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS};
    const memory::desc weight = plan<dnnl::convolution_backward_weights>(
        context, "the gradient of a convolution's weight", std::span(ids, bias ? 4 : 3),
        [&](const Described& pass, const dnnl::engine& engine) { return pass.weight_gradient(engine, bias); },
        unbooked_bytes());
    weight_size_ = static_cast<int64_t>(aligned_bytes(weight.get_size()) / sizeof(float));
    bias_size_ = bias ? static_cast<int64_t>(aligned_bytes(Described(spec, 1).bias.get_size()) / sizeof(float)) : 0;
    // The sum is made in the first part.
    parts_ = Memory(Device::cpu(), static_cast<size_t>(tiles_.count() * part_size()) * sizeof(float));
  }

  void run(Context& context, const ConvolutionArgs& args) override {
    first_run_.require_code_memory();
    Executor& executor = context.executor();
    executor.run([&] {
      executor.parallel_for(tiles_.count(), [&](int64_t tile) { run_tile(args, tile); });
      executor.parallel_for(ceil_div(part_size(), kSumBlock), [&](int64_t block) {
        const int64_t begin = block * kSumBlock;
        add_parts(begin, std::min(part_size(), begin + kSumBlock));
      });
      weight_->change(plain_.data());
      store(static_cast<const float*>(plain_.data()), args.dweight);
      if (bias_) store(part(0) + weight_size_, args.dbias);
    });
  }
  size_t bytes() const override { return plain_.bytes() + weight_->bytes() + parts_.bytes() + slot_bytes(); }

 private:
  // Limits the memory for parts of large weights, which would else have up to sixteen parts.
  static int64_t most_parts(const ConvolutionSpec& spec) {
    constexpr size_t kMostBytes = size_t{16} << 20;
    return std::max<int64_t>(4, static_cast<int64_t>(kMostBytes / spec.weight().bytes()));
  }

  // For windows of one pixel with strides the library first gathers an image's pixels in its scratchpad. It writes
  // whole registers for each pixel, but asks only for the channels that there are (2.6, AVX2).
  size_t unbooked_bytes() const {
    const ConvolutionSpec::Axis &high = spec_.height, &wide = spec_.width;
    if (high.kernel > 1 || wide.kernel > 1 || (high.stride == 1 && wide.stride == 1)) return 0;
    constexpr int64_t kRegister = 16;
    return static_cast<size_t>(high.out() * wide.out() * kRegister) * sizeof(float);
  }

  int64_t part_size() const { return weight_size_ + bias_size_; }
  float* part(int64_t tile) const { return static_cast<float*>(parts_.data()) + tile * part_size(); }

  void run_tile(const ConvolutionArgs& args, int64_t tile) override {
    const SlotPool::Lease lease(slots_);
    const int64_t begin = tiles_.begin(tile);
    float* const own = part(tile);
    const void* const data[] = {x_of(args.x, begin), y_of(args.dy, begin), scratch(lease.slot()), own,
                                own + weight_size_};
    primitive(tiles_.images(tile)).run(lease.slot(), std::span(data, bias_ ? 5 : 4));
  }

  // Adds all parts to the first one, then copies the weight's gradient to where its layout is changed.
  void add_parts(int64_t begin, int64_t end) const {
    float* const sums = part(0);
    for (int64_t tile = 1; tile < tiles_.count(); ++tile) {
      const float* const more = part(tile);
      for (int64_t i = begin; i < end; ++i) sums[i] += more[i];
    }
    const int64_t weight_end = std::min(end, weight_size_);
    if (begin < weight_end) std::copy(sums + begin, sums + weight_end, static_cast<float*>(weight_->inner()) + begin);
  }

  static void store(const float* gradient, const Destination& to) {
    if (!to) return;
    store_row<float>(gradient, to.alpha != nullptr ? *to.alpha : 1.0F, to.beta, nullptr, FusedActivation::none,
                     to.view.elements(), to.view.as<float>());
  }

  bool bias_;
  Memory plain_;  // the gradient in the model's layout
  int64_t weight_size_ = 0, bias_size_ = 0;
  Memory parts_;
};

}  // namespace

std::unique_ptr<Convolution> make_onednn_convolution(Context& context, const ConvolutionSpec& spec,
                                                     const ConvolutionOptions& options) {
  switch (options.pass) {
    case ConvolutionPass::forward: break;
    case ConvolutionPass::input_gradient: return std::make_unique<OnednnInputGradient>(context, spec, options);
    case ConvolutionPass::weight_gradient: return std::make_unique<OnednnWeightGradient>(context, spec, options.bias);
  }
  return std::make_unique<OnednnConvolution>(context, spec, options);
}

}  // namespace millrace::cpu
