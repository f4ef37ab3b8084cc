#include "bench/gpu/engines.h"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "bench/gpu/candidates.h"
#include "bench/gpu/rates.h"
#include "millrace/core/cuda/cudnn_convolution.h"
#include "millrace/core/cuda/kernels.h"
#include "millrace/core/cuda/state.h"
#include "millrace/core/errors.h"
#include "millrace/core/replay.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace::bench {

namespace {

using cuda::CudnnConvolution;
using Pass = ConvolutionPass;

constexpr int kEngines = 6;
constexpr int kTimes = 20;  // runs in one graph
constexpr std::array<const char*, 3> kPasses = {"forward", "input's gradient", "weight's gradient"};

class Engines {
 public:
  Engines(Context& context, const ConvolutionSpec& spec, Pass pass)
      : context_(context),
        spec_(spec),
        pass_(pass),
        x_(drawn_floats(context, spec.input().shape.elements())),
        weight_(drawn_floats(context, spec.weight().shape.elements())),
        y_(drawn_floats(context, spec.output().shape.elements())),
        workspace_(context.cuda().workspace()) {}

  std::string json(bool small) {
    std::string out;
    std::map<int64_t, std::string> told;
    for (const Precision precision : {Precision::float32, Precision::tf32}) {
      if (const auto plan = make({.precision = precision})) {
        add(told, *plan, precision == Precision::tf32 ? "tf32" : "fp32");
      }
    }
    // The emulation can run no other engines.
    for (int skip = 0; skip < (small ? 0 : kEngines); ++skip) {
      const auto plan = make({.skip = skip, .any_numbers = true});
      if (!plan) break;
      add(told, *plan, "");
    }
    if (told.empty()) throw DeviceError(failed_);
    for (const auto& [place, one] : told) out += cat(out.empty() ? "" : ", ", one, '}');
    return out;
  }

 private:
  // Returns nothing if there is no such engine.
  std::optional<CudnnConvolution> make(cuda::CudnnTarget target) {
    try {
      target.handle = context_.cuda().cudnn_handle();
      return std::optional<CudnnConvolution>(std::in_place, context_.cuda().cudnn(), target, spec_, pass_);
    } catch (const Error& error) {
      failed_ = error.message();
      return std::nullopt;
    }
  }

  void add(std::map<int64_t, std::string>& told, const CudnnConvolution& plan, const std::string& taken_in) {
    const auto found = told.find(plan.place());
    if (found == told.end()) {
      told[plan.place()] =
          cat("{\"place\": ", plan.place(), ", \"engine\": ", plan.engine(), ", \"workspace\": ", plan.workspace(),
              ", ", timed_or_why_not([&] { return time(plan); }));
    }
    if (!taken_in.empty()) told[plan.place()] += cat(", \"", taken_in, "\": true");
  }

  double time(const CudnnConvolution& plan) {
    Replay replay;
    const auto give = [&] {
      replay.run(context_, [&] {
        for (int i = 0; i < kTimes; ++i) {
          plan.run(context_.cuda().cudnn_handle(),
                   {.x = x_.data(), .weight = weight_.data(), .y = y_.data(), .workspace = workspace_->data()});
        }
      });
    };
    for (int i = 0; i < 2; ++i) give();
    const double us = fastest(context_, give) / kTimes;
    context_.synchronize();
    return us;
  }

  Context& context_;
  ConvolutionSpec spec_;
  Pass pass_;
  Memory x_, weight_, y_;
  std::shared_ptr<const Memory> workspace_;
  std::string failed_;
};

ConvolutionSpec convolution(int64_t batch, int64_t in, int64_t out, int64_t pixels, int64_t kernel = 5) {
  const ConvolutionSpec::Axis axis{.in = pixels, .kernel = kernel};
  return {.batch = batch, .in_channels = in, .out_channels = out, .height = axis, .width = axis};
}

}  // namespace

std::string time_engines(Context& context, bool small) {
  const cuda::DeviceGuard guard(context.cuda().device());
  const std::vector<ConvolutionSpec> specs =
      small ? std::vector{convolution(1, 1, 2, 8), convolution(1, 2, 3, 6)}
            : std::vector{convolution(64, 1, 20, 28), convolution(64, 20, 50, 12), convolution(64, 16, 32, 28, 3),
                          convolution(64, 64, 64, 56, 3)};
  std::string out;
  for (const ConvolutionSpec& spec : specs) {
    for (const Pass pass : {Pass::forward, Pass::input_gradient, Pass::weight_gradient}) {
      if (spec.in_channels == 1 && pass == Pass::input_gradient) continue;  // no training needs it
      out += cat(out.empty() ? "" : ", ", "{\"name\": \"", spec.in_channels, " to ", spec.out_channels, " channels, ",
                 kPasses[static_cast<size_t>(pass)], "\", ",
                 list_or_why_not("engines", [&] { return Engines(context, spec, pass).json(small); }), '}');
    }
  }
  return cat('[', out, ']');
}

}  // namespace millrace::bench
