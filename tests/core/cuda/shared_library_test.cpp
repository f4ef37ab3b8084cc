#include "millrace/core/cuda/shared_library.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "millrace/core/errors.h"

namespace millrace::cuda {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr char kVariable[] = "MILLRACE_CUDA_LIBRARIES";

// Every test has a name of its own for its library, and no file is removed before the end: the loader knows what it has
// opened by name and by file number, and never forgets.
class CudaSharedLibrary : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    root() = fs::path(::testing::TempDir()) / ("millrace_libraries_" + std::to_string(getpid()));
  }
  static void TearDownTestSuite() { fs::remove_all(root()); }

  void SetUp() override {
    if (const char* value = std::getenv(kVariable)) before_ = value;
    unsetenv(kVariable);
    test_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = root() / test_;
    fs::create_directories(folder_);
    need_.sonames = {"lib" + test_ + ".so.2", "lib" + test_ + ".so.1"};
  }
  void TearDown() override {
    unsetenv(kVariable);
    if (before_) setenv(kVariable, before_->c_str(), 1);
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
  std::optional<std::string> before_;
};

TEST_F(CudaSharedLibrary, NamesWhatIsMissingForWhatAndHowToGetIt) {
  try {
    const SharedLibrary library(need_);
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.what(), "water wheels need Mill, but lib" + test_ + ".so.2 or lib" + test_ +
                                ".so.1 was not found; install a wheel, or name its folder in MILLRACE_CUDA_LIBRARIES");
  }
}

TEST_F(CudaSharedLibrary, LooksInTheNamedFolders) {
  const fs::path file = place_library(folder_, need_.sonames[1]);
  setenv(kVariable, (":/nowhere:" + folder_.string() + ":").c_str(), 1);
  const SharedLibrary library(need_);
  EXPECT_EQ(fs::path(library.path()), file);
  EXPECT_DOUBLE_EQ(library.function<double(double)>("cos")(0.5), std::cos(0.5));
}

TEST_F(CudaSharedLibrary, KnowsTheFoldersOfPythonPackages) {
  for (const char* package : {"nvidia/cublas/lib", "nvidia/cu13/lib"}) {
    need_.sonames = {std::string("lib") + package[10] + "_of_a_package.so"};
    const fs::path file = place_library(folder_ / package, need_.sonames[0]);
    setenv(kVariable, folder_.c_str(), 1);
    EXPECT_EQ(fs::path(SharedLibrary(need_).path()), file);
  }
}

TEST_F(CudaSharedLibrary, FindsWhatTheSystemKnows) {
  need_.sonames = {"libm.so.6"};
  EXPECT_THAT(SharedLibrary(need_).path(), HasSubstr("libm.so.6"));
}

}  // namespace
}  // namespace millrace::cuda
