#include "millrace/cli/doctor/doctor.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

class MachineMemoryTest : public ::testing::Test {
 protected:
  MachineMemoryTest() {
    folder_.write("meminfo", "MemTotal:        8388608 kB\nMemFree:   1 kB\nMemAvailable:    4194304 kB\n");
    folder_.write("membership", "0::/a/b\n");
    std::filesystem::create_directories(folder_.path("groups/a/b"));
    std::filesystem::create_directories(folder_.path("groups/memory"));
  }
  MachineMemory memory() const {
    return machine_memory({folder_.path("meminfo"), folder_.path("membership"), folder_.path("groups")}).value();
  }
  TempFolder folder_;
};

TEST_F(MachineMemoryTest, OfTheMachineWhereNothingLimitsIt) {
  folder_.write("groups/a/memory.max", "max\n");
  folder_.write("groups/a/memory.current", "5\n");
  EXPECT_EQ(memory().total, 8192 * kMiB);
  EXPECT_EQ(memory().available, 4096 * kMiB);
  EXPECT_FALSE(memory().limited);
}

TEST_F(MachineMemoryTest, OfTheLeastLimitAndWhatTheKernelKeepsOfFilesIsFree) {
  folder_.write("groups/a/memory.max", std::to_string(1000 * kMiB));
  folder_.write("groups/a/memory.current", std::to_string(900 * kMiB));
  folder_.write("groups/a/memory.stat",
                "anon 5\nfile " + std::to_string(600 * kMiB) + "\nshmem " + std::to_string(100 * kMiB) + "\n");
  EXPECT_EQ(memory().total, 1000 * kMiB);
  EXPECT_EQ(memory().available, 600 * kMiB) << "1000 - (900 - (600 - 100))";
  EXPECT_TRUE(memory().limited);
  folder_.write("groups/a/b/memory.max", std::to_string(300 * kMiB));
  folder_.write("groups/a/b/memory.current", std::to_string(50 * kMiB));
  EXPECT_EQ(memory().total, 300 * kMiB);
  EXPECT_EQ(memory().available, 250 * kMiB);
}

TEST_F(MachineMemoryTest, OfVersionOne) {
  folder_.write("membership", "5:cpu:/x\n4:memory:/../outside\n");
  folder_.write("groups/memory/memory.limit_in_bytes", std::to_string(400 * kMiB));
  folder_.write("groups/memory/memory.usage_in_bytes", std::to_string(300 * kMiB));
  folder_.write("groups/memory/memory.stat", "total_cache " + std::to_string(250 * kMiB) + "\ntotal_shmem 0\n");
  EXPECT_EQ(memory().total, 400 * kMiB);
  EXPECT_EQ(memory().available, 350 * kMiB);
}

TEST(MachineMemory, IsNothingWhereTheKernelDoesNotTell) {
  EXPECT_FALSE(machine_memory({"/nowhere", "/nowhere", "/nowhere"}));
}

}  // namespace
}  // namespace millrace::cli
