#include "tests/input/graph/start_stop.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing_support::add_rich_files;
using testing_support::build_graph;
using testing_support::executors_of_all_sizes;
using testing_support::Fault;
using testing_support::FaultyFiles;
using testing_support::MemoryFiles;
using testing_support::rich_graph;
using testing_support::StartStop;
using testing_support::Times;

TEST(StartStop, AtRandomMoments) {
  StartStop cycles(1);
  ASSERT_TRUE(cycles.run(400));
  cycles.stopping().expect_soon("stopping");
}

TEST(StartStop, AFailingReadArrivesSoon) {
  MemoryFiles memory;
  add_rich_files(memory);
  FaultyFiles files(memory);
  Times times;
  for (Executor* executor : executors_of_all_sizes()) {
    for (int64_t number = 0; number == 0 || files.met(); ++number) {
      files.arm(Fault::none, 0);
      Pipeline pipeline(build_graph(rich_graph(), files), {.executor = executor});
      RowBlock slot = pipeline.make_slot();
      files.arm(Fault::error, number, true);
      try {
        while (pipeline.next(slot) > 0) {
        }
        EXPECT_FALSE(files.met()) << "the fault went unnoticed";
      } catch (const IoError&) {
        times.add(files.time());
      }
    }
  }
  times.expect_soon("failing");
}

}  // namespace
}  // namespace millrace
