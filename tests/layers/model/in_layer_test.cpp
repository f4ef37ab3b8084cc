#include "millrace/layers/model/in_layer.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace millrace {
namespace {

std::string text_in_layer(void (*call)()) {
  try {
    in_layer("gate", {"a.yaml", 3, 5}, call);
  } catch (const Error& error) {
    return cat(to_string(error.kind()), ": ", error.what());
  }
  return "nothing";
}

TEST(InLayer, NamesTheLayerAndItsPlaceWhateverIsThrown) {
  EXPECT_EQ(text_in_layer([] {}), "nothing");
  EXPECT_EQ(text_in_layer([] { throw DeviceError("gone"); }), "device: a.yaml:3:5: layer gate: gone");
  EXPECT_EQ(text_in_layer([] { throw ShapeError("odd", {"b.yaml", 1, 1}); }), "config: b.yaml:1:1: layer gate: odd");
  EXPECT_EQ(text_in_layer([] { throw std::runtime_error("no luck"); }), "internal: a.yaml:3:5: layer gate: no luck");
  EXPECT_EQ(text_in_layer([] { throw 5; }), "internal: a.yaml:3:5: layer gate: an exception of unknown type");
}

}  // namespace
}  // namespace millrace
