#include "millrace/input/hdf5/hdf5_library.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/input/hdf5/has_hdf5.h"
#include "tests/input/op_testing.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using testing_support::error_of;

TEST(Hdf5Library, OneThreadCallsItAtATime) {
  SKIP_WITHOUT_HDF5();
  std::atomic<int> now = 0, most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int call = 0; call < 200; ++call) {
        const Hdf5 h;
        most = std::max(most.load(), ++now);
        EXPECT_LT(h.calls.sort_of(123456789), 0);
        --now;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

TEST(Hdf5Library, MakesErrorsOfWhatTheLibraryPrints) {
  SKIP_WITHOUT_HDF5();
  const TempFolder folder;
  folder.write("a.h5", "no file of HDF5");
  ::testing::internal::CaptureStderr();
  const std::string error = error_of([&] {
    const Hdf5 h;
    h.own(h.calls.open_file(folder.path("a.h5").c_str(), 0, 0), h.calls.close_file, "cannot open the file");
  });
  EXPECT_EQ(error.substr(0, 43), "cannot open the file, libhdf5 says: file si") << error;
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Hdf5Library, LeavesToTheProgramHowItPrintsErrors) {
  SKIP_WITHOUT_HDF5();
  const auto printer = [] {
    const Hdf5 h;
    void *before = nullptr, *data = nullptr;
    EXPECT_GE(h.calls.get_printing(0, &before, &data), 0);
    return before;
  };
  EXPECT_EQ(printer(), nullptr) << "nothing is printed meanwhile";
  const Hdf5Calls* calls = nullptr;
  {
    const Hdf5 h;
    calls = &h.calls;
  }
  void *after = nullptr, *data = nullptr;
  ASSERT_GE(calls->get_printing(0, &after, &data), 0);
  EXPECT_NE(after, nullptr) << "the library's own way";
}

}  // namespace
}  // namespace millrace
