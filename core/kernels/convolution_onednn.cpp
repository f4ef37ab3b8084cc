#include <algorithm>
#include <array>
#include <dnnl.hpp>
#include <optional>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/kernels/convolution_cpu.h"
#include "millrace/core/kernels/epilogue.h"
#include "millrace/core/kernels/image_tiles.h"
#include "millrace/core/kernels/onednn_planning.h"
#include "millrace/core/kernels/slot_pool.h"
#include "millrace/core/kernels/slot_primitive.h"
#include "millrace/core/kernels/weight_layout.h"
#include "millrace/core/library_call.h"
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

// Runs `plan` where OpenMP is limited to one thread, as the primitives will run.
template <class F>
void plan_inside(Context& context, const ConvolutionSpec& spec, const F& plan) {
  context.executor().run([&] {
    try {
      const LibraryCall mark;
      plan(OneDnnPlanning().engine());
    } catch (const dnnl::error& failure) {
      throw InternalError(cat("oneDNN could not plan a convolution of ", spec.input().text(), " with ",
                              spec.weight().text(), ": ", failure.what()));
    }
  });
}

// What the passes have in common: tiles of images, of two sizes at most, each a call of a primitive.
class ImagePass {
 public:
  ImagePass(Context& context, const ConvolutionSpec& spec, int64_t most_tiles = kNoLimit)
      : spec_(spec),
        most_tiles_(most_tiles),
        threads_(context.executor().threads()),
        tiles_(spec.batch, spec.products(), most_tiles),
        slots_(slots_of(tiles_)) {}

 protected:
  // The layout of the weight that `describe(images)` asks for at every size of a tile.
  template <class Describe, class WeightOf>
  memory::desc agree(const Describe& describe, const WeightOf& weight_of) {
    const memory::desc weight = weight_of(describe(tiles_.most_images()));
    if (weight_of(describe(tiles_.least_images())) == weight) return weight;
    tiles_ = tiles_.evened();
    return weight_of(describe(tiles_.most_images()));
  }

  // Makes the primitives: `make(images, scratch)` gives one with its scratchpad's size.
  template <class Make>
  void make_primitives(const Make& make) {
    for (const int64_t images : {tiles_.most_images(), tiles_.least_images()}) {
      std::optional<SlotPrimitive>& primitive = primitives_[kind_of(images)];
      if (!primitive) primitive.emplace(make(images));
    }
  }
  void reserve_scratch(size_t bytes) { scratch_bytes_ = std::max(scratch_bytes_, aligned_bytes(bytes)); }
  // Behind all of reserve_scratch(); `extra` bytes more a slot.
  void make_scratch(size_t extra = 0) {
    for (size_t slot = 0; slot < slots_.size(); ++slot) {
      scratch_.emplace_back(Device::cpu(), scratch_bytes_ + extra);
    }
  }
  void* scratch(size_t slot) const { return scratch_[slot].data(); }
  void* extra(size_t slot) const { return static_cast<std::byte*>(scratch(slot)) + scratch_bytes_; }
  SlotPrimitive& primitive(int64_t images) { return *primitives_[kind_of(images)]; }

  const float* x_of(const void* x, int64_t image) const {
    return static_cast<const float*>(x) + image * spec_.input().shape.row().elements();
  }
  const float* y_of(const void* y, int64_t image) const {
    return static_cast<const float*>(y) + image * spec_.output().shape.row().elements();
  }

  // Of the slots, at most: also with fewer images.
  size_t slot_bytes(size_t extra_an_image = 0) const {
    size_t most = 0;
    for (int64_t batch = 1; batch <= spec_.batch; ++batch) {
      const ImageTiles tiles(batch, spec_.products(), most_tiles_);
      const size_t slots = slots_of(tiles);
      const auto images = static_cast<size_t>(tiles.most_images());
      most = std::max(most, slots * (scratch_bytes_ + aligned_bytes(images * extra_an_image)));
    }
    return most;
  }

  size_t slots_of(const ImageTiles& tiles) const {
    return static_cast<size_t>(std::min<int64_t>(tiles.count(), threads_));
  }

  ConvolutionSpec spec_;
  int64_t most_tiles_;
  int threads_;
  ImageTiles tiles_;
  SlotPool slots_;

 private:
  size_t kind_of(int64_t images) const { return images == tiles_.most_images() ? 0 : 1; }

  std::array<std::optional<SlotPrimitive>, 2> primitives_;
  size_t scratch_bytes_ = 0;
  std::vector<Memory> scratch_;  // one a slot
};

class OnednnConvolution final : public Convolution, private ImagePass {
 public:
  OnednnConvolution(Context& context, const ConvolutionSpec& spec, bool bias, FusedActivation activation)
      : ImagePass(context, spec), bias_(bias), activation_(activation) {
    plan_inside(context, spec, [&](const dnnl::engine& engine) { plan(engine); });
  }

  void run(Context& context, const Args& args) override {
    context.executor().run([&] {
      weight_->change(args.weight);
      context.executor().parallel_for(tiles_.count(), [&](int64_t tile) { run_tile(args, tile); });
    });
  }
  size_t bytes() const override { return weight_->bytes() + slot_bytes(); }

 private:
  void plan(const dnnl::engine& engine) {
    const auto describe = [&](int64_t images) { return Described(spec_, images).forward(engine, bias_); };
    const memory::desc weight = agree(describe, [](const auto& pass) { return pass.weights_desc(); });
    weight_.emplace(engine, Described(spec_, 1).plain_weight, weight, WeightLayout::Way::inwards);
    make_primitives([&](int64_t images) {
      const auto pass = describe(images);
      reserve_scratch(pass.scratchpad_desc().get_size());
      std::vector<SlotPrimitive::Arg> args = {{DNNL_ARG_SRC, pass.src_desc()},
                                              {DNNL_ARG_DST, pass.dst_desc()},
                                              {DNNL_ARG_SCRATCHPAD, pass.scratchpad_desc()},
                                              {DNNL_ARG_WEIGHTS, weight, weight_->inner()}};
      if (bias_) args.insert(args.begin() + 3, {DNNL_ARG_BIAS, pass.bias_desc()});
      return SlotPrimitive(engine, dnnl::convolution_forward(pass), args, slots_.size());
    });
    make_scratch();
  }

  void run_tile(const Args& args, int64_t tile) {
    const SlotPool::Lease lease(slots_);
    const int64_t images = tiles_.images(tile), begin = tiles_.begin(tile);
    float* y = const_cast<float*>(y_of(args.y, begin));
    const void* const data[] = {x_of(args.x, begin), y, scratch(lease.slot()), args.bias};
    primitive(images).run("a convolution", lease.slot(), std::span(data, bias_ ? 4 : 3));
    // Not by the library, which makes a NaN 0.
    add_bias_and_activate<float>(nullptr, activation_, images * spec_.output().shape.row().elements(), y);
  }

  bool bias_;
  FusedActivation activation_;
  std::optional<WeightLayout> weight_;
};

class OnednnInputGradient final : public ConvolutionInputGradient, private ImagePass {
 public:
  OnednnInputGradient(Context& context, const ConvolutionSpec& spec, float beta)
      : ImagePass(context, spec), beta_(beta), image_size_(spec.input().shape.row().elements()) {
    plan_inside(context, spec, [&](const dnnl::engine& engine) { plan(engine); });
  }

  void run(Context& context, const Args& args) override {
    context.executor().run([&] {
      weight_->change(args.weight);
      context.executor().parallel_for(tiles_.count(), [&](int64_t tile) { run_tile(args, tile); });
    });
  }
  size_t bytes() const override { return weight_->bytes() + slot_bytes(added_bytes(1)); }

 private:
  // Of what is added to the gradient that is there.
  size_t added_bytes(int64_t images) const {
    return beta_ == 0 ? 0 : static_cast<size_t>(images * image_size_) * sizeof(float);
  }

  void plan(const dnnl::engine& engine) {
    const auto describe = [&](int64_t images) { return Described(spec_, images).input_gradient(engine); };
    const memory::desc weight = agree(describe, [](const auto& pass) { return pass.weights_desc(); });
    weight_.emplace(engine, Described(spec_, 1).plain_weight, weight, WeightLayout::Way::inwards);
    make_primitives([&](int64_t images) {
      const auto pass = describe(images);
      reserve_scratch(pass.scratchpad_desc().get_size());
      const SlotPrimitive::Arg args[] = {{DNNL_ARG_DIFF_DST, pass.diff_dst_desc()},
                                         {DNNL_ARG_DIFF_SRC, pass.diff_src_desc()},
                                         {DNNL_ARG_SCRATCHPAD, pass.scratchpad_desc()},
                                         {DNNL_ARG_WEIGHTS, weight, weight_->inner()}};
      return SlotPrimitive(engine, dnnl::convolution_backward_data(pass), args, slots_.size());
    });
    make_scratch(added_bytes(tiles_.most_images()));
  }

  void run_tile(const Args& args, int64_t tile) {
    const SlotPool::Lease lease(slots_);
    const int64_t images = tiles_.images(tile), begin = tiles_.begin(tile);
    float* const dx = const_cast<float*>(x_of(args.dx.view.data(), begin));
    float* const gradient = beta_ == 0 ? dx : static_cast<float*>(extra(lease.slot()));
    const void* const data[] = {y_of(args.dy, begin), gradient, scratch(lease.slot())};
    primitive(images).run("the gradient of a convolution's input", lease.slot(), data);
    const float alpha = args.dx.alpha != nullptr ? *args.dx.alpha : 1.0F;
    if (gradient == dx && alpha == 1.0F) return;
    store_row<float>(gradient, alpha, beta_, nullptr, FusedActivation::none, images * image_size_, dx);
  }

  float beta_;
  int64_t image_size_;
  std::optional<WeightLayout> weight_;
};

// Each tile makes a gradient of its own; they are added up in order.
class OnednnWeightGradient final : public ConvolutionWeightGradient, private ImagePass {
 public:
  OnednnWeightGradient(Context& context, const ConvolutionSpec& spec, bool bias)
      : ImagePass(context, spec, most_parts(spec)), bias_(bias), plain_(Device::cpu(), spec.weight().bytes()) {
    plan_inside(context, spec, [&](const dnnl::engine& engine) { plan(engine); });
  }

  void run(Context& context, const Args& args) override {
    Executor& executor = context.executor();
    executor.run([&] {
      executor.parallel_for(tiles_.count(), [&](int64_t tile) { run_tile(args, tile); });
      executor.parallel_for(ceil_div(part_size(), kSumBlock), [&](int64_t block) {
        const int64_t begin = block * kSumBlock;
        add_parts(begin, std::min(part_size(), begin + kSumBlock));
      });
      layout_->change(plain_.data());
      store(static_cast<const float*>(plain_.data()), args.weight);
      if (bias_) store(part(0) + weight_size_, args.bias);
    });
  }
  size_t bytes() const override { return plain_.bytes() + layout_->bytes() + parts_.bytes() + slot_bytes(); }

 private:
  // Large weights are not kept sixteen times over.
  static int64_t most_parts(const ConvolutionSpec& spec) {
    constexpr size_t kMostBytes = size_t{16} << 20;
    return std::max<int64_t>(4, static_cast<int64_t>(kMostBytes / spec.weight().bytes()));
  }

  void plan(const dnnl::engine& engine) {
    const auto describe = [&](int64_t images) { return Described(spec_, images).weight_gradient(engine, bias_); };
    const memory::desc weight = agree(describe, [](const auto& pass) { return pass.diff_weights_desc(); });
    layout_.emplace(engine, Described(spec_, 1).plain_weight, weight, WeightLayout::Way::outwards);
    weight_size_ = static_cast<int64_t>(aligned_bytes(weight.get_size()) / sizeof(float));
    bias_size_ = bias_ ? static_cast<int64_t>(aligned_bytes(Described(spec_, 1).bias.get_size()) / sizeof(float)) : 0;
    // The first one lies where the layout is changed.
    parts_ = Memory(Device::cpu(), static_cast<size_t>(tiles_.count() * part_size()) * sizeof(float));
    make_primitives([&](int64_t images) {
      const auto pass = describe(images);
      reserve_scratch(pass.scratchpad_desc().get_size() + unbooked_bytes());
      std::vector<SlotPrimitive::Arg> args = {{DNNL_ARG_SRC, pass.src_desc()},
                                              {DNNL_ARG_DIFF_DST, pass.diff_dst_desc()},
                                              {DNNL_ARG_SCRATCHPAD, pass.scratchpad_desc()},
                                              {DNNL_ARG_DIFF_WEIGHTS, weight}};
      if (bias_) args.push_back({DNNL_ARG_DIFF_BIAS, pass.diff_bias_desc()});
      return SlotPrimitive(engine, dnnl::convolution_backward_weights(pass), args, slots_.size());
    });
    make_scratch();
  }

  // Before windows of one pixel with strides the library gathers an image's pixels in its scratchpad. It writes each as
  // wide as its registers, but books the channels that there are (2.6, AVX2).
  size_t unbooked_bytes() const {
    const ConvolutionSpec::Axis &high = spec_.height, &wide = spec_.width;
    if (high.kernel > 1 || wide.kernel > 1 || (high.stride == 1 && wide.stride == 1)) return 0;
    constexpr int64_t kRegister = 16;
    return static_cast<size_t>(high.out() * wide.out() * kRegister) * sizeof(float);
  }

  int64_t part_size() const { return weight_size_ + bias_size_; }
  float* part(int64_t tile) const { return static_cast<float*>(parts_.data()) + tile * part_size(); }

  void run_tile(const Args& args, int64_t tile) {
    const SlotPool::Lease lease(slots_);
    const int64_t begin = tiles_.begin(tile);
    float* const own = part(tile);
    const void* const data[] = {x_of(args.x, begin), y_of(args.dy, begin), scratch(lease.slot()), own,
                                own + weight_size_};
    primitive(tiles_.images(tile))
        .run("the gradient of a convolution's weight", lease.slot(), std::span(data, bias_ ? 5 : 4));
  }

  // Into the first part, and the weight's from there to where its layout is changed.
  void add_parts(int64_t begin, int64_t end) const {
    float* const sums = part(0);
    for (int64_t tile = 1; tile < tiles_.count(); ++tile) {
      const float* const more = part(tile);
      for (int64_t i = begin; i < end; ++i) sums[i] += more[i];
    }
    const int64_t weight_end = std::min(end, weight_size_);
    if (begin < weight_end) std::copy(sums + begin, sums + weight_end, static_cast<float*>(layout_->inner()) + begin);
  }

  static void store(const float* gradient, const Destination& to) {
    if (!to) return;
    store_row<float>(gradient, to.alpha != nullptr ? *to.alpha : 1.0F, to.beta, nullptr, FusedActivation::none,
                     to.view.elements(), to.view.as<float>());
  }

  bool bias_;
  Memory plain_;                        // the gradient as the model has it
  std::optional<WeightLayout> layout_;  // and as the library does
  int64_t weight_size_ = 0, bias_size_ = 0;
  Memory parts_;
};

}  // namespace

std::unique_ptr<Convolution> make_onednn_convolution(Context& context, const ConvolutionSpec& spec, bool bias,
                                                     FusedActivation activation) {
  return std::make_unique<OnednnConvolution>(context, spec, bias, activation);
}

std::unique_ptr<ConvolutionInputGradient> make_onednn_input_gradient(Context& context, const ConvolutionSpec& spec,
                                                                     float beta) {
  return std::make_unique<OnednnInputGradient>(context, spec, beta);
}

std::unique_ptr<ConvolutionWeightGradient> make_onednn_weight_gradient(Context& context, const ConvolutionSpec& spec,
                                                                       bool bias) {
  return std::make_unique<OnednnWeightGradient>(context, spec, bias);
}

}  // namespace millrace::cpu
