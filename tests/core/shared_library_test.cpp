#include "millrace/core/shared_library.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "millrace/core/errors.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Every test has a name of its own for its library, and no file is removed before the end: the loader knows what it has
// opened by name and by file number, and never forgets.
class SharedLibraryTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    root() = fs::path(::testing::TempDir()) / ("millrace_shared_libraries_" + std::to_string(getpid()));
  }
  static void TearDownTestSuite() { fs::remove_all(root()); }

  void SetUp() override {
    test_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = root() / test_;
    fs::create_directories(folder_);
    need_.sonames = {"lib" + test_ + ".so.2", "lib" + test_ + ".so.1"};
  }

  // A library of this system as `folder`/`name`.
  static fs::path place_library(const fs::path& folder, const std::string& name) {
    Dl_info found{};
    EXPECT_NE(dladdr(dlsym(RTLD_DEFAULT, "cos"), &found), 0);
    fs::create_directories(folder);
    fs::copy_file(fs::canonical(found.dli_fname), folder / name);
    return folder / name;
  }

  std::string test_;
  fs::path folder_;
  LibraryNeed need_ = {.name = "Mill", .purpose = "water wheels", .sonames = {}, .hint = "install a wheel"};

 private:
  static fs::path& root() {
    static fs::path folder;
    return folder;
  }
};

TEST_F(SharedLibraryTest, NamesWhatIsMissingForWhatAndHowToGetIt) {
  const std::string expected =
      "water wheels need Mill, but lib" + test_ + ".so.2 or lib" + test_ + ".so.1 was not found; install a wheel";
  try {
    const SharedLibrary library(need_);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.what(), expected);
  }
  need_.missing = ErrorKind::device;
  try {
    const SharedLibrary library(need_);
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.what(), expected);
  }
}

TEST_F(SharedLibraryTest, TakesTheFirstNameOfTheFirstFolder) {
  const fs::path file = place_library(folder_ / "a", need_.sonames[1]);
  place_library(folder_ / "b", need_.sonames[0]);
  need_.first = {folder_ / "nowhere", folder_ / "a", folder_ / "b"};
  const SharedLibrary library(need_);
  EXPECT_EQ(fs::path(library.path()), file);
  EXPECT_DOUBLE_EQ(library.function<double(double)>("cos")(0.5), std::cos(0.5));
}

TEST_F(SharedLibraryTest, LooksInTheLastFoldersAfterTheSystem) {
  const fs::path file = place_library(folder_, need_.sonames[0]);
  need_.last = {folder_};
  EXPECT_EQ(fs::path(SharedLibrary(need_).path()), file);
  place_library(folder_, "libm.so.6");
  need_.sonames = {"libm.so.6"};
  EXPECT_NE(fs::path(SharedLibrary(need_).path()), folder_ / "libm.so.6");
}

TEST_F(SharedLibraryTest, SaysWhyAFileCannotBeOpened) {
  const fs::path file = folder_ / need_.sonames[0];
  std::ofstream(file) << "not a library";
  need_.first = {folder_};
  try {
    const SharedLibrary library(need_);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr(test_ + ".so.1 cannot be opened: " + file.string() + ": "));
  }
}

TEST_F(SharedLibraryTest, NamesAFunctionThatIsNotThere) {
  place_library(folder_, need_.sonames[0]);
  need_.first = {folder_};
  const SharedLibrary library(need_);
  try {
    library.symbol("turn_the_wheel");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), StartsWith("Mill ("));
    EXPECT_THAT(error.what(), HasSubstr(".so.2) has no function turn_the_wheel; use the version"));
  }
}

}  // namespace
}  // namespace millrace
