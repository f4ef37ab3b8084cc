#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "millrace/c.h"
#include "tests/api/c_calls.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

class CInput : public ::testing::Test {
 protected:
  CInput() { folder_.write("a.csv", "0.5,red,1 2,1\n0.25,,3,0\n0.125,blue green,,1\n"); }
  ~CInput() override {
    millrace_batch_free(batch_);
    millrace_input_free(input_);
  }

  std::string config(const std::string& more = "") const {
    return "threads: 2\ninput:\n  - filename_queue: {files: " + folder_.path("a.csv") + R"(, epochs: 2}
  - csv_reader
  - decode_csv:
      on_bad_row: skip
      fields:
        x: {columns: 0}
        colour: {columns: 1, type: string, default: none}
        tags: {columns: 2, type: int32, split: " ", default: []}
        label: {columns: 3, type: int64}
)" + more + "  - batch: {batch_size: 2, allow_smaller_final_batch: true}\n";
  }
  void open(const std::string& more = "", const std::vector<const char*>& settings = {}, int held_out = 0) {
    EXPECT_DONE(millrace_input_from_string(config(more).c_str(), "i.yaml", settings.data(), settings.size(), held_out,
                                           nullptr, &input_, &error));
  }
  bool next() {
    millrace_batch_free(batch_);
    EXPECT_DONE(millrace_input_next(input_, &batch_, &error));
    return batch_ != nullptr;
  }
  millrace_values values(size_t field) {
    millrace_values out = {};
    out.size = sizeof out;
    EXPECT_DONE(millrace_batch_values(batch_, field, &out, &error));
    return out;
  }
  std::string place(int64_t row) {
    const char* text = "";
    EXPECT_DONE(millrace_batch_place(batch_, input_, row, &text, &error));
    return text;
  }
  std::vector<float> all_x() {
    std::vector<float> out;
    while (next()) {
      const millrace_values x = values(0);
      for (int64_t row = 0; row < millrace_batch_rows(batch_); ++row) {
        out.push_back(*reinterpret_cast<const float*>(static_cast<const char*>(x.values) + row * x.row_bytes));
      }
    }
    return out;
  }

  TempFolder folder_;
  millrace_input* input_ = nullptr;
  millrace_batch* batch_ = nullptr;
};

TEST_F(CInput, TellsItsFields) {
  open("", {"input.decode_csv.fields.x={columns: 0, reshape: [1, 1]}"});
  ASSERT_EQ(millrace_input_field_count(input_), 4);
  const millrace_field tags = millrace_input_field(input_, 2);
  EXPECT_STREQ(tags.name, "tags");
  EXPECT_EQ(tags.type, MILLRACE_INT32);
  EXPECT_EQ(tags.width, 0);
  int64_t shape[2] = {};
  EXPECT_EQ(millrace_input_shape(input_, 0, shape, 2), 2);
  EXPECT_EQ(shape[1], 1);
  EXPECT_EQ(millrace_input_shape(input_, 9, shape, 2), 0);
  EXPECT_EQ(millrace_input_batch_size(input_), 2);
}

TEST_F(CInput, GivesNumbersTextsAndLists) {
  open();
  ASSERT_TRUE(next());
  EXPECT_EQ(millrace_batch_rows(batch_), 2);
  EXPECT_EQ(millrace_batch_epoch(batch_), 1);
  const millrace_values label = values(3);
  EXPECT_EQ(*static_cast<const int64_t*>(label.values), 1);
  EXPECT_EQ(label.row_bytes, 64);
  EXPECT_EQ(label.text_ends, nullptr);
  const millrace_values colour = values(1);
  EXPECT_EQ(std::string_view(static_cast<const char*>(colour.values), 7), "rednone");
  EXPECT_EQ(colour.text_ends[0], 3);
  EXPECT_EQ(colour.text_ends[1], 7);
  EXPECT_EQ(colour.row_ends, nullptr);
  const millrace_values tags = values(2);
  EXPECT_EQ(tags.row_ends[0], 2);
  EXPECT_EQ(tags.row_ends[1], 3);
  const auto* const numbers = static_cast<const int32_t*>(tags.values);
  EXPECT_EQ(numbers[1], 2);
  EXPECT_EQ(numbers[2], 3);
  EXPECT_EQ(place(1), folder_.path("a.csv:2"));
  ASSERT_TRUE(next());
  EXPECT_EQ(millrace_batch_epoch(batch_), 2);
}

TEST_F(CInput, EndsAndStaysAtItsEnd) {
  open();
  EXPECT_EQ(all_x(), (std::vector<float>{0.5F, 0.25F, 0.125F, 0.5F, 0.25F, 0.125F}));
  EXPECT_FALSE(next());
}

TEST_F(CInput, HeedsSettings) {
  open("", {"input.filename_queue.epochs=1", "input.batch.batch_size=3"});
  ASSERT_TRUE(next());
  EXPECT_EQ(millrace_batch_rows(batch_), 3);
  EXPECT_FALSE(next());
}

TEST_F(CInput, BatchesOutliveTheirInput) {
  open();
  ASSERT_TRUE(next());
  millrace_batch* const first = std::exchange(batch_, nullptr);
  ASSERT_TRUE(next());
  millrace_input_free(std::exchange(input_, nullptr));
  millrace_values x = {};
  x.size = sizeof x;
  EXPECT_DONE(millrace_batch_values(first, 0, &x, &error));
  EXPECT_EQ(*static_cast<const float*>(x.values), 0.5F);
  millrace_batch_free(first);
}

TEST_F(CInput, GoesOnAfterItsState) {
  open();
  ASSERT_TRUE(next());
  const void* bytes = nullptr;
  size_t size = 0;
  EXPECT_DONE(millrace_input_save(input_, &bytes, &size, &error));
  const std::string state(static_cast<const char*>(bytes), size);
  millrace_input_free(input_);
  open("", {"threads=1"});
  EXPECT_DONE(millrace_input_restore(input_, state.data(), state.size(), &error));
  EXPECT_EQ(all_x(), (std::vector<float>{0.125F, 0.5F, 0.25F, 0.125F}));

  millrace_input_free(input_);
  open();
  millrace_error* error = nullptr;
  EXPECT_EQ(millrace_input_restore(input_, "nonsense", 8, &error), MILLRACE_ERROR_DATA);
  EXPECT_NE(text_of(error), "");
}

TEST_F(CInput, TellsWhatIsLeftOut) {
  folder_.write("a.csv", "0.5,red,1,1\nx,red,1,1\n");
  open("", {"input.filename_queue.epochs=1"});
  std::string log;
  EXPECT_DONE(millrace_input_on_log(
      input_, [](void* user, const char* text) { static_cast<std::string*>(user)->append(text); }, &log, &error));
  EXPECT_EQ(all_x(), std::vector<float>{0.5F});
  EXPECT_NE(log.find("left out " + folder_.path("a.csv:2")), log.npos) << log;
}

TEST_F(CInput, RefusesACallInsideOfACall) {
  folder_.write("a.csv", "0.5,red,1,1\nx,red,1,1\n");
  open("", {"input.filename_queue.epochs=1"});
  struct Inside {
    millrace_input* input;
    std::string error;
  } inside = {input_, ""};
  const auto log = [](void* user, const char*) {
    auto& self = *static_cast<Inside*>(user);
    millrace_batch* batch = nullptr;
    millrace_error* error = nullptr;
    EXPECT_EQ(millrace_input_next(self.input, &batch, &error), MILLRACE_ERROR_CALL);
    self.error = text_of(error);
  };
  EXPECT_DONE(millrace_input_on_log(input_, log, &inside, &error));
  EXPECT_EQ(all_x(), std::vector<float>{0.5F});
  EXPECT_EQ(inside.error, "the input is in use, by another thread or by the function that this one calls");
}

TEST_F(CInput, GivesTheRowsThatAreHeldOut) {
  std::string lines;
  for (int row = 0; row < 100; ++row) lines += std::to_string(row) + ",red,1,1\n";
  folder_.write("a.csv", lines);
  const std::string op = "  - hold_out: {share: 0.25}\n";
  open(op, {"input.filename_queue.epochs=1"});
  std::vector<float> all = all_x();
  const size_t trained = all.size();
  millrace_input_free(input_);
  open(op, {}, 1);
  for (const float x : all_x()) all.push_back(x);
  EXPECT_GT(trained, 50U);
  EXPECT_TRUE(std::is_sorted(all.begin() + static_cast<std::ptrdiff_t>(trained), all.end()));
  std::sort(all.begin(), all.end());
  std::vector<float> expected(100);
  std::iota(expected.begin(), expected.end(), 0.0F);
  EXPECT_EQ(all, expected);
}

TEST_F(CInput, AnotherThreadStopsIt) {
  open("", {"input.filename_queue.epochs=1000000000"});
  std::thread other([this] { millrace_input_stop(input_); });
  while (next()) {
  }
  other.join();
  EXPECT_FALSE(next());
}

TEST_F(CInput, ErrorsHaveTheirPlaceAndStay) {
  folder_.write("a.csv", "0.5,red,1,1\nx,red,1,1\n");
  open("", {"input.decode_csv.on_bad_row=fail", "input.batch.batch_size=1"});
  ASSERT_TRUE(next());
  for (int i = 0; i < 2; ++i) {
    millrace_error* error = nullptr;
    millrace_batch* none = nullptr;
    EXPECT_EQ(millrace_input_next(input_, &none, &error), MILLRACE_ERROR_DATA);
    EXPECT_EQ(millrace_error_line(error), 2);
    EXPECT_EQ(none, nullptr);
    millrace_error_free(error);
  }
}

TEST_F(CInput, ArgumentsAreChecked) {
  millrace_error* error = nullptr;
  EXPECT_EQ(millrace_input_from_file("none.yaml", nullptr, 0, 0, nullptr, &input_, &error), MILLRACE_ERROR_MISSING);
  millrace_error_free(error);
  EXPECT_EQ(millrace_input_next(nullptr, &batch_, &error), MILLRACE_ERROR_ARGUMENT);
  EXPECT_EQ(text_of(error), "input is NULL");
  open();
  ASSERT_TRUE(next());
  millrace_values out = {};
  out.size = sizeof out;
  EXPECT_EQ(millrace_batch_values(batch_, 4, &out, &error), MILLRACE_ERROR_ARGUMENT);
  EXPECT_EQ(text_of(error), "there is no field 4");
  const char* text = nullptr;
  EXPECT_EQ(millrace_batch_place(batch_, input_, 2, &text, &error), MILLRACE_ERROR_ARGUMENT);
  EXPECT_EQ(text_of(error), "the batch has no row 2");
}

TEST_F(CInput, PlacesAreThoseOfTheInputThatMadeTheBatch) {
  open();
  ASSERT_TRUE(next());
  millrace_input* const first = std::exchange(input_, nullptr);
  open();
  millrace_error* error = nullptr;
  const char* text = nullptr;
  EXPECT_EQ(millrace_batch_place(batch_, input_, 0, &text, &error), MILLRACE_ERROR_ARGUMENT);
  EXPECT_EQ(text_of(error), "another input made the batch");
  millrace_input_free(first);
}

}  // namespace
}  // namespace millrace
