// max_pool: the largest value of each window of an image.
#include "millrace/layers/catalog.h"
#include "millrace/layers/images/pool.h"

namespace millrace {
namespace {

class MaxPool final : public PoolLayer {
 public:
  static constexpr std::string_view kDoc = "the largest value of each window of an image, channel by channel";

  explicit MaxPool(const Options& options) : PoolLayer(options, true) {}
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(max_pool, MaxPool);
