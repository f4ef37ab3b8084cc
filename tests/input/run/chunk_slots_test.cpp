#include "millrace/input/run/chunk_slots.h"

#include <gtest/gtest.h>

#include <set>

namespace millrace {
namespace {

// Makes the chunk in `slot` one of `rows` rows, and says that its task has ended.
void fill(ChunkSlots& slots, ChunkSlot& slot, int64_t rows) {
  slot.chunk.rows.configure({{{.name = "x", .dtype = DType::f32, .shape = Shape({3})}}}, rows);
  slot.chunk.rows.resize(rows);
  slots.learn(slot, {});
}

TEST(ReuseStack, GivesTheUnusedFirstAndThenTheLastOneIn) {
  int items[3] = {};
  ReuseStack<int> stack;
  EXPECT_TRUE(stack.empty());
  for (int& item : items) stack.add(&item, 3);
  int* first = stack.take();
  EXPECT_EQ(first, &items[2]);
  stack.give(first);
  int* second = stack.take();
  EXPECT_EQ(second, &items[1]);
  stack.give(second);
  EXPECT_EQ(stack.take(), &items[0]);
  EXPECT_EQ(stack.take(), second);
  EXPECT_EQ(stack.take(), first);
  EXPECT_TRUE(stack.empty());
  stack.give(first);
  EXPECT_EQ(stack.take(), first);
}

TEST(ChunkSlots, AreFewerTheLargerTheChunksGet) {
  ChunkSlots slots;
  slots.set_room(2, 1000);
  EXPECT_EQ(slots.wanted(), 3u) << "nothing is known of them yet";
  ChunkSlot& slot = slots.append(0, 0);
  fill(slots, slot, 10);
  const auto wanted = [&](int64_t ahead_rows) {
    slots.set_room(2, ahead_rows);
    return slots.wanted();
  };
  EXPECT_EQ(wanted(100), 13u);
  EXPECT_EQ(wanted(101), 14u);
  EXPECT_EQ(wanted(0), 3u);
  fill(slots, slot, 50);
  fill(slots, slot, 10);
  EXPECT_EQ(wanted(100), 5u);
}

TEST(ChunkSlots, AreBoundedWhateverTheCapacity) {
  ChunkSlots slots;
  slots.set_room(2, 1000000000000);
  fill(slots, slots.append(0, 0), 1);
  EXPECT_EQ(slots.wanted(), 3u + 256u);
}

TEST(ChunkSlots, CoverTheRowsAndWhatIsWrittenBesideThem) {
  ChunkSlots slots;
  slots.set_room(1, 0);
  ChunkSlot& slot = slots.append(0, 0);
  const auto memory_of_a_task = [&] {
    slots.append(0, 1);  // gives all that is free its memory
    TaskMemory& task = slots.take_memory();
    slots.release_memory(task);
    slots.release(slots.at(1));
    return task.spare.memory();
  };
  fill(slots, slot, 1);
  EXPECT_EQ(memory_of_a_task().total(), 0u) << "no transform writes beside the rows";
  const RowMemory spare = {.bytes = 3000, .ids = 20};
  slots.learn(slot, spare);
  EXPECT_TRUE(memory_of_a_task().covers(spare));
  EXPECT_TRUE(slots.append(0, 1).memory.covers(spare));
}

TEST(ChunkSlots, OneIsEnoughWithoutTasks) {
  ChunkSlots slots;
  EXPECT_EQ(slots.wanted(), 1u);
  ChunkSlot& slot = slots.append(0, 0);
  fill(slots, slot, 1000);
  EXPECT_EQ(slots.wanted(), 1u);
  slots.release(slot);
  EXPECT_EQ(&slots.append(1, 1), &slot);
  EXPECT_EQ(slots.held().chunks, 1u);
}

TEST(ChunkSlots, EachNumberInUseHasItsOwn) {
  ChunkSlots slots;
  slots.set_room(2, 0);
  std::set<const ChunkSlot*> seen;
  for (uint64_t number = 0; number < 3; ++number) {
    ChunkSlot& slot = slots.append(0, number);
    EXPECT_EQ(&slots.at(number), &slot);
    seen.insert(&slot);
  }
  EXPECT_EQ(seen.size(), 3u);
}

TEST(ChunkSlots, ThoseInUseKeepTheirNumbersWhenThereAreMore) {
  ChunkSlots slots;
  slots.set_room(1, 100);
  const ChunkSlot* first = &slots.append(0, 0);
  ChunkSlot& second = slots.append(0, 1);
  fill(slots, second, 10);
  EXPECT_EQ(slots.wanted(), 2u + 10u);
  for (uint64_t number = 2; number < 12; ++number) slots.append(0, number);
  EXPECT_EQ(&slots.at(0), first);
  EXPECT_EQ(&slots.at(1), &second);
  EXPECT_EQ(slots.held().chunks, 12u);
}

TEST(ChunkSlots, FewerLargeOnesTakeThePlaceOfManySmallOnes) {
  ChunkSlots slots;
  slots.set_room(1, 100);
  fill(slots, slots.append(0, 0), 10);
  for (uint64_t number = 1; number < 12; ++number) slots.append(0, number);
  fill(slots, slots.at(1), 50);
  EXPECT_EQ(slots.wanted(), 4u);
  for (uint64_t number = 0; number < 12; ++number) slots.release(slots.at(number));
  slots.append(12, 12);
  EXPECT_EQ(slots.held().chunks, 4u);
}

// Whichever of them comes next, its chunk has the memory that the largest so far needed.
TEST(ChunkSlots, AllGetTheMemoryOfTheLargest) {
  ChunkSlots slots;
  slots.set_room(1, 0);
  ChunkSlot& large = slots.append(0, 0);
  fill(slots, large, 50);
  const size_t bytes = large.memory.total();
  EXPECT_GT(bytes, 0u);
  ChunkSlot& other = slots.append(0, 1);
  EXPECT_EQ(other.memory.total(), bytes);
  EXPECT_EQ(slots.held().bytes, 2 * bytes);
}

TEST(ChunkSlots, EveryTaskHasItsOwnMemory) {
  ChunkSlots slots;
  slots.set_room(2, 0);
  TaskMemory& one = slots.take_memory();
  TaskMemory& other = slots.take_memory();
  EXPECT_NE(&one, &other);
  slots.release_memory(one);
  EXPECT_EQ(&slots.take_memory(), &one);
}

}  // namespace
}  // namespace millrace
