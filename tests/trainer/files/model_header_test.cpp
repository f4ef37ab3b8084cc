#include "millrace/trainer/files/model_header.h"

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

std::string header_of(const ModelMetadata& metadata, const std::vector<std::pair<std::string, TensorSpec>>& tensors) {
  std::vector<ModelFile::Entry> entries;
  for (const auto& [name, spec] : tensors) entries.push_back({name, spec, {}});
  return model_header(metadata, entries);
}

TEST(ModelHeader, SaysWhatItWasTold) {
  const std::string text =
      header_of({{"b", "two\n\"lines\""}, {"a", "\xc3\xa9"}},
                {{"w", {Shape{2, 3}, DType::f32}}, {"n", {Shape{}, DType::i64}}, {"s", {Shape{5}, DType::u8}}});
  EXPECT_EQ((kModelLengthBytes + text.size()) % 64, 0u);
  const ModelHeader read = read_model_header(text, 37, {"m", false});
  EXPECT_EQ(read.metadata, (ModelMetadata{{"a", "\xc3\xa9"}, {"b", "two\n\"lines\""}}));
  ASSERT_EQ(read.tensors.size(), 3u);
  EXPECT_EQ(read.tensors[0].name, "w");
  EXPECT_EQ(read.tensors[0].spec, (TensorSpec{Shape{2, 3}, DType::f32}));
  EXPECT_EQ(read.tensors[1].begin, 24u);
  EXPECT_EQ(read.tensors[1].end, 32u);
  EXPECT_EQ(read.value_bytes(), 37u);
  EXPECT_EQ(read_model_header("{}", 0, {"m", false}).value_bytes(), 0u);
}

TEST(ModelHeader, PutsMetadataInOrder) {
  const std::string text = header_of({{"checksum", "0"}, {"config", ""}, {"checkpoint", "1"}}, {});
  EXPECT_TRUE(text.starts_with(R"({"__metadata__":{"checkpoint":"1","checksum":"0","config":""}})")) << text;
}

TEST(ModelHeader, HoldsNoMoreValuesThanItMay) {
  const std::string text = header_of({}, {{"w", {Shape{2}, DType::f32}}});
  EXPECT_NO_THROW(read_model_header(text, 8, {"m", false}));
  EXPECT_EQ(error_of<DataError>([&] {
              read_model_header(text, 7, {"m", false});
            }),
            std::string("m: not a model file: tensor \"w\": its values reach beyond the end of the file; ") +
                ModelFileFaults::kCutHint);
}

TEST(ModelHeader, FaultsNameTheFileAsWhatItShouldBe) {
  EXPECT_EQ(std::string((ModelFileFaults{"m", false}.error("why").what())),
            "m: not a model file: why; model files are written by `save`, in the safetensors layout");
  EXPECT_EQ(std::string((ModelFileFaults{"m", true}.error("why").what())), "m: this checkpoint cannot be used: why");
  EXPECT_EQ(std::string((ModelFileFaults{"m", true}.error("why", "how").what())),
            "m: this checkpoint cannot be used: why; how");
}

}  // namespace
}  // namespace millrace
