#include "millrace/input/graph/port_hints.h"

#include <gtest/gtest.h>

#include "millrace/input/catalog.h"

namespace millrace {
namespace {

std::string hint(const OpRegistry& registry, PortType from, PortType to) {
  return kinds_hint(registry, from, to, "put ", " there");
}

TEST(PortHints, NameTheBuiltInWay) {
  const OpRegistry registry = builtin_ops();
  EXPECT_EQ(hint(registry, PortType::text, PortType::rows), "put decode_csv there");
  EXPECT_EQ(hint(registry, PortType::none, PortType::batches),
            "put filename_queue, csv_reader, decode_csv and batch there");
  EXPECT_EQ(hint(registry, PortType::rows, PortType::text), "");
}

TEST(PortHints, NameTheShortestWayOfOthers) {
  OpRegistry registry = builtin_ops();
  OpRegistry::Entry entry = registry.find("csv_reader", Spec());
  entry.leads = "names to rows";
  registry.add("records", entry);
  EXPECT_EQ(hint(registry, PortType::names, PortType::batches), "put records and batch there");
  EXPECT_EQ(hint(registry, PortType::names, PortType::text), "put csv_reader there");
}

TEST(PortHints, AreEmptyWhereNothingLeadsThere) {
  EXPECT_EQ(hint(OpRegistry("input op"), PortType::names, PortType::rows), "");
}

}  // namespace
}  // namespace millrace
