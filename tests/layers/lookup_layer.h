// Layers of whole numbers, for tests. lookup: (k) ids to the sum of their rows of a trained table, as an embedding
// does; rank: each value's place among the values of its row.
#pragma once

#include <algorithm>
#include <memory>
#include <string_view>

#include "millrace/layers/catalog.h"
#include "millrace/layers/simple_layer.h"

namespace millrace::testing {

class LookupPlan final : public LayerPlan {
 public:
  LookupPlan(const PlanArgs& args, int64_t rows)
      : table_(nullptr, args.output.dtype(), {rows, args.output.columns()}) {}

  size_t scratch_bytes() const override { return table_.bytes(); }
  bool backward_reads_output() const override { return false; }

  void forward(Context&, const ForwardArgs& args) override {
    dispatch_float(table_.dtype(), [&]<class T>() {
      const ConstTensorView &ids = args.inputs[0], &table = args.params[0];
      for (int64_t row = 0; row < ids.rows(); ++row) {
        T* y = args.output.as<T>() + row * args.output.stride();
        std::fill_n(y, table.columns(), T(0));
        for (int64_t k = 0; k < ids.columns(); ++k) {
          const T* entry = table.as<T>() + ids.as<int32_t>()[row * ids.stride() + k] * table.stride();
          for (int64_t c = 0; c < table.columns(); ++c) y[c] += entry[c];
        }
      }
    });
  }

  void backward(Context& context, const BackwardArgs& args) override {
    dispatch_float(table_.dtype(), [&]<class T>() {
      T* sums = static_cast<T*>(args.scratch);
      std::fill_n(sums, table_.elements(), T(0));
      const ConstTensorView &ids = args.inputs[0], &dy = args.output_gradient;
      for (int64_t row = 0; row < ids.rows(); ++row) {
        for (int64_t k = 0; k < ids.columns(); ++k) {
          T* entry = sums + ids.as<int32_t>()[row * ids.stride() + k] * table_.columns();
          for (int64_t c = 0; c < table_.columns(); ++c) entry[c] += dy.as<T>()[row * dy.stride() + c];
        }
      }
      const Target<T> target(context, args.parameter_gradients[0]);
      for (int64_t row = 0; row < table_.rows(); ++row) {
        for (int64_t c = 0; c < table_.columns(); ++c) target.store(row, c, sums[row * table_.columns() + c]);
      }
    });
  }

 private:
  TensorView table_;
};

class LookupLayer final : public Layer {
 public:
  struct Options {
    int64_t rows = 4, width = 2;
    void declare(OptionReader& o) {
      o.optional("rows", rows, "of the table");
      o.optional("width", width, "of a row");
    }
  };
  static constexpr std::string_view kDoc = "sums rows of a trained table";

  explicit LookupLayer(const Options& options) : options_(options) {}

  Wanted wants(int, DType) const override {
    return {.dtype = DType::i32,
            .range = ValueRange{.min = 0,
                                .max = static_cast<double>(options_.rows - 1),
                                .hint = "ids are counted from 0, and the table needs a row for each"}};
  }
  TensorSpec build(std::span<const TensorSpec>, ParamBuilder& params) override {
    params.parameter("table", {options_.rows, options_.width}, Initializer::normal(1));
    return {Shape{options_.width}, params.dtype()};
  }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs& args) const override {
    return std::make_unique<LookupPlan>(args, options_.rows);
  }

 private:
  Options options_;
};

class Rank final : public Layer {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "the place of each value in its row";

  explicit Rank(const Options&) {}

  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder&) override { return {inputs[0].shape, DType::i32}; }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs&) const override { return std::make_unique<Plan>(); }

 private:
  class Plan final : public LayerPlan {
   public:
    bool backward_reads_inputs() const override { return false; }
    bool backward_reads_output() const override { return false; }
    void forward(Context&, const ForwardArgs& args) override {
      dispatch_float(args.inputs[0].dtype(), [&]<class T>() {
        for (int64_t row = 0; row < args.output.rows(); ++row) {
          const T* x = args.inputs[0].as<T>() + row * args.inputs[0].stride();
          int32_t* y = args.output.as<int32_t>() + row * args.output.stride();
          const int64_t columns = args.output.columns();
          for (int64_t c = 0; c < columns; ++c) {
            y[c] = static_cast<int32_t>(std::count_if(x, x + columns, [&](T value) { return value < x[c]; }));
          }
        }
      });
    }
    void backward(Context&, const BackwardArgs&) override {}
  };
};

inline LayerCatalog with_lookup() {
  LayerCatalog catalog = LayerCatalog::builtin();
  catalog.layers.add<LookupLayer>("lookup");
  catalog.layers.add<Rank>("rank");
  return catalog;
}

}  // namespace millrace::testing
