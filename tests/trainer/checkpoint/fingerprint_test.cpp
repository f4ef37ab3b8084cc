#include "millrace/trainer/checkpoint/fingerprint.h"

#include <gmock/gmock.h>

#include "millrace/core/describe_device.h"
#include "millrace/core/utf8.h"
#include "millrace/version.h"
#include "tests/support/cuda.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Fingerprint example() {
  return {.version = "0.2.0",
          .compiler = "g++ 12.2.0",
          .libraries = "oneDNN 2.6.3",
          .processor = "AMD EPYC: 7B13 (avx2 fma)",
          .device = "cpu"};
}

TEST(Fingerprint, OfThisProcess) {
  const Fingerprint here = Fingerprint::here(Device::cpu());
  EXPECT_EQ(here, Fingerprint::here(Device::cpu()));
  EXPECT_EQ(here.version, version());
  EXPECT_EQ(here.compiler, describe_build().compiler);
  EXPECT_THAT(here.libraries, StartsWith("oneDNN "));
  EXPECT_THAT(here.processor, StartsWith(escape_controls(processor_model())));
  EXPECT_EQ(here.device, "cpu");
  EXPECT_EQ(Fingerprint::parse(here.text()), here);
}

class CudaFingerprint : public test::CudaTest {};

TEST_F(CudaFingerprint, NamesTheGpu) {
  const Fingerprint here = Fingerprint::here(context().device(), {.convolutions = true});
  EXPECT_EQ(here.device, describe_device(context().device()).name);
  EXPECT_THAT(here.libraries, HasSubstr("cuDNN "));
  EXPECT_THAT(difference(Fingerprint::here(Device::cpu()), here),
              HasSubstr("device cpu before, " + here.device + " now"));
}

TEST(Fingerprint, IsReadAsItWasWritten) {
  EXPECT_EQ(example().text(),
            "version: 0.2.0\ncompiler: g++ 12.2.0\nlibraries: oneDNN 2.6.3\nprocessor: AMD EPYC: 7B13 (avx2 fma)\n"
            "device: cpu\n");
  EXPECT_EQ(Fingerprint::parse(example().text()), example());
  EXPECT_EQ(Fingerprint::parse(""), Fingerprint{});
  EXPECT_EQ(Fingerprint::parse("device: cpu\nnew: thing\n\nversion: 9"),
            (Fingerprint{.version = "9", .compiler = {}, .libraries = {}, .processor = {}, .device = "cpu"}));
}

TEST(Fingerprint, SaysInASentenceWhatDiffers) {
  EXPECT_EQ(difference(example(), example()), "");
  Fingerprint now = example();
  now.compiler = "clang 16.0.6";
  EXPECT_EQ(difference(example(), now),
            "same rows, weights may differ in the last bits: compiler g++ 12.2.0 before, clang 16.0.6 now");
  now.device = "NVIDIA H100 80GB HBM3";
  EXPECT_EQ(difference(example(), now),
            "same rows, weights may differ in the last bits: compiler g++ 12.2.0 before, clang 16.0.6 now; device cpu "
            "before, NVIDIA H100 80GB HBM3 now");
  Fingerprint before = example();
  before.processor = "";
  before.version = "0.1\n";
  EXPECT_EQ(
      difference(before, example()),
      "same rows, weights may differ in the last bits: version 0.1\\n before, 0.2.0 now; processor unknown before, "
      "AMD EPYC: 7B13 (avx2 fma) now");
}

TEST(Fingerprint, EachPartCounts) {
  for (std::string Fingerprint::*part : {&Fingerprint::version, &Fingerprint::compiler, &Fingerprint::libraries,
                                         &Fingerprint::processor, &Fingerprint::device}) {
    Fingerprint other = example();
    other.*part += "x";
    EXPECT_NE(other, example());
    EXPECT_NE(difference(example(), other), "");
    EXPECT_EQ(Fingerprint::parse(other.text()), other);
  }
}

}  // namespace
}  // namespace millrace
