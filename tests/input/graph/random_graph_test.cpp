// Random graphs over random files give what the documentation says, however they are run. random_graph_slow_test.cpp
// checks more of them. MILLRACE_RANDOM_GRAPH=17 runs the graph of seed 17 alone.
#include <gtest/gtest.h>

#include "millrace/core/random.h"
#include "tests/input/graph/random_graph_check.h"
#include "tests/support/sanitized.h"

namespace millrace {
namespace {

namespace reference = testing_support::reference;

TEST(RandomGraph, GivesWhatTheReferenceGives) { testing_support::check_random_graphs(0, test::rounds(uint64_t{150})); }

// The vectors of docs/input_graph.md, and the orders that it shows.
TEST(ReferenceGraph, DrawsAsTheDocumentationDefines) {
  EXPECT_EQ(reference::philox64(0, 0, 0), 0xe169c58d6627e8d5u);
  EXPECT_EQ(reference::philox64(UINT64_MAX, UINT64_MAX, UINT64_MAX), 0x41c83b0e408f276du);
  EXPECT_EQ(reference::philox64(0x299f31d0a4093822u, 0x0370734413198a2eu, 0x85a308d3243f6a88u), 0x94fdccebd16cfe09u);
  EXPECT_EQ(reference::fnv1a64("filename_queue"), 0x2afd9bf952bf0be8u);
  EXPECT_EQ(reference::fnv1a64("shuffle_batch"), 0x2f69df8ead8cfa95u);
  const auto draw = [](std::string_view name, uint64_t index, uint64_t n) {
    return reference::scale_to(reference::philox64(23, reference::fnv1a64(name), index), n);
  };
  EXPECT_EQ((std::vector{draw("filename_queue", 4, 5), draw("filename_queue", 3, 4), draw("filename_queue", 2, 3)}),
            (std::vector<uint64_t>{2, 0, 2}));
  EXPECT_EQ((std::vector{draw("shuffle_batch", 0, 5), draw("shuffle_batch", 1, 5), draw("shuffle_batch", 2, 5)}),
            (std::vector<uint64_t>{1, 1, 4}));
}

}  // namespace
}  // namespace millrace
