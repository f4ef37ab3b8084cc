#include "millrace/trainer/checkpoint/checkpoint_folder.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "tests/support/faulty_calls.h"
#include "tests/support/run_apart.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/checkpoint/checkpoint_testing.h"

namespace millrace {
namespace {

using test::FaultyCalls;
using test::MadeCheckpoint;
using test::run_apart;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class CheckpointFolderTest : public ::testing::Test {
 protected:
  std::string file(uint64_t step) const { return path(checkpoint_name(step)); }
  std::string path(const std::string& name) const { return cat(dir_, '/', name); }

  void write(uint64_t step, size_t keep = 100) {
    const MadeCheckpoint made(step);
    CheckpointFolder folder(dir_);
    EXPECT_EQ(folder.write(made.parts, keep).path, file(step));
  }
  static void change(const std::string& file, size_t from_end) {
    std::string bytes = TempFolder::read(file);
    bytes[bytes.size() - from_end] = static_cast<char>(bytes[bytes.size() - from_end] ^ 4);
    std::ofstream(file, std::ios::binary) << bytes;
  }
  std::vector<uint64_t> steps() const {
    std::vector<uint64_t> out;
    for (const ListedCheckpoint& one : list_checkpoints(dir_)) out.push_back(one.step);
    return out;
  }
  // The step of the newest usable checkpoint; 0 if there is none.
  uint64_t newest() {
    warnings_.clear();
    CheckpointFolder folder(dir_);
    const std::optional<Checkpoint> found = folder.newest(warnings_);
    if (!found) return 0;
    EXPECT_EQ(found->numbers, MadeCheckpoint(found->step).parts.numbers);
    return found->step;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(dir_)) out.push_back(entry.path().filename().string());
    std::ranges::sort(out);
    return out;
  }

  TempFolder parent_;
  std::string dir_ = parent_.path("runs/mlp");
  std::vector<std::string> warnings_;
};

TEST_F(CheckpointFolderTest, IsMadeWithTheFoldersAroundIt) {
  EXPECT_THAT(list_checkpoints(dir_), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(dir_));
  CheckpointFolder folder(dir_ + "/");
  EXPECT_TRUE(std::filesystem::is_directory(dir_));
  EXPECT_THAT(folder.warnings(), IsEmpty());
  EXPECT_EQ(folder.newest(warnings_), std::nullopt);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(CheckpointFolderTest, CannotBeAFile) {
  parent_.write("runs", "");
  EXPECT_EQ(error_of<IoError>([&] { CheckpointFolder folder(dir_); }),
            dir_ + ": cannot make the folder: Not a directory");
  EXPECT_THROW(CheckpointFolder(parent_.path("runs")), IoError);
}

TEST_F(CheckpointFolderTest, ListsByStep) {
  for (const uint64_t step : {uint64_t{1'000'000'000}, uint64_t{20}, uint64_t{100}}) write(step);
  for (const char* name :
       {"checkpoint-5.safetensors", "model.safetensors", "checkpoint-000000007.safetensors.9-0.tmp"}) {
    std::ofstream(path(name)) << "x";
  }
  const std::vector<ListedCheckpoint> listed = list_checkpoints(dir_);
  EXPECT_THAT(steps(), ElementsAre(20, 100, 1'000'000'000));
  EXPECT_EQ(listed[1].path, file(100));
  EXPECT_EQ(newest(), 1'000'000'000u);
}

TEST_F(CheckpointFolderTest, IsOfOneTraining) {
  const CheckpointFolder first(dir_);
  EXPECT_THAT(error_of<ConfigError>([&] { CheckpointFolder second(dir_); }),
              StartsWith(cat(dir_, ": another training writes its checkpoints here: on host ")));
  const int status = run_apart([&] {
    try {
      CheckpointFolder second(dir_);
    } catch (const ConfigError& error) {
      ::_exit(std::string(error.what()).find(cat("process ", ::getppid())) != std::string::npos ? 78 : 1);
    }
  });
  EXPECT_EQ(WEXITSTATUS(status), 78);
}

// The one that has no lock any more writes and removes nothing.
TEST_F(CheckpointFolderTest, IsLeftToTheOneThatHasItsLock) {
  CheckpointFolder first(dir_);
  std::filesystem::remove_all(dir_);
  write(300);
  const MadeCheckpoint made(400);
  EXPECT_THAT(error_of<IoError>([&] { first.write(made.parts, 1); }), HasSubstr("no longer the lock"));
  EXPECT_THAT(names(), ElementsAre("checkpoint-000000300.safetensors", "checkpoint.lock"));
}

TEST_F(CheckpointFolderTest, TheNewestThatIsWholeIsTaken) {
  for (const uint64_t step : {100u, 200u, 300u, 400u}) write(step);
  EXPECT_EQ(newest(), 400u);
  EXPECT_THAT(warnings_, IsEmpty());
  change(file(400), 1);
  EXPECT_EQ(newest(), 300u);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0], StartsWith(cat(file(400), ": this checkpoint cannot be used: it was torn or changed ")));
  EXPECT_TRUE(warnings_[0].ends_with(cat("; going on from ", file(300)))) << warnings_[0];
  std::filesystem::resize_file(file(300), 5000 < std::filesystem::file_size(file(300)) ? 5000 : 900);
  EXPECT_EQ(newest(), 200u);
  ASSERT_EQ(warnings_.size(), 2u);
  for (const std::string& warning : warnings_) EXPECT_THAT(warning, HasSubstr(cat("; going on from ", file(200))));
  EXPECT_THAT(warnings_[1], StartsWith(file(300)));
}

TEST_F(CheckpointFolderTest, SwappedFilesAreNamed) {
  for (const uint64_t step : {100u, 200u, 300u}) write(step);
  std::filesystem::rename(file(300), path("x"));
  std::filesystem::rename(file(200), file(300));
  std::filesystem::rename(path("x"), file(200));
  EXPECT_EQ(newest(), 100u);
  ASSERT_EQ(warnings_.size(), 2u);
  EXPECT_THAT(warnings_[0], HasSubstr("it holds step 200, its name says 300: it was renamed, or swapped"));
}

TEST_F(CheckpointFolderTest, FilesThatCannotBeReadAreLikeDamagedOnes) {
  write(100);
  std::filesystem::create_directory(file(200));
  std::filesystem::create_symlink("nowhere", file(300));
  EXPECT_EQ(newest(), 100u);
  EXPECT_EQ(warnings_.size(), 2u);
}

TEST_F(CheckpointFolderTest, NothingBeginsAnewInSilence) {
  for (const uint64_t step : {100u, 200u}) {
    write(step);
    change(file(step), 1);
  }
  const std::string text = error_of<DataError>([&] { newest(); });
  EXPECT_THAT(text, StartsWith(cat(dir_, ": no checkpoint is left to go on from: ", file(200))));
  EXPECT_THAT(text, HasSubstr(cat("; ", file(100))));
  EXPECT_TRUE(text.ends_with("; move them away to begin anew")) << text;
}

TEST_F(CheckpointFolderTest, SaysHowAWholeOneCanBeUsedAfterAll) {
  for (const uint64_t step : {100u, 200u, 300u}) write(step);
  change(file(100), 1);
  change(file(300), 1);
  CheckpointFolder folder(dir_);
  const auto refuse = [&](const char* hint) {
    return error_of<DataError>(
        [&] { folder.newest(warnings_, [&](const Checkpoint&) { throw DataError("a log is too short", {}, hint); }); });
  };
  EXPECT_TRUE(refuse("move the log away").ends_with("; move the log away"));
  EXPECT_TRUE(refuse("").ends_with("; move them away to begin anew"));
}

TEST_F(CheckpointFolderTest, AnotherFormatIsNotPassedOver) {
  write(100);
  write(200);
  const std::string bytes = TempFolder::read(file(200));
  std::ofstream(file(200), std::ios::binary)
      << test::changed_header(bytes, "\"checkpoint\":\"1\"", "\"checkpoint\":\"2\"");
  EXPECT_THAT(error_of<ConfigError>([&] { newest(); }), StartsWith(file(200) + ": a checkpoint of format \"2\""));
}

TEST_F(CheckpointFolderTest, KeepsTheNewest) {
  for (uint64_t step = 100; step <= 600; step += 100) write(step, 3);
  EXPECT_THAT(steps(), ElementsAre(400, 500, 600));
  write(700, 1);
  EXPECT_THAT(steps(), ElementsAre(700));
  // The same step again replaces the file.
  write(700, 1);
  EXPECT_THAT(steps(), ElementsAre(700));
  EXPECT_EQ(newest(), 700u);
}

TEST_F(CheckpointFolderTest, SetsAsideWhatComesLater) {
  for (const uint64_t step : {100u, 200u, 300u}) write(step);
  const std::string later = TempFolder::read(file(300));
  CheckpointFolder folder(dir_);
  EXPECT_THAT(folder.set_aside_after(300), IsEmpty());
  EXPECT_THAT(
      folder.set_aside_after(150),
      ElementsAre(cat(file(200), " is of a step after that, and is called ", file(200), ".abandoned from now on"),
                  cat(file(300), " is of a step after that, and is called ", file(300), ".abandoned from now on")));
  EXPECT_THAT(steps(), ElementsAre(100));
  EXPECT_EQ(TempFolder::read(file(300) + ".abandoned"), later);
  folder.write(MadeCheckpoint(120).parts, 1);
  EXPECT_TRUE(std::filesystem::exists(file(300) + ".abandoned")) << "only checkpoints are removed";
}

TEST_F(CheckpointFolderTest, FailsIfItCannotSetAside) {
  for (const uint64_t step : {100u, 200u}) write(step);
  FaultyCalls calls(2, [] { return EPERM; });
  CheckpointFolder folder(dir_, calls);
  EXPECT_EQ(
      error_of<IoError>([&] { folder.set_aside_after(100); }),
      cat(file(200), ": cannot rename it to ", quote(file(200) + ".abandoned", 4096), ": Operation not permitted"));
  EXPECT_EQ(calls.made().back(), "rename");
}

TEST_F(CheckpointFolderTest, SaysWhatItCannotRemove) {
  write(100);
  FaultyCalls calls(0, [] { return 0; });
  const MadeCheckpoint made(200);
  {
    CheckpointFolder folder(dir_, calls);
    folder.write(made.parts, 2);
  }
  // The first run removed nothing. After the same number of calls, the next one is the first removal.
  FaultyCalls faulty(calls.made().size(), [] { return EPERM; });
  std::filesystem::remove(file(200));
  CheckpointFolder folder(dir_, faulty);
  const CheckpointFolder::Written written = folder.write(made.parts, 1);
  EXPECT_EQ(written.path, file(200));
  EXPECT_THAT(written.warnings,
              ElementsAre(cat(file(100), ": cannot remove this older checkpoint: Operation not permitted")));
}

// The file is changed before it is read back.
TEST_F(CheckpointFolderTest, OlderOnesGoOnlyAfterTheNewestWasReadBack) {
  write(100);
  size_t calls = 0;
  {
    FaultyCalls counted(0, [] { return 0; });
    CheckpointFolder(dir_, counted).write(MadeCheckpoint(200).parts, 2);
    std::filesystem::remove(file(200));
    calls = counted.made().size();
  }
  FaultyCalls faulty(calls - 1, [&] {
    change(file(200), 1);
    return 0;
  });
  {
    CheckpointFolder folder(dir_, faulty);
    EXPECT_THAT(error_of<DataError>([&] { folder.write(MadeCheckpoint(200).parts, 1); }),
                StartsWith(file(200) + ": this checkpoint cannot be used: it was torn or changed "));
    EXPECT_EQ(faulty.made().back(), "unlink");
    EXPECT_THAT(steps(), ElementsAre(100));
    folder.write(MadeCheckpoint(300).parts, 2);
    EXPECT_THAT(steps(), ElementsAre(100, 300));
  }
  EXPECT_EQ(newest(), 300u);
}

TEST_F(CheckpointFolderTest, LeftOversOfKilledProgramsGo) {
  write(100);
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(dead, nullptr, 0), dead);
  const std::string begin = checkpoint_name(200) + '.';
  const std::string of_dead = cat(begin, dead, "-0.tmp"), of_this = cat(begin, ::getpid(), "-3.tmp");
  const std::string of_another = cat(begin, ::getppid(), "-0.tmp"), of_user = "model.safetensors.5-0.tmp";
  for (const std::string& name : {of_dead, of_this, of_another, of_user}) std::ofstream(path(name)) << "x";
  const CheckpointFolder folder(dir_);
  EXPECT_THAT(folder.warnings(), IsEmpty());
  EXPECT_THAT(names(), ::testing::UnorderedElementsAre("checkpoint.lock", checkpoint_name(100), of_user));
}

TEST_F(CheckpointFolderTest, SaysWhichLeftOversStay) {
  write(100);
  const std::string name = cat(checkpoint_name(200), '.', ::getpid(), "-0.tmp");
  std::ofstream(path(name)) << "x";
  FaultyCalls calls(2, [] { return EPERM; });
  const CheckpointFolder folder(dir_, calls);
  EXPECT_EQ(calls.made().back(), "unlink");
  EXPECT_THAT(
      folder.warnings(),
      ElementsAre(cat(path(name), ": a killed program left it, and it cannot be removed: Operation not permitted")));
}

// One way to write a checkpoint into a folder that has one of step 100: the new one replaces it or not, with or without
// nameless files.
struct Attempt {
  uint64_t step = 200;
  size_t keep = 1;
  bool nameless = true;
};

class CheckpointFaults : public CheckpointFolderTest, public ::testing::WithParamInterface<Attempt> {
 protected:
  // For each call of the system in turn: makes the folder anew, and calls body(faulty) with the fault at this call, and
  // then look(faulty, at). Ends when look() returns false.
  template <class Body, class Look>
  void at_every_call(const std::function<int()>& fault, const Body& body, const Look& look) {
    for (size_t at = 0;; ++at) {
      std::filesystem::remove_all(dir_);
      write(100);
      FaultyCalls faulty(at, fault);
      if (!GetParam().nameless) faulty.forbid_nameless();
      body(faulty);
      SCOPED_TRACE(at);
      if (!look(faulty, at)) return;
      ASSERT_LT(at, 100u);
    }
  }
};

TEST_P(CheckpointFaults, LeaveTheLastGoodCheckpoint) {
  const MadeCheckpoint made(GetParam().step);
  for (const int code : {EIO, ENOSPC}) {
    bool well = false;
    at_every_call([code] { return code; },
                  [&](FaultyCalls& calls) {
                    well = false;
                    try {
                      CheckpointFolder folder(dir_, calls);
                      well = folder.write(made.parts, GetParam().keep).warnings.empty();
                    } catch (const IoError& error) {
                      EXPECT_THAT(error.what(), StartsWith(dir_));
                    }
                  },
                  [&](const FaultyCalls& calls, size_t at) {
                    const uint64_t found = newest();
                    EXPECT_TRUE(found == 100 || found == GetParam().step) << found;
                    EXPECT_THAT(warnings_, IsEmpty());
                    if (well) {
                      EXPECT_EQ(found, GetParam().step);
                    }
                    for (const std::string& name : names()) EXPECT_FALSE(name.ends_with(".tmp")) << name;
                    return at < calls.made().size();
                  });
    EXPECT_TRUE(well) << "without a fault";
  }
}

// The process is killed before each call in turn. The next process finds the last good checkpoint, and removes
// left-over files.
TEST_P(CheckpointFaults, KillsLeaveTheLastGoodCheckpoint) {
  const MadeCheckpoint made(GetParam().step);
  int status = 0;
  at_every_call([] { return ::raise(SIGKILL); },
                [&](FaultyCalls& calls) {
                  status = run_apart([&] {
                    CheckpointFolder folder(dir_, calls);
                    folder.write(made.parts, GetParam().keep);
                  });
                },
                [&](const FaultyCalls&, size_t) {
                  const uint64_t found = newest();
                  EXPECT_TRUE(found == 100 || found == GetParam().step) << found;
                  EXPECT_THAT(warnings_, IsEmpty());
                  for (const std::string& name : names()) EXPECT_FALSE(name.ends_with(".tmp")) << name;
                  if (WIFSIGNALED(status)) return true;
                  EXPECT_EQ(status, 0);
                  EXPECT_EQ(found, GetParam().step);
                  return false;
                });
}

INSTANTIATE_TEST_SUITE_P(Ways, CheckpointFaults,
                         ::testing::Values(Attempt{}, Attempt{.nameless = false}, Attempt{.step = 100},
                                           Attempt{.step = 100, .nameless = false}, Attempt{.keep = 2},
                                           Attempt{.step = 50}),
                         [](const auto& way) {
                           const Attempt& one = way.param;
                           return cat("Step", one.step, "Keep", one.keep, one.nameless ? "" : "WithNames");
                         });

}  // namespace
}  // namespace millrace
