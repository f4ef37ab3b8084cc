#include "millrace/cli/doctor/doctor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "millrace/version.h"

namespace millrace::cli {
namespace {

Machine good_machine() {
  Machine machine;
  machine.processor = {"avx2", "fma"};
  machine.processors = machine.allowed = machine.threads = 8;
  machine.memory = MachineMemory{.total = uint64_t{8} << 30, .available = uint64_t{4} << 30};
  machine.open_files = 1024;
  machine.temporary = "/tmp";
  return machine;
}

const Finding& find(const std::vector<Finding>& findings, const std::string& check) {
  const auto found =
      std::find_if(findings.begin(), findings.end(), [&](const auto& one) { return one.check == check; });
  EXPECT_NE(found, findings.end()) << check;
  return *found;
}

TEST(DoctorTest, AGoodMachineIsWell) {
  const std::vector<Finding> findings = judge_machine(good_machine());
  EXPECT_EQ(worst_of(findings), Health::ok);
  EXPECT_EQ(find(findings, "threads").text, "8 threads of 8 processors");
  EXPECT_EQ(find(findings, "memory").text, "4.0 GiB free of 8.0 GiB");
  for (const Finding& one : findings) EXPECT_EQ(one.advice, "") << one.check;
}

TEST(DoctorTest, WhatATrainingCanDoWithoutIsAWarningWithAdvice) {
  Machine machine = good_machine();
  machine.processor = {};
  machine.allowed = 4;
  machine.threads = machine.quota = 2;
  machine.memory->available = uint64_t{100} << 20;
  machine.memory->limited = true;
  machine.open_files = 64;
  machine.temporary_writable = machine.folder_writable = false;
  const std::vector<Finding> findings = judge_machine(machine);
  EXPECT_EQ(worst_of(findings), Health::warning);
  EXPECT_EQ(find(findings, "threads").text,
            "2 threads of 8 processors, 4 allowed by the affinity, 2 by the quota of the cgroup");
  EXPECT_EQ(find(findings, "threads").health, Health::ok);
  for (const char* check : {"processor", "memory", "open files", "temporary", "folder"}) {
    EXPECT_EQ(find(findings, check).health, Health::warning) << check;
    EXPECT_NE(find(findings, check).advice, "") << check;
  }
  EXPECT_EQ(find(findings, "open files").advice, "trainings run, but fewer threads read files at once: ulimit -n 1024");
}

TEST(DoctorTest, TheTrialTrainsOnTheCpuAndSaysWhyItDoesNot) {
  const Finding good = try_training("cpu");
  EXPECT_EQ(good.health, Health::ok) << good.text;
  EXPECT_TRUE(good.text.starts_with("64 steps, loss 0.")) << good.text;
  const Finding bad = try_training("cuda:77");
  EXPECT_EQ(bad.health, Health::error);
  EXPECT_NE(bad.text, "");
}

TEST(DoctorTest, NoGpuIsWellUnlessThereIsOneThatCannotBeUsed) {
  EXPECT_EQ(worst_of(judge_devices({.usable = {}, .reason = "no driver"})), Health::ok);
  const std::vector<Finding> findings =
      judge_devices({.usable = {}, .reason = "the driver is too old", .worth_telling = true});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].health, Health::warning);
  EXPECT_EQ(findings[0].text, "none: the driver is too old");
}

TEST(DoctorTest, NamesTheLibrariesThatAreLoaded) {
  std::string all;
  for (const Finding& one : installed_parts()) all += one.text + '\n';
  for (const char* part : {"oneDNN ", "oneTBB ", "yaml-cpp"}) EXPECT_NE(all.find(part), std::string::npos) << all;
#ifdef MILLRACE_HAS_ZLIB
  EXPECT_NE(all.find("zlib "), std::string::npos) << all;
  EXPECT_NE(all.find("/libz."), std::string::npos) << all;
#endif
}

TEST(DoctorTest, SaysWhatTheBuildHasAndWhatItLeavesOut) {
  std::vector<std::string> with, without;
  for (const Finding& one : installed_parts()) {
    if (one.check == "capability") with.push_back(one.text);
    if (one.check == "left out") without.push_back(one.text);
  }
  EXPECT_EQ(with, describe_build().capabilities);
  EXPECT_EQ(without, describe_build().left_out);
}

TEST(DoctorTest, TextAndJsonSayTheSame) {
  const std::vector<Finding> findings = {{"memory", "4 GiB free"},
                                         {"gpu", "none: \x1b", Health::warning, "mend it"},
                                         {"trial on cpu", "no threads", Health::error, "allow some"}};
  EXPECT_EQ(doctor_text(findings),
            "ok       memory           4 GiB free\n"
            "warning  gpu              none: \\x1b\n"
            "                          -> mend it\n"
            "error    trial on cpu     no threads\n"
            "                          -> allow some\n"
            "something that trainings need is broken; see the errors\n");
  const nlohmann::json event = nlohmann::json::parse(doctor_event(findings));
  EXPECT_EQ(event["v"], 1);
  EXPECT_EQ(event["event"], "doctor");
  EXPECT_EQ(event["health"], "error");
  EXPECT_EQ(event["checks"].size(), 3u);
  EXPECT_EQ(event["checks"][1]["advice"], "mend it");
  EXPECT_TRUE(event["checks"][0]["advice"].is_null());
  EXPECT_TRUE(doctor_text({{"memory", "x"}}).ends_with("all is well\n"));
}

}  // namespace
}  // namespace millrace::cli
