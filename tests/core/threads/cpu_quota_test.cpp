#include "millrace/core/threads/cpu_quota.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

// A kernel's files: `membership` is /proc/self/cgroup, the others lie below /sys/fs/cgroup.
class CpuQuota : public ::testing::Test {
 protected:
  int threads(const std::string& membership, const std::map<std::string, std::string>& files) {
    std::filesystem::remove_all(folder_.path("root"));
    for (const auto& [path, text] : files) {
      std::filesystem::create_directories(std::filesystem::path(folder_.path("root/" + path)).parent_path());
      folder_.write("root/" + path, text);
    }
    return quota_threads({.membership = folder_.write("membership", membership), .root = folder_.path("root")});
  }

  TempFolder folder_;
};

TEST_F(CpuQuota, IsThatOfTheProcessesOwnGroup) {
  EXPECT_EQ(threads("0::/user/job\n", {{"user/job/cpu.max", "300000 100000\n"}, {"other/cpu.max", "100000 100000\n"}}),
            3);
  EXPECT_EQ(threads("0::/\n", {{"cpu.max", "200000 100000\n"}}), 2);
}

TEST_F(CpuQuota, IsTheSmallestOfAllGroupsAround) {
  const std::map<std::string, std::string> files = {
      {"a/b/c/cpu.max", "max 100000\n"}, {"a/b/cpu.max", "800000 100000\n"}, {"a/cpu.max", "50000 10000\n"}};
  EXPECT_EQ(threads("0::/a/b/c\n", files), 5);
  EXPECT_EQ(threads("0::/a/b\n", files), 5);
  EXPECT_EQ(threads("0::/a\n", files), 5);
  EXPECT_EQ(threads("0::/\n", files), 0);
  EXPECT_EQ(threads("0::/a/b/c\n", {{"a/b/c/cpu.max", "150000 100000"}, {"cpu.max", "900000 100000"}}), 2);
}

// In a container the own group is mounted at the root, and the path is that of the machine.
TEST_F(CpuQuota, IsFoundWhereTheGroupItselfIsTheRoot) {
  EXPECT_EQ(threads("0::/machine/pod/1234\n", {{"cpu.max", "150000 100000\n"}}), 2);
  EXPECT_EQ(threads("5:cpuacct,cpu:/docker/1234\n",
                    {{"cpu/cpu.cfs_quota_us", "400000\n"}, {"cpu/cpu.cfs_period_us", "100000\n"}}),
            4);
}

TEST_F(CpuQuota, OfVersion1IsThatOfTheCpuController) {
  const std::map<std::string, std::string> files = {{"cpu/job/part/cpu.cfs_quota_us", "-1\n"},
                                                    {"cpu/job/part/cpu.cfs_period_us", "100000\n"},
                                                    {"cpu/job/cpu.cfs_quota_us", "250000\n"},
                                                    {"cpu/job/cpu.cfs_period_us", "100000\n"}};
  EXPECT_EQ(threads("9:memory:/job/part\n4:cpu,cpuacct:/job/part\n0::/\n", files), 3);
  EXPECT_EQ(threads("4:cpuset:/job\n3:cpuacct:/job\n", files), 0);
}

TEST_F(CpuQuota, IsZeroWithoutAQuota) {
  EXPECT_EQ(threads("0::/a\n", {{"a/cpu.max", "max 100000\n"}}), 0);
  EXPECT_EQ(threads("0::/a\n", {}), 0);
  EXPECT_EQ(threads("", {{"cpu.max", "100000 100000\n"}}), 0);
  EXPECT_EQ(threads("nonsense\n0:x\n0::relative\n", {{"cpu.max", "100000 100000\n"}}), 0);
  EXPECT_EQ(quota_threads({.membership = folder_.path("absent"), .root = folder_.path("absent")}), 0);
}

TEST_F(CpuQuota, OutsideWhatTheProcessMaySeeIsNotRead) {
  EXPECT_EQ(threads("0::/../other\n", {{"cpu.max", "100000 100000\n"}}), 0);
}

TEST_F(CpuQuota, SurvivesOddFiles) {
  EXPECT_EQ(threads("0::/\n", {{"cpu.max", "100000"}}), 0);
  EXPECT_EQ(threads("0::/\n", {{"cpu.max", "100000 0\n"}}), 0);
  EXPECT_EQ(threads("0::/\n", {{"cpu.max", "1 100000\n"}}), 1);
  EXPECT_EQ(threads("0::/\n", {{"cpu.max", "9223372036854775807 1\n"}}), 2147483647);
  EXPECT_EQ(threads("0::/\n", {{"cpu.max", "99999999999999999999 100000\n"}}), 0);
}

}  // namespace
}  // namespace millrace
