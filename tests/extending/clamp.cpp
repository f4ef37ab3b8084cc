// clamp: keeps the values of a float32 field between two bounds.
#include <algorithm>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"

namespace millrace {
namespace {

class Clamp final : public Transform {
 public:
  struct Options {
    std::string field;
    double min = 0, max = 1;
    void declare(OptionReader& o) {
      o.required("field", field, "the field whose values are clamped");
      o.optional("min", min, "the least value");
      o.optional("max", max, "the greatest value");
    }
  };
  static constexpr std::string_view kDoc = "keeps the values of a field between two bounds";

  explicit Clamp(const Options& options) : options_(options) {}

  std::optional<std::vector<std::string>> concerned_fields() const override { return std::vector{options_.field}; }

  Port bind(const BindArgs& args) override {
    const RowSpec& rows = args.inputs[0].rows;
    const int field = rows.find(options_.field);
    if (field < 0) throw ConfigError(cat("there is no field ", quote(options_.field), " in ", rows.text()));
    if (rows.fields[static_cast<size_t>(field)].dtype != DType::f32) throw ConfigError("clamp takes float32 fields");
    field_ = static_cast<size_t>(field);
    return args.inputs[0];
  }

  // Runs on any thread, for several chunks at once: constant and without side effects.
  void apply(Chunk& chunk) const override {
    const int64_t columns = chunk.rows.spec().fields[field_].shape.elements();
    for (int64_t row = 0; row < chunk.rows.size(); ++row) {
      float* values = chunk.rows.row<float>(field_, row);
      for (int64_t i = 0; i < columns; ++i) {
        values[i] = std::clamp(values[i], static_cast<float>(options_.min), static_cast<float>(options_.max));
      }
    }
  }

 private:
  Options options_;
  size_t field_ = 0;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(clamp, Clamp);
