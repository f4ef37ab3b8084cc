// synthetic: rows made of random numbers, for tests and for measuring a step without files.
//
// Task `sum`: a row has `features` standard normals, and the label is 1 if their sum is positive, else 0. Row r,
// counted from 0, has ceil(features / 2) Philox blocks. Block b makes features 2b and 2b + 1: it is philox(seed,
// fnv1a64(name), r * ceil(features / 2) + b), made normal by normal_pair() and rounded to float32. The sum adds these
// float32 values in order, in double.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "millrace/core/random.h"
#include "millrace/input/catalog.h"

namespace millrace {

enum class SyntheticTask { sum };
template <>
struct EnumNames<SyntheticTask> {
  static constexpr std::pair<std::string_view, SyntheticTask> kNames[] = {{"sum", SyntheticTask::sum}};
};

namespace {

// Numbers that one task makes, about a tenth of a millisecond's work, and the rows that it makes at most.
constexpr int64_t kNumbersOfAUnit = 8192;
constexpr int64_t kRowsOfAUnit = 1024;

struct SyntheticOptions {
  SyntheticTask task = SyntheticTask::sum;
  int64_t features = 1024;
  std::optional<int64_t> rows;
  bool constant = false;

  void declare(OptionReader& o) {
    o.optional("task", task, "what the label says about the features");
    o.optional("features", features, {.min = 1, .max = 1 << 24}, "numbers in a row");
    o.optional("rows", rows, {.min = 0}, "rows to make; absent: endlessly");
    o.used_as("rows", OptionUse::ends);
    o.optional("constant", constant, "make the first row again and again");
  }
};

// Unit -> rows.
class GenerateSum final : public Transform {
 public:
  GenerateSum(int64_t features, bool constant) : features_(features), constant_(constant) {
    spec_ = std::make_shared<const RowSpec>(
        RowSpec{{{"features", DType::f32, Shape{features}}, {"label", DType::f32, Shape{1}}}});
  }

  Port bind(const BindArgs& args) override {
    seed_ = args.seed;
    stream_ = fnv1a64(args.name);
    return {.type = PortType::rows, .rows = *spec_};
  }

  void apply(Chunk& chunk) const override {
    const auto count = static_cast<int64_t>(chunk.unit.end - chunk.unit.begin);
    RowBlock& rows = chunk.rows;
    rows.configure(spec_, std::max<int64_t>(count, 1));
    rows.resize(count);
    for (int64_t row = 0; row < count; ++row) {
      const uint64_t number = chunk.unit.begin + static_cast<uint64_t>(row);
      if (constant_ && row > 0) {
        rows.copy_row(rows, 0, row);
      } else {
        make_row(constant_ ? 0 : number, rows, row);
      }
      rows.id(row) = IndexSource::id_of(chunk.unit, number);
    }
  }

 private:
  void make_row(uint64_t number, RowBlock& rows, int64_t row) const {
    float* features = rows.row<float>(0, row);
    const uint64_t blocks = (static_cast<uint64_t>(features_) + 1) / 2;
    double sum = 0;
    for (int64_t i = 0; i < features_; i += 2) {
      const auto block = static_cast<uint64_t>(i / 2);
      const std::array<double, 2> pair = normal_pair(philox(seed_, stream_, number * blocks + block));
      for (int64_t k = 0; k < std::min<int64_t>(2, features_ - i); ++k) {
        features[i + k] = static_cast<float>(pair[static_cast<size_t>(k)]);
        sum += static_cast<double>(features[i + k]);
      }
    }
    *rows.row<float>(1, row) = sum > 0 ? 1.0f : 0.0f;
  }

  const int64_t features_;
  const bool constant_;
  SharedRowSpec spec_;
  uint64_t seed_ = 0, stream_ = 0;
};

class Synthetic final : public IndexSource {
 public:
  using Options = SyntheticOptions;
  static constexpr std::string_view kDoc = "makes rows of random numbers";
  static constexpr std::string_view kExample = "features: 16, rows: 1000";

  explicit Synthetic(const Options& options)
      : IndexSource("synthetic",
                    {.rows = options.rows ? static_cast<uint64_t>(*options.rows) : UINT64_MAX,
                     .unit_rows = static_cast<uint64_t>(
                         std::clamp<int64_t>(kNumbersOfAUnit / options.features, 1, kRowsOfAUnit))},
                    std::make_unique<GenerateSum>(options.features, options.constant)) {}
};

}  // namespace

}  // namespace millrace

MILLRACE_REGISTER_OP(synthetic, Synthetic);
