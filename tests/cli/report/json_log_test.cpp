#include "millrace/cli/report/json_log.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "millrace/core/text.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

TEST(JsonLog, ReplacesTheFileOrGoesOnWithIt) {
  const TempFolder folder;
  const std::string path = folder.write("log.jsonl", "before\n");
  {
    JsonLog log(path, false);
    EXPECT_TRUE(log.write("not yet\n"));
    EXPECT_EQ(TempFolder::read(path), "before\n");
    log.begin();
    EXPECT_EQ(TempFolder::read(path), "");
    EXPECT_TRUE(log.write("a\n"));
    EXPECT_EQ(TempFolder::read(path), "a\n") << "at once";
  }
  JsonLog more(path, true);
  more.begin();
  EXPECT_TRUE(more.write("b\n"));
  EXPECT_EQ(TempFolder::read(path), "a\nb\n");
  EXPECT_EQ(more.failure(), "");
}

TEST(JsonLog, WithoutAPathIsNone) {
  JsonLog log("", false);
  log.begin();
  EXPECT_TRUE(log.write("a\n"));
}

// No file may be longer than `bytes`, as if the disk were full then.
void limit_files(rlim_t bytes) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes;
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

TEST(JsonLog, AFullDiskTearsNoLine) {
  const TempFolder folder;
  const std::string path = folder.path("log.jsonl");
  JsonLog log(path, false);
  log.begin();
  ASSERT_TRUE(log.write("{\"a\":1}\n"));
  limit_files(12);
  const bool first = log.write("{\"a\":2}\n"), second = log.write("{\"a\":3}\n");
  limit_files(RLIM_INFINITY);
  EXPECT_FALSE(first);
  EXPECT_TRUE(second) << "is told once";
  EXPECT_EQ(TempFolder::read(path), "{\"a\":1}\n");
  EXPECT_EQ(log.failure(), path + ": cannot write: File too large");
  EXPECT_TRUE(log.write("{\"a\":4}\n"));
  EXPECT_EQ(TempFolder::read(path), "{\"a\":1}\n{\"a\":4}\n");
}

class CheckLog : public ::testing::Test {
 protected:
  CheckLog() {
    for (const char* name : {"a.csv", "v.csv"}) folder_.write(name, "1,2,0\n3,4,1\n");
    folder_.write("c.yaml",
                  cat("device: cpu\n"
                      "input:\n"
                      "  - filename_queue: {files: ",
                      folder_.path("a.csv"),
                      ", epochs: 1}\n"
                      "  - csv_reader\n"
                      "  - decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2}}, on_bad_row: skip, "
                      "bad_rows_file: ",
                      folder_.path("bad.jsonl"),
                      "}\n"
                      "  - batch: {batch_size: 2}\n"
                      "model: [dense: {units: 1}]\n"
                      "loss: sigmoid_cross_entropy\n"
                      "optimizer: {sgd: {learning_rate: 0.1}}\n"
                      "validation: {files: ",
                      folder_.path("v.csv"),
                      ", keep_best: true}\n"
                      "save: ",
                      folder_.path("m.safetensors"),
                      "\n"
                      "checkpoint: ",
                      folder_.path("runs"), "\n"));
  }
  void check(const std::string& file) const {
    check_log(Trainer::from_file(folder_.path("c.yaml"), {"log.json=" + folder_.path(file)}));
  }
  // What is wrong with the file, without where the key is.
  std::string rejects(const std::string& file) const {
    const std::string what = error_of<ConfigError>([&] { check(file); });
    const std::string place = cat("--set log.json=", folder_.path(file), ": log: json: ");
    EXPECT_TRUE(what.starts_with(place) && what.ends_with("; give it another name")) << what;
    return what.substr(place.size(), what.rfind("; ") - place.size());
  }
  std::string quoted(const std::string& file) const { return quote(folder_.path(file), 4096); }

  const TempFolder folder_;
};

TEST_F(CheckLog, LetsAFilePassThatIsNobodysElse) {
  EXPECT_NO_THROW(check("log.jsonl"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path("log.jsonl")));
  folder_.write("log.jsonl", "before\n");
  EXPECT_NO_THROW(check("log.jsonl"));
  EXPECT_EQ(TempFolder::read(folder_.path("log.jsonl")), "before\n");
  EXPECT_NO_THROW(check_log(Trainer::from_file(folder_.path("c.yaml"))));
  EXPECT_NO_THROW(check_log(Trainer::from_file(folder_.path("c.yaml"), {"log={}"})));
}

TEST_F(CheckLog, RefusesWhatTheTrainingNeeds) {
  EXPECT_EQ(rejects("a.csv"), cat("would overwrite ", quoted("a.csv"), ", which this run reads"));
  EXPECT_EQ(rejects("v.csv"), cat("would overwrite ", quoted("v.csv"), ", which this run reads"));
  EXPECT_EQ(rejects("bad.jsonl"), cat("would overwrite ", quoted("bad.jsonl"), ", which this run writes"));
  for (const char* model : {"m.safetensors", "m.last.safetensors"}) {
    EXPECT_EQ(rejects(model), cat(quoted(model), " is the file that the model is saved to"));
  }
}

TEST_F(CheckLog, RefusesTheConfiguration) {
  folder_.write("d.yaml", TempFolder::read(folder_.path("c.yaml")) + "log: {json: " + folder_.path("d.yaml") + "}\n");
  EXPECT_EQ(error_of<ConfigError>([&] { check_log(Trainer::from_file(folder_.path("d.yaml"))); }),
            cat(folder_.path("d.yaml"), ":13:6: log: json: would overwrite ", quoted("d.yaml"),
                ", which this run reads; give it another name"));
}

TEST_F(CheckLog, RefusesTheModelThatItBeginsWith) {
  Trainer trainer = Trainer::from_file(folder_.path("c.yaml"));
  trainer.save(folder_.path("before.safetensors"));
  EXPECT_NE(error_of<ConfigError>([&] {
              check_log(Trainer::from_file(folder_.path("c.yaml"), {"load=" + folder_.path("before.safetensors"),
                                                                    "log.json=" + folder_.path("before.safetensors")}));
            }).find(cat("would overwrite ", quoted("before.safetensors"), ", which this run reads")),
            std::string::npos);
}

// Before the first training there is no such folder, which the training makes.
TEST_F(CheckLog, MayLieBesideTheCheckpoints) {
  EXPECT_NO_THROW(check("runs/log.jsonl"));
  const std::string reason = " is called like a file of the checkpoints, in their folder";
  EXPECT_EQ(rejects("runs/checkpoint-000000001.safetensors"), quoted("runs/checkpoint-000000001.safetensors") + reason);
  std::filesystem::create_directory(folder_.path("runs"));
  EXPECT_NO_THROW(check("runs/log.jsonl"));
  EXPECT_EQ(rejects("runs/checkpoint.lock"), quoted("runs/checkpoint.lock") + reason);
  EXPECT_NO_THROW(check("checkpoint.jsonl"));
}

TEST_F(CheckLog, RefusesWhatCannotBeWritten) {
  EXPECT_EQ(error_of<IoError>([&] { check("none/log.jsonl"); }),
            cat(folder_.path("none/log.jsonl"), ": cannot write: No such file or directory; make the folder ",
                quoted("none"), " first"));
  EXPECT_EQ(error_of<IoError>([&] { check("."); }), cat(folder_.path("."), ": cannot write: it is a folder"));
}

}  // namespace
}  // namespace millrace::cli
