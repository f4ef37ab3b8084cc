// More of random_graph_test.cpp.
#include <gtest/gtest.h>

#include "tests/input/graph/random_graph_check.h"

namespace millrace {
namespace {

TEST(RandomGraphs, GiveWhatTheReferenceGives) { testing_support::check_random_graphs(1000, 300); }

}  // namespace
}  // namespace millrace
