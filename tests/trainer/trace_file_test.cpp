#include "millrace/trainer/trainer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "millrace/core/errors.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trace_reader.h"

namespace millrace {
namespace {

TEST(TraceFile, HoldsTheTrace) {
  const TempFolder folder;
  Trace trace;
  // More than one piece.
  for (int i = 0; i < 3000; ++i) const TraceRange range(&trace, "step", "step");
  write_trace(trace, folder.path("trace.json"));
  EXPECT_EQ(millrace::testing::TraceFile(TempFolder::read(folder.path("trace.json"))).ranges.size(), 3000u);
}

TEST(TraceFile, SaysWhyThereIsNone) {
  const TempFolder folder;
  const std::string path = folder.path("missing/trace.json");
  const std::string error = error_of<IoError>([&] { write_trace(Trace(), path); });
  EXPECT_NE(error.find(path), std::string::npos) << error;
  EXPECT_NE(error.find("No such file or directory"), std::string::npos) << error;
}

}  // namespace
}  // namespace millrace
