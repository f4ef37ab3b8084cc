#include <gtest/gtest.h>

#include <functional>

#include "tests/input/augmented.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::GraphCheck;
using testing_support::image_lines;
using testing_support::ImageReading;
using testing_support::Lines;
using testing_support::MemoryFiles;
using testing_support::reading_images;
using testing_support::ReferenceAugment;

class AugmentTest : public ::testing::Test {
 protected:
  GraphCheck graph(const std::string& augment, const ImageReading& reading = {}) {
    return {files_, reading_images(reading) + "- augment: {fields: image, " + augment +
                        "}\n- batch: {batch_size: 4, allow_smaller_final_batch: true}\n"};
  }
  // The images of the rows of one pass.
  Lines images(const std::string& augment, const ImageReading& reading = {}) {
    Lines out;
    for (const std::string& line : graph(augment, reading).check()) {
      if (line != "--") out.push_back(line.substr(line.find("image=") + 6));
    }
    return out;
  }
  std::string refused(const std::string& options, const ImageReading& reading = {}) {
    return error_of([&] {
      GraphCheck(files_, reading_images(reading) + "- augment: {" + options + "}\n- batch: {batch_size: 1}\n").graph();
    });
  }
  MemoryFiles files_;
};

// Six rows of one image:  1 2 3
//                         4 5 6
// Another program computed their draws, of seed 23 and the bytes 0, 14, 28, 42, 56 and 70 of the file:
//   down and right   (0, -1)  (-1, 1)  (0, -1)  (-1, 0)  (0, 0)  (0, 1)
//   mirrored         yes      yes      no       no       yes     yes
//   upside down      yes      yes      yes      no       yes     no
//   top and left     (0, 0)   (0, 0)   (1, 1)   (1, 1)   (1, 1)  (0, 1)
class AugmentByHand : public AugmentTest {
 protected:
  AugmentByHand() {
    for (int row = 0; row < 6; ++row) files_.files["t.csv"] += "1,2,3,4,5,6,0\n";
  }
};

TEST_F(AugmentByHand, Shifts) {
  EXPECT_EQ(images("shift: 1"), (Lines{"2,3,0,5,6,0 label=0", "0,4,5,0,0,0 label=0", "2,3,0,5,6,0 label=0",
                                       "4,5,6,0,0,0 label=0", "1,2,3,4,5,6 label=0", "0,1,2,0,4,5 label=0"}));
  EXPECT_EQ(images("shift: 1, fill: -0.5")[1], "-0.5,4,5,-0.5,-0.5,-0.5 label=0");
}

// The draws are the same, of which one counts.
TEST_F(AugmentByHand, ShiftsAlongEachAxisByItsOwnBound) {
  EXPECT_EQ(images("shift: [1, 0]"), (Lines{"1,2,3,4,5,6 label=0", "4,5,6,0,0,0 label=0", "1,2,3,4,5,6 label=0",
                                            "4,5,6,0,0,0 label=0", "1,2,3,4,5,6 label=0", "1,2,3,4,5,6 label=0"}));
  EXPECT_EQ(images("shift: [0, 1]"), (Lines{"2,3,0,5,6,0 label=0", "0,1,2,0,4,5 label=0", "2,3,0,5,6,0 label=0",
                                            "1,2,3,4,5,6 label=0", "1,2,3,4,5,6 label=0", "0,1,2,0,4,5 label=0"}));
}

TEST_F(AugmentByHand, Flips) {
  EXPECT_EQ(images("flip: horizontal"), (Lines{"3,2,1,6,5,4 label=0", "3,2,1,6,5,4 label=0", "1,2,3,4,5,6 label=0",
                                               "1,2,3,4,5,6 label=0", "3,2,1,6,5,4 label=0", "3,2,1,6,5,4 label=0"}));
  EXPECT_EQ(images("flip: vertical"), (Lines{"4,5,6,1,2,3 label=0", "4,5,6,1,2,3 label=0", "4,5,6,1,2,3 label=0",
                                             "1,2,3,4,5,6 label=0", "4,5,6,1,2,3 label=0", "1,2,3,4,5,6 label=0"}));
  EXPECT_EQ(images("flip: both"), (Lines{"6,5,4,3,2,1 label=0", "6,5,4,3,2,1 label=0", "4,5,6,1,2,3 label=0",
                                         "1,2,3,4,5,6 label=0", "6,5,4,3,2,1 label=0", "3,2,1,6,5,4 label=0"}));
  EXPECT_EQ(images("flip: none"), Lines(6, "1,2,3,4,5,6 label=0"));
}

TEST_F(AugmentByHand, Crops) {
  EXPECT_EQ(images("crop: [1, 2]"),
            (Lines{"1,2 label=0", "1,2 label=0", "5,6 label=0", "5,6 label=0", "5,6 label=0", "2,3 label=0"}));
  EXPECT_EQ(images("crop: [2, 2]")[2], "2,3,5,6 label=0");
  EXPECT_EQ(images("crop: [2, 3]"), Lines(6, "1,2,3,4,5,6 label=0"));
  EXPECT_EQ(graph("crop: [1, 2]").graph().output().rows.text(), "image: float32 (1, 1, 2), label: int32 (1)");
}

// Shift, flip, crop: the third row is 2 3 0 / 5 6 0, then 5 6 0 / 2 3 0, of which 3 0 is left.
TEST_F(AugmentByHand, ChangesInOrder) {
  EXPECT_EQ(images("crop: [1, 2], flip: both, shift: 1"),
            (Lines{"0,6 label=0", "0,0 label=0", "3,0 label=0", "0,0 label=0", "2,1 label=0", "1,0 label=0"}));
}

TEST_F(AugmentByHand, AddsNoise) {
  const auto noisy = [this](const std::string& augment, const std::string& type) {
    Pipeline pipeline(graph(augment, {.type = type}).graph(), {});
    RowBlock slot = pipeline.make_slot();
    pipeline.next(slot);
    std::vector<double> out;
    for (size_t i = 0; i < static_cast<size_t>(slot.spec().fields[0].shape.elements()); ++i) {
      out.push_back(type == "float32" ? static_cast<double>(slot.row<float>(0, 1)[i]) : slot.row<double>(0, 1)[i]);
    }
    return out;
  };
  const std::vector<double> normals = {-1.4104030560898657,  -0.42969992450044475, 0.046628810416380416,
                                       0.046459878193807286, 0.4651358475583027,   0.9535942819142339};
  const std::vector<double> narrow = noisy("noise: 0.5", "float32"), wide = noisy("noise: 0.5", "float64");
  for (size_t i = 0; i < 6; ++i) {
    const double expected = static_cast<double>(i + 1) + 0.5 * normals[i];
    EXPECT_NEAR(wide[i], expected, 1e-14);
    EXPECT_EQ(narrow[i], static_cast<double>(static_cast<float>(expected)));
  }
  // It comes last, so that vacated pixels have it, too, and those cut off have none.
  EXPECT_NEAR(noisy("noise: 2, shift: 1", "float64")[3], 2 * normals[3], 1e-14);
  EXPECT_NEAR(noisy("noise: 1, crop: [2, 2]", "float64")[2], 4 + normals[2], 1e-14);
  EXPECT_EQ(images("noise: 0"), Lines(6, "1,2,3,4,5,6 label=0"));
}

// Bytes become numbers whatever is done to them, and the numbers are those of a float32 field.
TEST_F(AugmentByHand, MakesFloat32OfBytes) {
  const ImageReading bytes = {.type = "uint8"};
  for (const char* augment : {"shift: 1, fill: -0.5", "flip: both", "crop: [1, 2]", "noise: 0.5", "noise: 0",
                              "shift: 1, flip: both, crop: [2, 2], noise: 2", "flip: both, random: false",
                              "shift: 1, crop: [1, 1], noise: 1, random: false"}) {
    EXPECT_EQ(images(augment, bytes), images(augment)) << augment;
    EXPECT_EQ(graph(augment, bytes).graph().output().rows, graph(augment).graph().output().rows) << augment;
  }
}

// In a pass over data to be judged: the window in the middle, the lesser half of what is left above and to the left.
TEST_F(AugmentByHand, WithoutRandomnessOnlyCropsInTheMiddle) {
  const std::string all = "shift: 1, fill: 7, flip: both, noise: 3, random: false";
  EXPECT_EQ(images(all), Lines(6, "1,2,3,4,5,6 label=0"));
  EXPECT_EQ(images(all + ", crop: [1, 1]"), Lines(6, "2 label=0"));
  EXPECT_EQ(images(all + ", crop: [1, 2]"), Lines(6, "1,2 label=0"));
  EXPECT_EQ(images("crop: [2, 1], random: false"), Lines(6, "2,5 label=0"));
}

// Images of every kind, against the definition.
TEST_F(AugmentTest, DoesWhatItsDefinitionSays) {
  files_.files["a.csv"] = image_lines(40, 60);
  files_.files["b.csv"] = image_lines(30, 60, 1000);
  const auto check = [&](const std::string& options, const ReferenceAugment::Options& reference, int64_t height,
                         int64_t width) {
    SCOPED_TRACE(options);
    const ImageReading from = {.files = "*.csv", .shape = "[3, 4, 5]", .values = 60, .epochs = "2", .type = "float64"};
    const ReferenceAugment expected_of(reference, 23, "changed");
    Pipeline pipeline(graph("name: changed, " + options, from).graph(), {});
    RowBlock slot = pipeline.make_slot();
    int64_t rows = 0;
    for (; pipeline.next(slot) > 0; rows += slot.size()) {
      for (int64_t row = 0; row < slot.size(); ++row) {
        const int32_t label = *slot.row<int32_t>(1, row);
        ReferenceAugment::Image image{3, 4, 5, {}};
        for (int i = 0; i < 60; ++i) image.values.push_back(label + i + 1);
        const ReferenceAugment::Image expected = expected_of(image, slot.id(row));
        ASSERT_EQ(slot.spec().fields[0].shape, (Shape{3, height, width}));
        const double* values = slot.row<double>(0, row);
        ASSERT_EQ(std::vector<double>(values, values + 3 * height * width), expected.values) << label;
      }
    }
    EXPECT_EQ(rows, 140);
  };
  check("shift: 3, fill: -1", {.shift = 3, .fill = -1}, 4, 5);
  check("flip: both, crop: [3, 2]", {.horizontal = true, .vertical = true, .crop_height = 3, .crop_width = 2}, 3, 2);
  check("shift: 3, flip: horizontal, crop: [1, 1]", {.shift = 3, .horizontal = true, .crop_height = 1, .crop_width = 1},
        1, 1);
  check("shift: 2, flip: vertical, crop: [4, 3], noise: 0.25",
        {.shift = 2, .vertical = true, .crop_height = 4, .crop_width = 3, .noise = 0.25}, 4, 3);
}

// An image and its mask: moved alike, whatever their channels and types; each with noise of its own.
TEST_F(AugmentTest, MovesItsFieldsAlike) {
  files_.files["t.csv"] = image_lines(50, 27);
  const auto list = [](const std::string& augment) {
    return cat("- filename_queue: {files: t.csv, epochs: 1}\n- csv_reader\n- decode_csv:\n    fields:\n",
               "      image: {columns: 0-8, reshape: [1, 3, 3]}\n      label: {columns: 27, type: int32}\n",
               "      mask: {columns: 9-26, reshape: [2, 3, 3], type: float64}\n- augment: {fields: [image, mask], ",
               augment, "}\n- batch: {batch_size: 50}\n");
  };
  Pipeline pipeline(GraphCheck(files_, list("shift: 2, fill: -100, flip: both, crop: [3, 2]")).graph(), {});
  RowBlock slot = pipeline.make_slot();
  ASSERT_EQ(pipeline.next(slot), 50);
  for (int64_t row = 0; row < 50; ++row) {
    const float* image = slot.row<float>(0, row);
    const double* mask = slot.row<double>(2, row);
    EXPECT_EQ(*slot.row<int32_t>(1, row), row);
    for (int i = 0; i < 6; ++i) {
      const bool filled = image[i] == -100;
      EXPECT_EQ(mask[i], filled ? -100 : static_cast<double>(image[i]) + 9);
      EXPECT_EQ(mask[6 + i], filled ? -100 : static_cast<double>(image[i]) + 18);
    }
  }

  Pipeline noisy(GraphCheck(files_, list("noise: 1")).graph(), {});
  RowBlock batch = noisy.make_slot();
  ASSERT_EQ(noisy.next(batch), 50);
  const ReferenceAugment zero({.noise = 1}, 23, "augment");
  for (int64_t row = 0; row < 50; ++row) {
    const auto noise = zero({1, 1, 9, std::vector<double>(9)}, batch.id(row)).values;
    const auto of_mask = zero({1, 1, 18, std::vector<double>(18)}, batch.id(row), 5).values;
    for (size_t i = 0; i < 18; ++i) {
      const double value = static_cast<double>(row) + static_cast<double>(i) + 1;
      if (i < 9) {
        EXPECT_EQ(batch.row<float>(0, row)[i], static_cast<float>(value + noise[i]));
      }
      EXPECT_EQ(batch.row<double>(2, row)[i], value + 9 + of_mask[i]);
    }
  }
}

TEST_F(AugmentTest, KeepsTextsAndLists) {
  files_.files["t.csv"] = "1,2,ann,4 5\n3,4,bob,\n";
  const GraphCheck check = {files_,
                            "- filename_queue: {files: t.csv, epochs: 1}\n- csv_reader: {chunk_bytes: 5}\n"
                            "- decode_csv: {fields: {s: {columns: 2, type: string}, image: {columns: 0-1, reshape: "
                            "[1, 1, -1]}, list: {columns: 3, type: int32, split: \" \", default: []}}}\n"
                            "- augment: {fields: image, crop: [1, 1], random: false}\n- batch: {batch_size: 2}\n"};
  EXPECT_EQ(check.check(), (Lines{"t.csv:1 s=\"ann\" image=1 list=4,5", "t.csv:2 s=\"bob\" image=3 list="}));
}

TEST_F(AugmentTest, RefusesWhatIsNoImage) {
  files_.files["t.csv"] = "1,2,3,4,5,6,0\n";
  const auto expect = [&](const std::string& options, const std::string& text, const ImageReading& reading = {}) {
    const std::string got = refused(options, reading);
    EXPECT_TRUE(got.ends_with(": " + text)) << got;
  };
  const std::string takes = "augment changes float32, float64 and uint8 fields of shape (channels, height, width), ";
  expect("fields: label, shift: 1",
         takes + "label is int32 (1); decode it so: {label: {columns: .., reshape: [channels, height, width]}}");
  expect("fields: image, shift: 1",
         takes + "image is float32 (2, 3); decode it so: {image: {columns: .., reshape: [channels, height, width]}}",
         {.shape = "[2, 3]"});
  expect("fields: image, shift: 1",
         takes + "image is int32 (1, 2, 3); decode it so: {image: {columns: .., reshape: [channels, height, width]}}",
         {.type = "int32"});
  expect("fields: imago, shift: 1",
         "there is no field \"imago\" in image: float32 (1, 2, 3), label: int32 (1); did you mean image?");
  expect("fields: [image, image], shift: 1", "the field \"image\" is named twice");
  files_.files["t.csv"] = "1,2,3,4,5,6,0\n";
  EXPECT_TRUE(
      error_of([&] {
        GraphCheck(files_,
                   "- filename_queue: {files: t.csv}\n- csv_reader\n- decode_csv: {fields: {a: {columns: 0-5, "
                   "reshape: [1, 2, 3]}, b: {columns: 0-5, reshape: [1, 3, 2]}}}\n"
                   "- augment: {fields: [a, b], flip: both}\n- batch: {batch_size: 1}\n")
            .graph();
      })
          .ends_with(
              ": the fields are changed in the same way, but a is 2 x 3 pixels large and b 3 x 2; give each size an "
              "augment of its own"));
}

TEST_F(AugmentTest, RefusesOptionsThatDoNotFit) {
  files_.files["t.csv"] = "1,2,3,4,5,6,0\n";
  const auto expect = [&](const std::string& options, const std::string& text) {
    const std::string got = refused(options);
    EXPECT_EQ(got.substr(got.find(": ") + 2), "[3]" + text);
  };
  EXPECT_TRUE(refused("fields: image, shift: -1").starts_with("input.yaml:7:35: [3].augment.shift: "));
  const std::string nothing = ": augment needs at least one of shift, flip, crop and noise";
  expect("fields: image", nothing);
  expect("fields: image, fill: 0, random: false", nothing);
  expect("fields: [], shift: 1", ".augment.fields: expected at least one field, got an empty list");
  expect("fields: image, flip: both, fill: 1", ".augment.fill: fill needs shift");
  expect("fields: image, flip: sideways",
         ".augment.flip: expected none, horizontal, vertical or both, got \"sideways\"");
  expect("fields: image, shift: -1", ".augment.shift: expected at least 0 and at most 16777216, got -1");
  expect("fields: image, shift: [1, 1, 1]",
         ".augment.shift: expected one number, or [vertical, horizontal], got 3 numbers");
  expect("fields: image, shift: []", ".augment.shift: expected one number, or [vertical, horizontal], got 0 numbers");
  expect("fields: image, crop: 2", ".augment.crop: expected [height, width], got 1 number");
  expect("fields: image, crop: [0, 1]", ".augment.crop[0]: expected at least 1 and at most 16777216, got 0");
  expect("fields: image, noise: -0.5", ".augment.noise: expected at least 0 and at most 1e+38, got -0.5");
  expect("fields: image, noise: .inf", ".augment.noise: expected at least 0 and at most 1e+38, got .inf");
  expect("fields: image, shift: 1, fill: .nan", ".augment.fill: expected at least -1e+38 and at most 1e+38, got .nan");
  expect("fields: image, shift: 2", ": shift: expected less than the size of the images, 2 x 3, got 2 x 2");
  expect("fields: image, shift: [1, 3]", ": shift: expected less than the size of the images, 2 x 3, got 1 x 3");
  expect("fields: image, crop: [3, 2]",
         ": crop: expected at most the size of the images, 2 x 3, got 3 x 2; crop is [height, width]");
  expect("fields: image, shfit: 1", ".augment: unknown key shfit; did you mean shift?");
  expect("shift: 1",
         ".augment: the key fields is required (text or list); fields: images: float32, float64 or uint8 fields of "
         "shape (channels, height, width), all of one size; uint8 becomes float32");
}

}  // namespace
}  // namespace millrace
