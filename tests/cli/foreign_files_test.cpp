// Data in another form than CSV: every command that reads them says what they are and what to do.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::testing {
namespace {

using namespace std::string_view_literals;

class ForeignFilesTest : public ::testing::Test {
 protected:
  ForeignFilesTest() {
    write_small_data(folder_);
    const auto trained = run({"--config", "small.yaml", "--save", "m.safetensors"});
    EXPECT_EQ(trained.exit_code, 0) << trained.err;
  }
  CommandResult run(std::vector<std::string> arguments) {
    return run_trainer(std::move(arguments), {.folder = folder_.path()});
  }
  // How each command is asked to read the files.
  static std::vector<std::vector<std::string>> commands(const std::string& data) {
    const std::string files = cat("input.filename_queue.files=", data);
    return {{"--config", "small.yaml", "--set", files},
            {"check", "--config", "small.yaml", "--set", files},
            {"check", "--config", "small.yaml", "--set", files, "--set", "input.csv_reader.header=true"},
            {"predict", "--model", "m.safetensors", "--data", data},
            {"evaluate", "--model", "m.safetensors", "--data", data},
            {"init", data, "--label", "2"}};
  }
  TempFolder folder_;
};

TEST_F(ForeignFilesTest, EveryCommandSaysWhatTheyAre) {
  const std::string tar = "rows.csv" + std::string(249, '\0') + "ustar  \n1,2,3\n";
  const std::map<std::string, std::pair<std::string_view, std::string>> kinds = {
      {"rows.tar", {tar, "the file is a tar archive: unpack it first: tar xf FILE"}},
      {"rows.csv.bz2", {"BZh91AY&SY\n1,2\n"sv, "the file is compressed by bzip2: decompress it first: bzcat"}},
      {"rows.csv.xz", {"\xfd\x37zXZ\0\n1\n"sv, "the file is compressed by xz: decompress it first: xzcat"}},
      {"images-idx3-ubyte",
       {"\0\0\x08\x03\0\0\r\x60\0\0\0\x1c\0\0\0\x1c"sv, "the file is in the IDX format, as MNIST is"}},
      {"rows.npz",
       {"PK\x03\x04\n\0\0\0\0\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0x.npy\n"sv,
        "the file is an archive of NumPy arrays"}},
      {"rows.npy",
       {"\x93NUMPY\x01\0v\0{'descr': '<f4'}\n"sv, "the file is a NumPy array: read it by the op npy_reader"}},
      {"rows.tfrecord",
       {"\x0c\0\0\0\0\0\0\0\xf4\xc8\xfe\n\n1"sv,
        "the file holds TFRecords: read it by the ops tfrecord_reader and decode_example"}},
      {"rows.parquet",
       {"PAR1\x15\x04\x15\n1;2\n"sv, "the file is in the Parquet format: read it by the op parquet_reader"}},
      {"img.png", {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"sv, "the file is a PNG image: image_folder reads pictures"}},
      {"img.jpg", {"\xff\xd8\xff\xe0\0\x10JFIF\0"sv, "the file is a JPEG image: image_folder reads pictures"}},
      {"rows.xlsx",
       {"PK\x03\x04\x14\0\6\0\b\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\x13\0\0\0[Content_Types].xml\n"sv,
        "the file is a workbook"}},
      {"rows.txt",
       {"\xff\xfe"
        "1\0,\0002\0,\0001\0\n\0"sv,
        "the file is UTF-16: convert it to UTF-8 first: iconv"}},
  };
  for (const auto& [name, kind] : kinds) {
    folder_.write(name, std::string(kind.first));
    for (const std::vector<std::string>& command : commands(name)) {
      if (command.front() == "init" && name == "rows.parquet") continue;  // init reads it
      const CommandResult result = run(command);
      EXPECT_EQ(result.exit_code, 65) << join(command, " ");
      EXPECT_NE(result.err.find(cat("error: ", name, ":1:1: this is not CSV text\nhint: ", kind.second)),
                std::string::npos)
          << join(command, " ") << '\n'
          << result.err;
    }
  }
}

TEST_F(ForeignFilesTest, AFolderIsReadAsTheHintSays) {
  std::filesystem::create_directories(folder_.path("data/more"));
  for (const char* name : {"part-0.csv", "part-1.csv"}) {
    std::filesystem::rename(folder_.path(name), folder_.path(cat("data/more/", name)));
  }
  for (const std::vector<std::string>& command : commands("data")) {
    const CommandResult result = run(command);
    EXPECT_EQ(result.exit_code, 66) << join(command, " ");
    EXPECT_NE(result.err.find("error: data: expected a file, got a folder\n"
                              "hint: to read what is in it, write data/*/*.csv\n"),
              std::string::npos)
        << join(command, " ") << '\n'
        << result.err;
  }
  EXPECT_EQ(run(commands("data/*/*.csv").front()).exit_code, 0);
}

}  // namespace
}  // namespace millrace::testing
