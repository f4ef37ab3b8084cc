#include "millrace/core/describe_device.h"

#include <gmock/gmock.h>

#include "millrace/core/errors.h"
#include "millrace/version.h"
#include "tests/support/cuda.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

TEST(DescribeDevice, NamesTheProcessor) {
  const DeviceDescription cpu = describe_device(Device::cpu());
  EXPECT_EQ(cpu.name, processor_model());
  EXPECT_THAT(cpu.name, Not(IsEmpty()));
  EXPECT_THAT(cpu.libraries, ElementsAre(describe_build().libraries.front()));
}

TEST(DescribeDevice, RefusesADeviceThatIsNotThere) { EXPECT_THROW(describe_device(Device::cuda(9999)), DeviceError); }

class CudaDescription : public test::CudaTest {};

TEST_F(CudaDescription, NamesTheGpuAndItsLibraries) {
  const DeviceDescription described = describe_device(context().device());
  EXPECT_THAT(described.name, Not(IsEmpty()));
  EXPECT_THAT(described.libraries, ElementsAre(MatchesRegex("cuBLASLt [0-9]+")));
  EXPECT_THAT(describe_device(context().device(), {.convolutions = true}).libraries,
              ElementsAre(MatchesRegex("cuBLASLt [0-9]+"), MatchesRegex("cuDNN [0-9]+")));
}

}  // namespace
}  // namespace millrace
