// Model files from anywhere: whatever is in one, reading it and making a Predictor of it ends with an Error of the
// right type or well, soon, and in little memory.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>

#include "millrace/core/text.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/model_file.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/predict/network.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/sanitized.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

// The most memory of this process since begin_peak(), in KiB.
int64_t peak() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6));
  }
  return 0;
}
void begin_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

class HostileModelTest : public ::testing::Test {
 protected:
  HostileModelTest() {
    data_ = folder_.write("data.csv", "1,2,0\n3,4,1\n5,6,0\n");
    Trainer trainer = Trainer::from_spec(parse_yaml(
        cat("seed: 3\ndevice: cpu\nthreads: 1\ninput:\n  - filename_queue: {files: ", quote(data_, 4096),
            ", epochs: 2}\n  - csv_reader\n  - decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2}}}\n",
            "  - batch: {batch_size: 2}\nmodel: [{dense: {units: 3, activation: tanh}}, {dense: {units: 1}}]\n",
            "loss: sigmoid_cross_entropy\nmetrics: [accuracy]\noptimizer: {sgd: {learning_rate: 0.1}}\n"),
        "t.yaml"));
    trainer.run();
    trainer.save(folder_.path("good.safetensors"));
    good_ = TempFolder::read(folder_.path("good.safetensors"));
    std::memcpy(&header_bytes_, good_.data(), sizeof header_bytes_);
  }

  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  std::string header() const { return good_.substr(8, header_bytes_); }
  std::string with_header(std::string header) const {
    const uint64_t length = header.size();
    std::string out(sizeof length, '\0');
    std::memcpy(out.data(), &length, sizeof length);
    return out + std::move(header) + good_.substr(8 + header_bytes_);
  }
  std::string config() const { return ModelFile::read(folder_.path("good.safetensors")).metadata().at("config"); }
  std::string with_config(const std::string& config) {
    const ModelFile file = ModelFile::read(folder_.path("good.safetensors"));
    ModelFile changed(folder_.path("config.safetensors"), {{"config", config}});
    for (const ModelFile::Entry& entry : file.entries()) {
      std::memcpy(changed.add(entry.name, entry.spec).data(), entry.values.data(), entry.values.bytes());
    }
    changed.write();
    return TempFolder::read(folder_.path("config.safetensors"));
  }

  // Loads the file as an evaluation does, and counts how that ended.
  void load(const std::string& bytes) {
    const std::string path = folder_.write("bad.safetensors", bytes);
    try {
      try {
        ModelFile::read(path);
      } catch (const DataError& error) {
        EXPECT_EQ(error.place().file, path) << error.what();
        ++not_models_;
        return;
      }
      Predictor predictor({.model = path, .data = {data_}, .judge = true});
      while (predictor.next() != nullptr) {
      }
      ++loaded_;
    } catch (const Error& error) {
      // Only what the file says is wrong: nothing of ours broke, no disk or memory ran out.
      const bool right = error.kind() == ErrorKind::data || error.kind() == ErrorKind::config ||
                         (error.kind() == ErrorKind::device && error.place().known());
      EXPECT_TRUE(right) << to_string(error.kind()) << ": " << error.what();
      EXPECT_TRUE(error.place().known()) << error.what();
      ++refused_;
    }
  }

  void expect_little_memory(int64_t before) const {
    if (test::kSanitized) return;
    EXPECT_LT(peak() - before, 16 << 10) << "KiB";
  }

  TempFolder folder_;
  std::string data_, good_;
  uint64_t header_bytes_ = 0;
  std::mt19937 random_{11};
  int not_models_ = 0, refused_ = 0, loaded_ = 0;
};

TEST_F(HostileModelTest, FlippedBytesAndOtherLengths) {
  load(good_);
  ASSERT_EQ(loaded_, 1);
  begin_peak();
  const int64_t before = peak();
  for (int round = 0; round < test::rounds(3000); ++round) {
    std::string bytes = good_;
    switch (below(5)) {
      case 0:  // bytes
        for (size_t changes = 1 + below(6); changes > 0; --changes) {
          bytes[below(bytes.size())] = static_cast<char>(below(256));
        }
        break;
      case 1: bytes.resize(below(bytes.size())); break;
      case 2: bytes.insert(below(bytes.size()), 1 + below(100), static_cast<char>(below(256))); break;
      case 3:  // a value, which may be anything
        bytes[8 + header_bytes_ + below(bytes.size() - 8 - header_bytes_)] = static_cast<char>(below(256));
        break;
      default: {  // the length of the header
        const uint64_t length =
            below(2) == 0 ? below(bytes.size() + 10) : static_cast<uint64_t>(random_()) << below(40);
        std::memcpy(bytes.data(), &length, sizeof length);
      }
    }
    load(bytes);
  }
  expect_little_memory(before);
  EXPECT_GT(not_models_, test::rounds(1000));
  EXPECT_GT(loaded_, test::rounds(400));
}

TEST_F(HostileModelTest, EditedHeaders) {
  begin_peak();
  const int64_t before = peak();
  const std::vector<std::string> pieces = {"0",
                                           "1",
                                           "9223372036854775807",
                                           "18446744073709551615",
                                           "1e9",
                                           "-1",
                                           "null",
                                           "true",
                                           "[]",
                                           "{}",
                                           "\"\"",
                                           "[0,0]",
                                           ",",
                                           ":",
                                           "\"F64\"",
                                           "\"U8\"",
                                           "[",
                                           "}",
                                           "\\u0000",
                                           "1024",
                                           "[1024,1024,1024]",
                                           "\"dtype\"",
                                           "shape",
                                           "\xff"};
  for (int round = 0; round < test::rounds(3000); ++round) {
    std::string text = header();
    for (size_t changes = 1 + below(2); changes > 0; --changes) {
      const size_t at = below(text.size());
      text.replace(at, below(12), pieces[below(pieces.size())]);
    }
    load(with_header(text));
  }
  for (const char* opening : {"[", "{\"a\":", "{\"a\":{\"shape\":["}) {
    std::string deep = "{\"__metadata__\":{},\"a\":{\"shape\":[1],\"data_offsets\":[0,4],\"dtype\":";
    for (int i = 0; i < 100000; ++i) deep += opening;
    load(with_header(deep));
    if (*opening == '[') load(with_header(deep + std::string(100000, ']') + "}}"));
  }
  expect_little_memory(before);
  EXPECT_GT(not_models_, test::rounds(1000));
}

TEST_F(HostileModelTest, EditedConfigurations) {
  begin_peak();
  const int64_t before = peak();
  const std::vector<std::string> pieces = {"0",
                                           "-1",
                                           "1000000000",
                                           "1000000000000",
                                           "9223372036854775807",
                                           "1e300",
                                           ".nan",
                                           "[",
                                           "]",
                                           "{",
                                           "}",
                                           ": ",
                                           "\n",
                                           "- ",
                                           "relu",
                                           "dense",
                                           "batch",
                                           "null",
                                           "\"\"",
                                           "true",
                                           "*",
                                           "&a ",
                                           "!!x ",
                                           "features",
                                           "label",
                                           "cpu",
                                           "cuda:7",
                                           "#",
                                           "'"};
  const std::string good = config();
  for (int round = 0; round < 800; ++round) {
    std::string text = good;
    for (size_t changes = 1 + below(2); changes > 0; --changes) {
      text.replace(below(text.size()), below(8), pieces[below(pieces.size())]);
    }
    load(with_config(text));
  }
  expect_little_memory(before);
  EXPECT_GT(refused_, 300);
  EXPECT_GT(loaded_, 10);
}

TEST_F(HostileModelTest, NumbersThatAskForMuch) {
  begin_peak();
  const int64_t before = peak();
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = config();
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << " is not in\n" << text;
    if (at != std::string::npos) text.replace(at, from.size(), to);
    return with_config(text);
  };
  int hostile = 0;
  for (const char* number : {"100000000", "1000000000", "1000000000000", "9223372036854775807"}) {
    for (const std::string key : {"units: 3", "batch_size: 2"}) {
      load(replaced(key, cat(key.substr(0, key.find(' ') + 1), number)));
      ++hostile;
    }
  }
  load(replaced("columns: 0-1", "columns: 0-16777215"));
  load(replaced("  - dense:", "  - add: {from: [features, features], name: wide}\n  - dense:"));
  hostile += 2;
  EXPECT_EQ(refused_, hostile - 1) << "the sum of two fields is no harm";
  expect_little_memory(before);
}

}  // namespace
}  // namespace millrace
