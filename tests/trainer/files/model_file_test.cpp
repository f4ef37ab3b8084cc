#include "millrace/trainer/files/model_file.h"

#include <sys/stat.h>

#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "millrace/core/errors.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

// A file of the layout with any header and values.
std::string file_of(const std::string& header, size_t value_bytes) {
  const uint64_t length = header.size();
  std::string out(sizeof length, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  out += header;
  for (size_t i = 0; i < value_bytes; ++i) out += static_cast<char>(i);
  return out;
}

using Tensors = std::vector<std::pair<std::string, ConstTensorView>>;

void write_file(const std::string& path, const ModelMetadata& metadata, const Tensors& tensors) {
  ModelFile file(path, metadata);
  for (const auto& [name, values] : tensors) {
    std::memcpy(file.add(name, values.spec()).data(), values.data(), values.spec().bytes());
  }
  file.write();
}

class ModelFileTest : public testing::Test {
 protected:
  std::string rejects(const std::string& bytes, const std::string& name = "bad.safetensors") {
    const std::string path = folder_.write(name, bytes);
    try {
      ModelFile::read(path);
    } catch (const DataError& error) {
      EXPECT_EQ(error.place().text(), path);
      hint_ = error.hint();
      const std::string start = "not a model file: ";
      EXPECT_TRUE(error.message().starts_with(start)) << error.message();
      return error.message().substr(start.size());
    }
    return "accepted";
  }
  std::string rejects_header(const std::string& header, size_t value_bytes = 8) {
    return rejects(file_of(header, value_bytes));
  }

  TempFolder folder_;
  std::string hint_;  // of the last that was rejected
};

TEST_F(ModelFileTest, RoundTripsEveryDtypeInOrder) {
  const float weight[] = {1.5f, -0.0f, 3e-45f, 4, 5, 6};
  const double wide[] = {1e300};
  const int32_t small[] = {-7, 8};
  const int64_t large[] = {INT64_MIN};
  const uint8_t byte[] = {255};
  const Tensors tensors = {{"z.weight", {weight, DType::f32, Shape{2, 3}}},
                           {"a", {wide, DType::f64, Shape{1}}},
                           {"b", {small, DType::i32, Shape{2}}},
                           {"c", {large, DType::i64, Shape{}}},
                           {"d", {byte, DType::u8, Shape{1, 1}}}};
  const std::string path = folder_.path("m.safetensors");
  write_file(path, {{"config", "seed: 23\n\"q\" \xc3\xa9\n"}, {"millrace", "0.1.0"}}, tensors);
  const ModelFile file = ModelFile::read(path);
  EXPECT_EQ(file.metadata().at("config"), "seed: 23\n\"q\" \xc3\xa9\n");
  EXPECT_EQ(file.metadata().at("millrace"), "0.1.0");
  ASSERT_EQ(file.entries().size(), tensors.size());
  const ModelFile::Index by_name = file.by_name();
  EXPECT_EQ(by_name.size(), tensors.size());
  EXPECT_EQ(by_name.at("b"), &file.entries()[2]);
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(file.entries()[i].name, tensors[i].first);
    EXPECT_EQ(file.entries()[i].spec, tensors[i].second.spec());
    EXPECT_EQ(
        std::memcmp(file.values(file.entries()[i]).data(), tensors[i].second.data(), tensors[i].second.spec().bytes()),
        0);
  }
}

TEST_F(ModelFileTest, HasTheSafetensorsLayout) {
  const float values[] = {1, 2};
  const Tensors tensors = {{"w", {values, DType::f32, Shape{2}}}};
  const std::string path = folder_.path("m.safetensors");
  write_file(path, {{"format", "x"}}, tensors);
  const std::string bytes = TempFolder::read(path);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  EXPECT_EQ((8 + length) % 64, 0u);
  EXPECT_EQ(bytes.size(), 8 + length + sizeof values);
  EXPECT_TRUE(bytes.ends_with(std::string_view(reinterpret_cast<const char*>(values), sizeof values)));
  EXPECT_EQ(
      nlohmann::json::parse(bytes.substr(8, length)),
      nlohmann::json::parse(R"({"__metadata__":{"format":"x"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})"));
}

TEST_F(ModelFileTest, TensorsMayBeListedInAnyOrderAndBeEmpty) {
  const std::string path = folder_.write(
      "m",
      file_of(
          R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},"e":{"dtype":"F32","shape":[0],"data_offsets":[1,1]},)"
          R"("a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})",
          3));
  const ModelFile file = ModelFile::read(path);
  ASSERT_EQ(file.entries().size(), 3u);
  EXPECT_EQ(file.entries()[0].name, "a");
  EXPECT_EQ(file.entries()[1].name, "e");
  EXPECT_EQ(file.entries()[2].name, "b");
  EXPECT_EQ(file.values(file.entries()[2]).as<uint8_t>()[1], 2);
}

TEST_F(ModelFileTest, RejectsSizesThatDoNotFit) {
  EXPECT_EQ(rejects("1234567"), "expected at least 8 bytes, got 7");
  EXPECT_EQ(rejects(std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8)),
            "its header claims 18446744073709551615 bytes, the file has 8");
  EXPECT_EQ(rejects(std::string("\x05\0\0\0\0\0\0\0{}", 10)), "its header claims 5 bytes, the file has 10");
  EXPECT_EQ(rejects_header(std::string((size_t{16} << 20) + 1, ' ')),
            "its header claims 16777217 bytes, at most 16777216 are read");
  EXPECT_EQ(rejects_header(std::string(size_t{16} << 20, ' ')), "its header is not a JSON object");
  EXPECT_EQ(rejects_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 9),
            "its tensors need 8 bytes of values, it has 9");
  EXPECT_EQ(rejects_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 7),
            "tensor \"a\": its values reach beyond the end of the file");
  EXPECT_EQ(rejects_header(R"({})", 1), "its tensors need 0 bytes of values, it has 1");
}

TEST_F(ModelFileTest, SaysWhereToLookForTheFault) {
  rejects("1234567");
  EXPECT_EQ(hint_, "model files are written by `save`, in the safetensors layout");
  rejects("seed: 1\nmodel: []\n", "config.yaml");
  EXPECT_EQ(hint_, "a configuration makes one: trainer --config FILE --save model.safetensors");
  rejects_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 7);
  EXPECT_EQ(hint_, "the file may have been cut off: copy or save it again");
}

TEST_F(ModelFileTest, RejectsHeadersThatAreNone) {
  EXPECT_EQ(rejects_header("", 0), "its header is not a JSON object");
  EXPECT_EQ(rejects_header("[]", 0), "its header is not a JSON object");
  EXPECT_EQ(rejects_header("{\"a\":", 0), "its header is not valid JSON");
  EXPECT_EQ(rejects_header("{\"\xff\":1}", 0), "its header is not valid JSON");
  EXPECT_EQ(rejects_header("{} {}", 0), "its header is not valid JSON");
  EXPECT_EQ(rejects_header(R"({"a":1})", 0), "tensor \"a\": expected dtype, shape and data_offsets");
  EXPECT_EQ(rejects_header(R"({"__metadata__":1})", 0), "__metadata__ is not an object");
  EXPECT_EQ(rejects_header(R"({"__metadata__":{"a":1}})", 0), "the metadata \"a\" is not a text");
  const std::string tensor = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_EQ(rejects_header("{\"a\":" + tensor + ",\"a\":" + tensor + "}", 4), "its header has the key \"a\" twice");
  EXPECT_EQ(rejects_header(R"({"a":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]}})", 4),
            "its header has the key \"shape\" twice");
  EXPECT_EQ(rejects_header(std::string(100'000, '['), 0), "its header is not a JSON object");
  const std::string form = "tensor \"a\": expected dtype, shape and data_offsets";
  EXPECT_EQ(rejects_header("{\"a\":" + std::string(100'000, '['), 0), form);
  EXPECT_EQ(rejects_header(R"({"a":{"dtype":"F32","shape":[1]}})", 4), form);
  EXPECT_EQ(rejects_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", 4), form);
  EXPECT_EQ(rejects_header(R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", 4),
            "tensor \"a\": the shape does not fit the file");
  EXPECT_EQ(rejects_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]}})", 4),
            "tensor \"a\": expected two data_offsets");
  EXPECT_EQ(rejects_header(R"({"__metadata__":{"a":"","a":""}})", 0), "its header has the key \"a\" twice");
}

TEST_F(ModelFileTest, RejectsTensorsThatDoNotFit) {
  const auto tensor = [&](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return rejects_header("{\"a\":{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}");
  };
  EXPECT_EQ(tensor("\"BF16\"", "[4]", "[0,8]"), "tensor \"a\": the dtype \"BF16\" is not supported");
  EXPECT_EQ(tensor("7", "[4]", "[0,8]"), "tensor \"a\": the dtype 7 is not supported");
  EXPECT_EQ(tensor("[\"F32\"]", "[4]", "[0,8]"), "tensor \"a\": the dtype array is not supported");
  EXPECT_EQ(tensor("\"" + std::string(100, 'F') + "\"", "[4]", "[0,8]"),
            "tensor \"a\": the dtype \"" + std::string(60, 'F') + "...\" is not supported");
  EXPECT_EQ(tensor("\"F32\"", "[1]", "[0,8]"), "tensor \"a\": its shape needs 4 bytes, it has 8");
  EXPECT_EQ(tensor("\"F32\"", "[-2]", "[0,8]"), "tensor \"a\": the shape does not fit the file");
  EXPECT_EQ(tensor("\"F32\"", "[1.5]", "[0,8]"), "tensor \"a\": the shape does not fit the file");
  EXPECT_EQ(tensor("\"F32\"", "[9223372036854775807,4]", "[0,8]"), "tensor \"a\": the shape does not fit the file");
  EXPECT_EQ(tensor("\"U8\"", "[8,8,8,8,8,8,8]", "[0,8]"), "tensor \"a\": expected a shape of at most 6 axes");
  EXPECT_EQ(tensor("\"F32\"", "4", "[0,8]"), "tensor \"a\": expected a shape of at most 6 axes");
  EXPECT_EQ(tensor("\"F32\"", "[2]", "[0]"), "tensor \"a\": expected two data_offsets");
  EXPECT_EQ(tensor("\"F32\"", "[2]", "[-1,8]"), "tensor \"a\": expected two data_offsets");
  EXPECT_EQ(tensor("\"F32\"", "[2]", "[8,0]"), "tensor \"a\": its values reach beyond the end of the file");
  EXPECT_EQ(tensor("\"F32\"", "[1]", "[4,8]"), "the values of \"a\" leave a hole or overlap others");
  // No axis alone is larger than the file, and there is no value.
  EXPECT_EQ(rejects_header(R"({"a":{"dtype":"U8","shape":[0,4096,4096,4096,4096,4096],"data_offsets":[0,0]}})", 4096),
            "tensor \"a\": the shape does not fit the file");
  EXPECT_EQ(
      rejects_header(
          R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"),
      "the values of \"b\" leave a hole or overlap others");
}

TEST_F(ModelFileTest, MissingFilesAndFolders) {
  EXPECT_EQ(error_of<MissingError>([&] { ModelFile::read(folder_.path("no")); }),
            folder_.path("no") + ": cannot read the model: No such file or directory");
  EXPECT_EQ(error_of<MissingError>([&] { ModelFile::read(folder_.path()); }),
            folder_.path() + ": cannot read the model: it is not a regular file");
  // One that would wait for somebody who writes into it.
  const std::string fifo = folder_.path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(error_of<MissingError>([&] { ModelFile::read(fifo); }),
            fifo + ": cannot read the model: it is not a regular file");
}

std::string header_of_empty(int tensors) {
  std::string header = "{";
  for (int i = 0; i < tensors; ++i) {
    header += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) + R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  }
  return header + "}";
}

TEST_F(ModelFileTest, ManyTensorsTakeNoLongerThanTheirBytes) {
  const std::string path = folder_.write("many", file_of(header_of_empty(65536), 0));
  const auto start = std::chrono::steady_clock::now();  // 88 s where each one walked through all before it
  const ModelFile file = ModelFile::read(path);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  ASSERT_EQ(file.entries().size(), 65536u);
  EXPECT_EQ(file.entries().front().name, "t0");
  EXPECT_EQ(file.entries().back().name, "t65535");
  EXPECT_EQ(rejects_header(header_of_empty(65537), 0), "it lists more than 65536 tensors");
}

TEST_F(ModelFileTest, WritesNoFileThatCannotBeReadAgain) {
  const auto made = [&](int tensors, size_t name_bytes) {
    ModelFile file(folder_.path("m"));
    for (int i = 0; i < tensors; ++i) file.declare(std::to_string(i) + std::string(name_bytes, 'n'), {{1}, DType::f32});
    return file;
  };
  EXPECT_NO_THROW(made(65536, 0).check());
  EXPECT_EQ(error_of<ConfigError>([&] { made(65537, 0).check(); }).substr(0, 41),
            "the model file would hold 65537 tensors a");
  const std::string end = " bytes; at most 65536 and 16777216 can be read again";
  EXPECT_TRUE(error_of<ConfigError>([&] { made(17, 1 << 20).check(); }).ends_with(end));
  // With the blanks after it, a header is 8 bytes less than a multiple of 64.
  const auto with_text = [&](size_t bytes) {
    const size_t around = std::string_view(R"({"__metadata__":{"config":""}})").size();
    return ModelFile(folder_.path("m"), {{"config", std::string(bytes - around, 'x')}});
  };
  constexpr size_t kMost = 16777216 - 8;
  with_text(kMost).write();
  EXPECT_TRUE(ModelFile::read(folder_.path("m")).metadata() == with_text(kMost).metadata());
  EXPECT_TRUE(error_of<ConfigError>([&] { with_text(kMost + 1).check(); }).ends_with(end));
}

TEST_F(ModelFileTest, TextsMustBeUtf8) {
  EXPECT_THROW(write_file(folder_.path("m"), {{"config", "\xff"}}, {}), ConfigError);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("m")));
}

// Every prefix and many mutations of a good file: equal values or a DataError.
TEST_F(ModelFileTest, MutatedFilesAreRejectedOrRead) {
  const float values[] = {1, 2, 3};
  const Tensors tensors = {{"a", {values, DType::f32, Shape{2}}}, {"b", {values + 2, DType::f32, Shape{1, 1}}}};
  const std::string path = folder_.path("m.safetensors");
  write_file(path, {{"config", "seed: 1\n"}}, tensors);
  const std::string good = TempFolder::read(path);
  for (size_t size = 0; size < good.size(); ++size) {
    folder_.write("cut", std::string_view(good).substr(0, size));
    EXPECT_THROW(ModelFile::read(folder_.path("cut")), DataError) << size;
  }
  std::mt19937 random(7);
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  const std::string alphabet = "{}[]\",:0123456789-e.FUI\\u \xff";
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = good;
    for (size_t changes = 1 + below(4); changes > 0; --changes)
      bytes[below(bytes.size())] = alphabet[below(alphabet.size())];
    folder_.write("mutated", bytes);
    try {
      for (const auto& file = ModelFile::read(folder_.path("mutated")); const auto& entry : file.entries()) {
        EXPECT_EQ(entry.values.bytes(), entry.spec.bytes());
        EXPECT_LE(entry.values.bytes(), good.size());
      }
    } catch (const DataError&) {
    }
  }
}

}  // namespace
}  // namespace millrace
