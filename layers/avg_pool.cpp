// avg_pool: the mean of each window of an image.
#include "millrace/layers/catalog.h"
#include "millrace/layers/images/pool.h"

namespace millrace {
namespace {

class AvgPool final : public PoolLayer {
 public:
  static constexpr std::string_view kDoc = "the mean of each window of an image, channel by channel";

  explicit AvgPool(const Options& options) : PoolLayer(options, false) {}
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(avg_pool, AvgPool);
