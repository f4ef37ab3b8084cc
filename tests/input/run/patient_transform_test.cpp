#include "millrace/input/run/patient_transform.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "millrace/input/ops/shared/fields.h"
#include "millrace/input/run/transform_chain.h"
#include "tests/input/graph/fake_ops.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using fake::Step;
using fake::StepOptions;
using fake::value;

RowSpec rows_with_error() {
  RowSpec rows = fake::integer_rows();
  rows.fields.push_back(text_field("name"));
  rows.fields.push_back(text_field(std::string(kRowError)));
  return rows;
}

// A step, after rows 0 to 9 that are called a to j; counts the rows that the step is given.
class PatientTransformTest : public testing::Test {
 protected:
  PatientTransformTest() {
    chunk_.set_work(&work_);
    chunk_.rows.configure(rows_with_error(), 10);
    chunk_.rows.resize(10);
    for (int64_t row = 0; row < 10; ++row) {
      value(chunk_.rows, row) = row;
      chunk_.rows.id(row) = {.offset = static_cast<uint64_t>(row), .line = static_cast<uint64_t>(row) + 1};
      set_text(chunk_.rows, 1, row, std::string(1, static_cast<char>('a' + row)));
      set_text(chunk_.rows, 2, row, {});
    }
  }
  struct Counted final : Step {
    using Step::Step;
    void apply(Chunk& chunk) const override {
      rows += chunk.rows.size();
      Step::apply(chunk);
    }
    mutable int64_t rows = 0;
  };

  // What became of the rows: "11b" for a value and a name, "3d!reason" for a bad row; then the notes.
  std::string apply(const StepOptions& options) {
    const Counted step(options);
    apply_with(step);
    given_ = step.rows;
    std::string out;
    for (int64_t row = 0; row < chunk_.rows.size(); ++row) {
      const std::string name(chunk_.rows.varying(1, row).text(0)), error(chunk_.rows.varying(2, row).text(0));
      out += cat(row > 0 ? " " : "", value(chunk_.rows, row), name, error.empty() ? "" : "!", error);
      EXPECT_EQ(chunk_.rows.id(row).offset, static_cast<uint64_t>(name[0] - 'a'));
    }
    for (const Note& note : chunk_.notes) out += cat(" | ", note.row, note.kind == Note::Kind::error ? "?" : note.text);
    return out;
  }
  void apply_with(const Transform& transform, const RowSpec& rows = rows_with_error()) {
    const Port output = {.type = PortType::rows, .rows = rows};
    apply_patiently({.transform = &transform, .name = "step", .output = output}, chunk_);
  }

  Workspace work_;
  Chunk chunk_;
  int64_t given_ = 0;
};

TEST_F(PatientTransformTest, BadRowsKeepTheirPlaceAndAreNotSeen) {
  set_text(chunk_.rows, 2, 3, "no number");
  set_text(chunk_.rows, 2, 9, "torn");
  EXPECT_EQ(apply({.add = 10}), "10a 11b 12c 3d!no number 14e 15f 16g 17h 18i 9j!torn");
  EXPECT_EQ(given_, 8);
}

TEST_F(PatientTransformTest, ARowThatIsRefusedIsBad) {
  EXPECT_EQ(apply({.fail_at = 5, .add = 10}), "10a 11b 12c 13d 14e 5f!the value 5 is bad 16g 17h 18i 19j");
  EXPECT_EQ(apply({.fail_at = 10}), "10a!the value 10 is bad 11b 12c 13d 14e 5f!the value 5 is bad 16g 17h 18i 19j")
      << "after another transform";
}

TEST_F(PatientTransformTest, NotesStayWhereTheyAre) {
  chunk_.add({.kind = Note::Kind::print, .row = 7, .text = "before h"});
  EXPECT_EQ(apply({.drop_every = 4, .fail_at = 5, .print_every = 6}),
            "1b 2c 3d 5f!the value 5 is bad 6g 7h 9j | 0filter | 3filter | 4seen 6 | 5before h | 6filter");
}

TEST_F(PatientTransformTest, AnEarlierErrorStaysAtTheEnd) {
  chunk_.fail(std::make_exception_ptr(DataError("cut off")));
  EXPECT_EQ(apply({.fail_at = 5}), "0a 1b 2c 3d 4e 5f!the value 5 is bad 6g 7h 8i 9j | 10?");
}

// Adds a number that is 1.
struct Adding : Step {
  Adding() : Step({}) {
    RowSpec rows = rows_with_error();
    rows.fields.insert(rows.fields.begin(), {.name = "one", .dtype = DType::f32, .shape = Shape({1})});
    spec = std::make_shared<const RowSpec>(rows);
  }
  void apply(Chunk& chunk) const override {
    chunk.spare.configure(spec, chunk.rows.size());
    chunk.spare.resize(chunk.rows.size());
    for (int64_t row = 0; row < chunk.rows.size(); ++row) {
      chunk.spare.id(row) = chunk.rows.id(row);
      *chunk.spare.row<float>(0, row) = 1;
      *chunk.spare.row<int64_t>(1, row) = value(chunk.rows, row);
      for (const size_t field : {1u, 2u}) chunk.spare.varying(field + 1, row) = chunk.rows.varying(field, row);
    }
    chunk.swap_rows();
    made = chunk.rows.at(0, 0);
  }
  SharedRowSpec spec;
  mutable const std::byte* made = nullptr;
};

TEST_F(PatientTransformTest, ABadRowHasNothingInNewFields) {
  set_text(chunk_.rows, 2, 3, "no number");
  const Adding adding;
  apply_with(adding, *adding.spec);
  ASSERT_EQ(chunk_.rows.size(), 10);
  for (int64_t row = 0; row < 10; ++row) {
    EXPECT_EQ(*chunk_.rows.row<float>(0, row), row == 3 ? 0 : 1);
    EXPECT_EQ(*chunk_.rows.row<int64_t>(1, row), row);
    EXPECT_EQ(chunk_.rows.varying(3, row).text(0), row == 3 ? "no number" : "");
  }
}

TEST_F(PatientTransformTest, GoodRowsAreHandedOnAsTheTransformMadeThem) {
  const Adding adding;
  apply_with(adding, *adding.spec);
  EXPECT_EQ(chunk_.rows.size(), 10);
  EXPECT_EQ(chunk_.rows.at(0, 0), adding.made) << "not a copy";
}

struct Refusing : Step {
  Refusing() : Step({}) {}
  void apply(Chunk& chunk) const override {
    rows += chunk.rows.size();
    if (chunk.rows.size() > 0) chunk.fail(0, std::make_exception_ptr(DataError("never")));
  }
  mutable int64_t rows = 0;
};

TEST_F(PatientTransformTest, ManyBadRowsTakeNoLongerThanManyRows) {
  chunk_.rows.grow(1000);
  chunk_.rows.resize(1000);
  for (int64_t row = 10; row < 1000; ++row) {
    chunk_.rows.copy_row(chunk_.rows, 0, row);
    chunk_.rows.id(row).offset = static_cast<uint64_t>(row);
  }
  const Refusing refusing;
  apply_with(refusing);
  ASSERT_EQ(chunk_.rows.size(), 1000);
  EXPECT_EQ(chunk_.rows.varying(2, 999).text(0), "never");
  EXPECT_LE(refusing.rows, 2000);
}

struct Failing : Step {
  explicit Failing(std::exception_ptr given) : Step({}), error(std::move(given)) {}
  void apply(Chunk& chunk) const override { chunk.fail(4, error); }
  std::exception_ptr error;
};

TEST_F(PatientTransformTest, AnErrorThatIsNoRowsFaultStaysOne) {
  apply_with(Failing(std::make_exception_ptr(IoError("the disk is gone"))));
  EXPECT_EQ(chunk_.rows.size(), 4);
  ASSERT_EQ(chunk_.notes.size(), 1u);
  EXPECT_EQ(chunk_.notes[0].row, 4);
  EXPECT_THROW(std::rethrow_exception(chunk_.notes[0].error), IoError);
}

TEST_F(PatientTransformTest, RefusesRowsThatWereNotAnnounced) {
  EXPECT_NE(error_of<InternalError>([&] { apply_with(Step({.as_float = true})); }).find("step announced rows of (x: "),
            std::string::npos);
}

}  // namespace
}  // namespace millrace
