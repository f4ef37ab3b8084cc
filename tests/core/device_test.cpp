#include "millrace/core/context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "tests/support/sanitized.h"

namespace millrace {
namespace {

using testing::StartsWith;

TEST(Device, HasAName) {
  EXPECT_EQ(Device::cpu().text(), "cpu");
  EXPECT_EQ(Device::cuda(2).text(), "cuda:2");
  EXPECT_TRUE(Device::cpu().is_cpu());
  EXPECT_FALSE(Device::cuda(0).is_cpu());
  EXPECT_EQ(Device(), Device::cpu());
}

TEST(ParseDevice, TakesWhatIsThere) {
  EXPECT_EQ(parse_device("cpu"), Device::cpu());
  for (const int index : cuda_status().usable) {
    EXPECT_EQ(parse_device("cuda:" + std::to_string(index)), Device::cuda(index));
    EXPECT_EQ(index == 0 ? parse_device("cuda") : Device::cuda(0), Device::cuda(0));
  }
}

TEST(ParseDevice, AutoIsAUsableDeviceOrTheCpu) {
  std::string warning = "of before";
  const Device device = parse_device("auto", &warning);
  const CudaStatus found = cuda_status();
  if (found.usable.empty()) {
    EXPECT_EQ(device, automatic_device(found, nullptr));
    EXPECT_EQ(warning.empty(), !found.worth_telling);
  } else {
    EXPECT_EQ(device.is_cpu(), !warning.empty()) << warning;
  }
  warning = "of before";
  parse_device("cpu", &warning);
  EXPECT_EQ(warning, "");
}

TEST(AutomaticDevice, IsTheFirstThatCanBeUsed) {
  std::string warning;
  EXPECT_EQ(automatic_device({.usable = {1, 3}, .reason = {}}, &warning), Device::cuda(1));
  EXPECT_EQ(warning, "");
}

TEST(AutomaticDevice, TellsWhyAGpuThatIsThereIsNotUsed) {
  std::string warning;
  EXPECT_EQ(automatic_device({.usable = {}, .reason = "the driver is too old", .worth_telling = true}, &warning),
            Device::cpu());
  EXPECT_EQ(warning, "device: auto takes the CPU: the driver is too old");
}

TEST(AutomaticDevice, IsSilentWhereThereIsSimplyNone) {
  std::string warning;
  EXPECT_EQ(automatic_device({.usable = {}, .reason = "no driver"}, &warning), Device::cpu());
  EXPECT_EQ(warning, "");
}

TEST(ParseDevice, RejectsOtherNames) {
  for (const char* text : {"", "gpu", "CPU", "cuda:", "cuda:x", "cuda:-1", "cuda:0x", "cuda0", "cpu:0"}) {
    try {
      parse_device(text);
      ADD_FAILURE() << text;
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.what(), cat("unknown device ", quote(text), "; use auto, cpu or cuda:0"));
    }
  }
}

TEST(ParseDevice, SaysWhyADeviceIsNotThere) {
  const CudaStatus status = cuda_status();
  try {
    parse_device("cuda:9999");
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.message(), StartsWith("cuda:9999 cannot be used: "));
    EXPECT_EQ(error.hint(), "use device: auto or cpu");
    EXPECT_EQ(status.reason.empty(), !status.usable.empty());
  }
}

TEST(Memory, IsAlignedAndZero) {
  const Memory memory(Device::cpu(), 1000);
  EXPECT_EQ(memory.bytes(), 1000u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % 64, 0u);
  const std::string zeros(1000, '\0');
  EXPECT_EQ(std::memcmp(memory.data(), zeros.data(), 1000), 0);
}

TEST(Memory, OfNoBytesIsEmpty) {
  EXPECT_FALSE(static_cast<bool>(Memory(Device::cpu(), 0)));
  EXPECT_FALSE(static_cast<bool>(Memory()));
  EXPECT_FALSE(static_cast<bool>(Memory::pinned(Device::cpu(), 0)));
}

TEST(Memory, MovesAndReleasesWhatItHeld) {
  Memory a(Device::cpu(), 64), b(Device::cpu(), 128);
  void* data = a.data();
  b = std::move(a);
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(b.bytes(), 64u);
  EXPECT_FALSE(static_cast<bool>(a));  // NOLINT(bugprone-use-after-move): what a move leaves is promised
  EXPECT_EQ(a.bytes(), 0u);
  Memory& same = b;
  b = std::move(same);
  EXPECT_EQ(b.data(), data);
}

TEST(Memory, SaysHowMuchWasMissing) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers end the process when memory runs out";
  for (const size_t bytes : {std::numeric_limits<size_t>::max(), std::numeric_limits<size_t>::max() / 2}) {
    try {
      Memory(Device::cpu(), bytes);
      FAIL();
    } catch (const InternalError& error) {
      EXPECT_EQ(error.what(), cat("out of memory: ", bytes, " bytes on cpu"));
    }
  }
}

TEST(Memory, PinnedForADeviceThatIsNotThereIsRefused) {
  EXPECT_THROW(Memory::pinned(Device::cuda(9999), 100), DeviceError);
}

TEST(Memory, PinnedMemoryCanBeWrittenByTheHost) {
  std::string ignored;
  for (const Device reader : {Device::cpu(), parse_device("auto", &ignored)}) {
    const Memory memory = Memory::pinned(reader, 100);
    EXPECT_EQ(memory.bytes(), 100u);
    EXPECT_TRUE(memory.device().is_cpu());
    EXPECT_EQ(static_cast<const unsigned char*>(memory.data())[99], 0);
    std::memset(memory.data(), 7, 100);
    EXPECT_EQ(static_cast<const unsigned char*>(memory.data())[99], 7);
  }
}

}  // namespace
}  // namespace millrace
