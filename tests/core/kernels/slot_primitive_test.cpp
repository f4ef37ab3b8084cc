#include "millrace/core/kernels/slot_primitive.h"

#include <gtest/gtest.h>

#include <string>

#include "millrace/core/errors.h"

namespace millrace::cpu {
namespace {

using dnnl::memory;

TEST(SlotPrimitive, RunsInEachSlotWithTheMemoryOfTheCall) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const memory::desc rows({2, 3}, memory::data_type::f32, memory::format_tag::ab);
  const memory::desc columns({2, 3}, memory::data_type::f32, memory::format_tag::ba);
  float kept[6] = {};
  const SlotPrimitive::Arg args[] = {{DNNL_ARG_FROM, rows}, {DNNL_ARG_TO, columns, kept}};
  SlotPrimitive transpose("a test", engine, dnnl::reorder({engine, rows, engine, columns}), args, 2);
  const float first[] = {1, 2, 3, 4, 5, 6}, second[] = {10, 20, 30, 40, 50, 60};
  const void* data[] = {first};
  transpose.run(0, data);
  EXPECT_EQ(std::vector<float>(kept, kept + 6), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  data[0] = second;
  transpose.run(1, data);
  EXPECT_EQ(std::vector<float>(kept, kept + 6), (std::vector<float>{10, 40, 20, 50, 30, 60}));
}

TEST(SlotPrimitive, SaysWhatFailed) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const memory::desc rows({2, 3}, memory::data_type::f32, memory::format_tag::ab);
  float from[6] = {};
  const SlotPrimitive::Arg args[] = {{DNNL_ARG_FROM, rows, from}};  // and nowhere to
  SlotPrimitive copy("a test", engine, dnnl::reorder({engine, rows, engine, rows}), args, 1);
  std::string said;
  try {
    copy.run(0, {});
  } catch (const InternalError& error) {
    said = error.message();
  }
  EXPECT_EQ(said.substr(0, 32), "oneDNN failed in a test: status ");
}

}  // namespace
}  // namespace millrace::cpu
