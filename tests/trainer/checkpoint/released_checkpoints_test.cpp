// Checkpoints of released versions, in tests/data/, must stay readable for ever.
#include <gtest/gtest.h>

#include <utility>

#include "millrace/core/text.h"
#include "millrace/trainer/checkpoint/checkpoint_file.h"
#include "tests/support/paths.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

std::string path_of(const std::string& name) { return cat(test::source_dir(), "/tests/data/", name, ".safetensors"); }

TEST(ReleasedCheckpoint, OfFormatOne) {
  const Checkpoint read = read_checkpoint(path_of("checkpoint_0.2.0"));
  EXPECT_EQ(read.step, 20u);
  EXPECT_EQ(read.numbers.value("steps"), 20u);
  EXPECT_EQ(read.numbers.values("window"), (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(read.numbers.text("reason"), "end");
  EXPECT_EQ(read.numbers.scope("input").value("rows"), 120u);
  EXPECT_EQ(read.fingerprint, (Fingerprint{.version = "0.2.0",
                                           .compiler = "g++ 12.2.0",
                                           .libraries = "oneDNN 2.6.3",
                                           .processor = "AMD EPYC (avx2 fma)",
                                           .device = "cpu"}));
  const ModelFile::Index tensors = read.file.by_name();
  const ConstTensorView last = ModelFile::values(*tensors.at("dense.weight"));
  EXPECT_EQ(last.shape(), (Shape{3, 2}));
  EXPECT_EQ(ModelFile::values(*tensors.at("best/dense.weight")).as<float>()[0], 2 * last.as<float>()[0]);
}

// If this fails, other versions cannot read the checkpoints that this one writes. Give the format another version then,
// and keep reading the old one.
TEST(ReleasedCheckpoint, IsWhatIsWrittenToday) {
  const Checkpoint read = read_checkpoint(path_of("checkpoint_0.2.0"));
  CheckpointParts parts{.step = read.step,
                        .metadata = read.file.metadata(),
                        .tensors = {},
                        .numbers = read.numbers,
                        .fingerprint = read.fingerprint};
  for (const ModelFile::Entry& entry : read.file.entries()) {
    if (entry.name != "state") parts.tensors.push_back({entry.name, ModelFile::values(entry)});
  }
  const TempFolder folder;
  write_checkpoint(folder.path("again"), parts);
  EXPECT_EQ(TempFolder::read(folder.path("again")), TempFolder::read(path_of("checkpoint_0.2.0")));
}

}  // namespace
}  // namespace millrace
