#include "millrace/trainer/checkpoint/checkpoint_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/files/saved_model.h"
#include "tests/support/faulty_calls.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/checkpoint/checkpoint_testing.h"

namespace millrace {
namespace {

using test::changed_header;
using test::MadeCheckpoint;
using ::testing::EndsWith;
using ::testing::Not;
using ::testing::StartsWith;

class CheckpointFileTest : public ::testing::Test {
 protected:
  // Writes the checkpoint of step 500, and returns its bytes.
  std::string write(const std::string& name = "checkpoint-000000500.safetensors") {
    write_checkpoint(folder_.path(name), made_.parts);
    return TempFolder::read(folder_.path(name));
  }
  // The error when `read` reads a file of these bytes, without the file's name.
  template <class Thrown = DataError, class Read>
  std::string fault(const std::string& bytes, const Read& read) {
    const std::string path = folder_.write("file.safetensors", bytes);
    const std::string text = error_of<Thrown>([&] { read(path); });
    EXPECT_THAT(text, StartsWith(path + ": "));
    return text.substr(std::min(text.size(), path.size() + 2));
  }
  std::string fault(const std::string& bytes) { return fault(bytes, read_checkpoint); }

  TempFolder folder_;
  MadeCheckpoint made_{500};
};

constexpr const char* kBegin = "this checkpoint cannot be used: ";

TEST_F(CheckpointFileTest, ComesBackAsItWas) {
  write();
  const Checkpoint read = read_checkpoint(folder_.path("checkpoint-000000500.safetensors"));
  EXPECT_EQ(read.step, 500u);
  EXPECT_EQ(read.numbers, made_.parts.numbers);
  EXPECT_EQ(read.fingerprint, made_.parts.fingerprint);
  for (const auto& [key, value] : made_.parts.metadata) EXPECT_EQ(read.file.metadata().at(key), value) << key;
  EXPECT_EQ(read.file.metadata().at("checkpoint"), "1");
  ASSERT_EQ(read.file.entries().size(), made_.parts.tensors.size() + 1);
  for (const CheckpointTensor& tensor : made_.parts.tensors) {
    const ConstTensorView values = ModelFile::values(*read.file.by_name().at(tensor.name));
    ASSERT_EQ(values.spec(), tensor.values.spec()) << tensor.name;
    if (values.spec().bytes() == 0) continue;
    EXPECT_EQ(std::memcmp(values.data(), tensor.values.data(), values.spec().bytes()), 0) << tensor.name;
  }
}

TEST_F(CheckpointFileTest, OneTrainingHasOneFile) {
  const std::string bytes = write();
  EXPECT_EQ(write("again"), bytes);
  made_.parts.numbers.set("steps", 501);
  EXPECT_NE(write("other"), bytes);
}

TEST_F(CheckpointFileTest, IsVerifiedWithoutItsValues) {
  write();
  for (const bool from_disk : {false, true}) {
    const CheckpointFacts facts = verify_checkpoint(folder_.path("checkpoint-000000500.safetensors"), from_disk);
    EXPECT_EQ(facts.step, 500u);
    EXPECT_EQ(facts.loss, std::nullopt);
  }
}

TEST_F(CheckpointFileTest, SaysTheLossToWhoeverListsThem) {
  for (const double loss : {0.1, 1e-300, -0.0, HUGE_VAL}) {
    made_.parts.loss = loss;
    write("a");
    EXPECT_EQ(verify_checkpoint(folder_.path("a")).loss, loss);
  }
  made_.parts.loss = std::nan("");
  write("a");
  EXPECT_TRUE(std::isnan(verify_checkpoint(folder_.path("a")).loss.value()));
}

// Each tensor is written from where it lies, in a call of its own.
TEST_F(CheckpointFileTest, IsNotHeldTwice) {
  test::FaultyCalls calls(0, [] { return 0; });
  write_checkpoint(folder_.path("a"), made_.parts, calls);
  // The head, six tensors that are not empty, and the state.
  EXPECT_EQ(std::count(calls.made().begin(), calls.made().end(), "write"), 8);
}

TEST_F(CheckpointFileTest, HasTheUsersMask) {
  for (const mode_t mask : {022U, 077U, 002U}) {
    const mode_t before = ::umask(mask);
    write(cat("a", mask));
    ::umask(before);
    struct stat status {};
    ASSERT_EQ(::stat(folder_.path(cat("a", mask)).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0666 & ~mask);
  }
}

TEST_F(CheckpointFileTest, ACutIsFound) {
  const std::string bytes = write();
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (size_t size = 0; size < bytes.size(); size += size < 8 ? 1 : 64) {
    SCOPED_TRACE(size);
    const std::string cut = bytes.substr(0, size);
    if (size < 8) {
      EXPECT_EQ(fault(cut), cat(kBegin, "expected at least 8 bytes, got ", size));
    } else if (size < 8 + header) {
      EXPECT_EQ(fault(cut), cat(kBegin, "its header claims ", header, " bytes, the file has ", size, "; ",
                                ModelFileFaults::kCutHint));
    } else {
      EXPECT_EQ(fault(cut), cat(kBegin, "it was cut off: its tensors need ", bytes.size() - 8 - header,
                                " bytes of values, it has ", size - 8 - header));
    }
    EXPECT_EQ(fault(cut, [](const std::string& path) { verify_checkpoint(path); }), fault(cut));
    fault(cut, [](const std::string& path) { ModelFile::read(path); });
  }
  EXPECT_THAT(fault(bytes + "x"), StartsWith(cat(kBegin, "something follows its end: ")));
}

TEST_F(CheckpointFileTest, ATornPageIsFound) {
  const std::string bytes = write();
  for (size_t at = 0; at + 64 <= bytes.size(); at += 64) {
    std::string torn = bytes;
    if (torn.compare(at, 64, std::string(64, '\0')) == 0) continue;
    torn.replace(at, 64, std::string(64, '\0'));
    SCOPED_TRACE(at);
    EXPECT_THAT(fault(torn), StartsWith(kBegin));
    fault(torn, [](const std::string& path) { ModelFile::read(path); });
  }
}

TEST_F(CheckpointFileTest, AFlippedBitIsFoundAnywhere) {
  const std::string bytes = write();
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::string path = folder_.path("file.safetensors");
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << at % 8));
    const std::string text = fault(flipped);
    if (at >= 8 + header) {
      EXPECT_THAT(text, StartsWith(cat(kBegin, "it was torn or changed after it was written: "))) << at;
    }
    // A reader of models refuses the file, too.
    EXPECT_THROW(ModelFile::read(path), DataError) << at;
    EXPECT_THROW(verify_checkpoint(path), DataError) << at;
  }
}

TEST_F(CheckpointFileTest, SaysThatItsHeaderWasChanged) {
  const std::string bytes = write();
  std::string broken = bytes;
  broken[broken.find("\"config\"")] = '!';
  EXPECT_THAT(fault(broken), StartsWith(cat(kBegin, "it was torn or changed after it was written: its checksum is ")));
  std::string renamed = bytes;
  renamed.replace(renamed.find("checksum"), 8, "checkson");
  EXPECT_EQ(fault(renamed), cat(kBegin, "it was changed after it was written: its checksum is not at its beginning"));
  EXPECT_THAT(fault(renamed, [](const std::string& path) { ModelFile::read(path); }),
              StartsWith("not a model file: it was changed after it was written: "));
}

TEST_F(CheckpointFileTest, TheWrongNameIsFound) {
  write("checkpoint-000000400.safetensors");
  EXPECT_EQ(error_of<DataError>([&] { read_checkpoint(folder_.path("checkpoint-000000400.safetensors")); }),
            cat(folder_.path("checkpoint-000000400.safetensors"), ": ", kBegin,
                "it holds step 500, its name says 400: it was renamed, or swapped with another one"));
  EXPECT_THROW(verify_checkpoint(folder_.path("checkpoint-000000400.safetensors")), DataError);
  write("mine.safetensors");
  EXPECT_EQ(read_checkpoint(folder_.path("mine.safetensors")).step, 500u);
}

TEST_F(CheckpointFileTest, OtherFilesAreNoCheckpoints) {
  ModelFile model(folder_.path("model"), {{"config", "seed: 1\n"}, {"format", "millrace"}});
  model.add("w", {Shape{2}, DType::f32});
  model.write();
  EXPECT_EQ(fault(TempFolder::read(folder_.path("model"))),
            cat(kBegin, "it has no checksum; a saved model is no checkpoint: the key load begins with its values"));
  EXPECT_EQ(fault("seed: 1\n"), cat(kBegin, "its header claims 734403649402660211 bytes, the file has 8"));
  EXPECT_EQ(error_of<MissingError>([&] { read_checkpoint(folder_.path("no")); }),
            folder_.path("no") + ": cannot read the checkpoint: No such file or directory");
}

// The checksum of these files is right, but their content is not: another program may have written them.
TEST_F(CheckpointFileTest, WholeFilesThatLieAreRefused) {
  const std::string bytes = write();
  EXPECT_EQ(fault(changed_header(bytes, "\"step\":\"500\"", "\"step\":\"5x0\"")),
            cat(kBegin, "its step is \"5x0\", expected a number"));
  EXPECT_EQ(fault(changed_header(bytes, "\"step\":", "\"stop\":")), cat(kBegin, "its step is \"\", expected a number"));
  EXPECT_EQ(fault(changed_header(bytes, "\"state\":", "\"stata\":")), cat(kBegin, "it has no state of a training"));
  std::string other = bytes;
  other[other.rfind("millrace state")] = 'M';
  EXPECT_THAT(fault(test::sealed_again(other)), StartsWith("this is not a saved "));
}

TEST_F(CheckpointFileTest, OtherFormatsAreRefusedByName) {
  const std::string bytes = changed_header(write(), "\"checkpoint\":\"1\"", "\"checkpoint\":\"7\"");
  const auto refusal = [&](const auto& read) { return fault<ConfigError>(bytes, read); };
  const std::string text = refusal(read_checkpoint);
  EXPECT_THAT(text, StartsWith("a checkpoint of format \"7\", and version "));
  EXPECT_THAT(text, EndsWith(" reads format 1; version 0.2.0 wrote it"));
  EXPECT_EQ(refusal([](const std::string& path) { verify_checkpoint(path); }), text);
  EXPECT_EQ(refusal([](const std::string& path) { saved_config(ModelFile::read(path)); }), text);
}

TEST_F(CheckpointFileTest, TheSealComesFirst) {
  made_.parts.metadata["before"] = "";
  EXPECT_THROW(write(), InternalError);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(CheckpointFileTest, TheBestModelTakesThePlaceOfTheLast) {
  write("a");
  const ModelFile best = best_model(ModelFile::read(folder_.path("a")));
  const Checkpoint read = read_checkpoint(folder_.path("a"));
  size_t found = 0;
  for (const ModelFile::Entry& entry : best.entries()) {
    EXPECT_THAT(entry.name, Not(StartsWith("best/")));
    if (is_of_training(entry.name)) continue;
    ++found;
    const ConstTensorView expected = ModelFile::values(*read.file.by_name().at("best/" + entry.name));
    ASSERT_EQ(entry.spec, expected.spec());
    EXPECT_EQ(std::memcmp(entry.values.data(), expected.data(), entry.spec.bytes()), 0) << entry.name;
  }
  EXPECT_EQ(found, 2u);
  std::erase_if(made_.parts.tensors, [](const CheckpointTensor& one) { return one.name == "best/dense.bias"; });
  write("b");
  EXPECT_EQ(error_of<DataError>([&] { best_model(ModelFile::read(folder_.path("b"))); }),
            folder_.path("b") + ": it has no best dense.bias; a validation with keep_best makes one");
}

TEST(CheckpointName, HasNineDigitsOrMore) {
  EXPECT_EQ(checkpoint_name(0), "checkpoint-000000000.safetensors");
  EXPECT_EQ(checkpoint_name(500), "checkpoint-000000500.safetensors");
  EXPECT_EQ(checkpoint_name(999'999'999), "checkpoint-999999999.safetensors");
  EXPECT_EQ(checkpoint_name(1'000'000'000), "checkpoint-1000000000.safetensors");
  for (const uint64_t step : {uint64_t{0}, uint64_t{7}, uint64_t{1'000'000'000}, UINT64_MAX}) {
    EXPECT_EQ(step_of_name(checkpoint_name(step)), step);
  }
  for (const char* name :
       {"", "checkpoint-.safetensors", "checkpoint-500.safetensors", "checkpoint-0000000500.safetensors",
        "checkpoint-00000050x.safetensors", "checkpoint-000000500.safetensors.1-0.tmp",
        "xcheckpoint-000000500.safetensors", "checkpoint--00000500.safetensors",
        "checkpoint-99999999999999999999999.safetensors", "checkpoint-000000500"}) {
    EXPECT_EQ(step_of_name(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace millrace
