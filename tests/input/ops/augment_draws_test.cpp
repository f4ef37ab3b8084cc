// What augment draws: the same for a row and a pass however it comes, other numbers in every pass, and fair ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "tests/input/augmented.h"
#include "tests/input/chi_square.h"

namespace millrace {
namespace {

using testing_support::bound;
using testing_support::chi_square;
using testing_support::GraphCheck;
using testing_support::image_lines;
using testing_support::ImageReading;
using testing_support::Lines;
using testing_support::MemoryFiles;
using testing_support::reading_images;

const std::string kAll = "shift: 1, fill: 0.5, flip: both, crop: [2, 2], noise: 0.125";

std::string augment(const std::string& options = kAll, const std::string& name = "augment") {
  return cat("- augment: {name: ", name, ", fields: image, ", options, "}\n");
}

std::string batch(int size) { return cat("- batch: {batch_size: ", size, ", allow_smaller_final_batch: true}\n"); }

// Two files of 17 and 12 images of 2 x 3 pixels; no two rows are equal.
class AugmentDraws : public ::testing::Test {
 protected:
  AugmentDraws() {
    files_.files["a.csv"] = image_lines(17, 6);
    files_.files["b.csv"] = image_lines(12, 6, 100);
  }
  GraphCheck graph(const std::string& ops, ImageReading reading = {}, uint64_t seed = 23) {
    reading.files = "?.csv";
    return {files_, reading_images(reading) + ops, seed};
  }
  // Without the borders of batches.
  static Lines rows_of(const GraphCheck& check) {
    Lines lines = check.check();
    std::erase(lines, "--");
    return lines;
  }
  static std::set<std::string> as_set(const Lines& lines) { return {lines.begin(), lines.end()}; }
  MemoryFiles files_;
};

// check() runs it with several numbers of threads and from every saved state on.
TEST_F(AugmentDraws, NeitherThreadsNorChunksNorCapacitiesNorStatesChangeAByte) {
  const auto shuffled = [&](const std::string& capacity, const std::string& threads, int chunk_bytes) {
    return graph(augment() + "- shuffle_batch: {batch_size: 3, min_after_dequeue: 9, capacity: " + capacity +
                     ", threads: " + threads + ", allow_smaller_final_batch: true}\n",
                 {.epochs = "2", .chunk_bytes = chunk_bytes})
        .check();
  };
  const Lines lines = shuffled("12", "1", 262144);
  EXPECT_EQ(as_set(lines).size(), 2u * 29 + 1) << "no two rows are alike";
  for (const int chunk_bytes : {1, 7, 64}) EXPECT_EQ(shuffled("12", "1", chunk_bytes), lines) << chunk_bytes;
  EXPECT_EQ(shuffled("500", "8", 30), lines);
}

TEST_F(AugmentDraws, WhereItStandsChangesNothing) {
  const ImageReading twice = {.epochs = "2"};
  const Lines lines = graph(augment() + batch(4), twice).check();
  EXPECT_EQ(graph(batch(4) + augment(), twice).check(), lines);
  EXPECT_EQ(graph("- queue: {capacity: 9}\n" + augment() + batch(4), twice).check(), lines);
  EXPECT_EQ(graph("- take: {rows: 1000}\n" + augment() + batch(4), twice).check(), lines);
}

TEST_F(AugmentDraws, EveryPassHasOthers) {
  std::map<std::string, std::set<std::string>> images;  // by place
  const Lines lines = rows_of(graph(augment("shift: 1, flip: both") + batch(4), {.epochs = "12"}));
  ASSERT_EQ(lines.size(), 12u * 29);
  for (const std::string& line : lines) images[line.substr(0, line.find(' '))].insert(line);
  ASSERT_EQ(images.size(), 29u);
  // Of 36 ways to change an image 12 are drawn for each: 10 different ones on average.
  size_t ways = 0;
  for (const auto& [place, of_place] : images) {
    EXPECT_GT(of_place.size(), 4u) << place;
    ways += of_place.size();
  }
  EXPECT_GT(ways, 29u * 9);
}

TEST_F(AugmentDraws, RunsOfARepeatAreFurtherPasses) {
  const Lines lines = graph(augment() + batch(5), {.epochs = "6"}).check();
  EXPECT_EQ(graph(augment() + "- repeat: {epochs: 6}\n" + batch(5)).check(), lines);
  EXPECT_EQ(graph("- repeat: {epochs: 3}\n" + augment() + batch(5), {.epochs = "2"}).check(), lines);
}

// Behind a cache every run has changes of its own, those that it would have without one; before it they are kept.
TEST_F(AugmentDraws, ACacheKeepsWhatIsBeforeIt) {
  const ImageReading in_order = {.more = ", shuffle: false"};  // as a cache keeps the order, too
  const std::string thrice = "- repeat: {epochs: 3}\n";
  const Lines lines = graph(augment() + thrice + batch(29), in_order).check();
  EXPECT_EQ(graph("- cache\n" + augment() + thrice + batch(29), in_order).check(), lines);
  EXPECT_EQ(graph("- cache\n" + thrice + augment() + batch(29), in_order).check(), lines);
  const Lines kept = rows_of(graph(augment() + "- cache\n" + thrice + batch(29), in_order));
  ASSERT_EQ(kept.size(), 3u * 29);
  for (size_t row = 0; row < kept.size(); ++row) EXPECT_EQ(kept[row], lines[row % 29]);
}

// Rows of two runs are in the window; a restore reads those again, and changes them again.
TEST_F(AugmentDraws, StatesOfFurtherRunsGoOn) {
  const std::string shuffled =
      "- repeat: {epochs: 3}\n- shuffle_batch: {batch_size: 4, capacity: 30, min_after_dequeue: 15}\n";
  for (const std::string& ops : {augment(), "- cache\n" + augment(), augment() + "- cache\n"}) {
    SCOPED_TRACE(ops);
    EXPECT_EQ(rows_of(graph(ops + shuffled)).size(), 3u * 29 / 4 * 4);
  }
}

TEST_F(AugmentDraws, ARowIsChangedAlikeWhateverRowsComeBesides) {
  const std::set<std::string> all = as_set(rows_of(graph(augment() + batch(4), {.epochs = "2"})));
  size_t rows = 0;
  for (const char* index : {"0", "1"}) {
    const Lines part =
        rows_of(graph(augment() + batch(4), {.epochs = "2", .more = cat(", shard: {index: ", index, ", count: 2}")}));
    for (const std::string& line : part) EXPECT_TRUE(all.contains(line)) << line;
    rows += part.size();
  }
  EXPECT_EQ(rows, all.size());
  const std::string some = "- filter: {field: label, op: '>=', value: 9}\n";
  const Lines before = graph(some + augment() + batch(4), {.epochs = "2"}).check();
  EXPECT_EQ(graph(augment() + some + batch(4), {.epochs = "2"}).check(), before);
  for (const std::string& line : before) EXPECT_TRUE(line == "--" || all.contains(line)) << line;
  EXPECT_EQ(graph("- filter: {field: label, op: '>', value: 900}\n" + augment() + batch(4)).check(), Lines{});
}

TEST_F(AugmentDraws, SeedsAndNamesMakeOthers) {
  const Lines lines = graph(augment() + batch(29)).check();
  EXPECT_NE(graph(augment() + batch(29), {}, 24).check(), lines);
  EXPECT_NE(graph(augment(kAll, "other") + batch(29)).check(), lines);
  EXPECT_EQ(graph(augment(kAll, "augment") + batch(29)).check(), lines) << "the name is the kind by default";
}

// Rows of two sources have the same files' numbers and offsets.
TEST_F(AugmentDraws, SourcesHaveTheirOwn) {
  const auto source = [](const std::string& name) {
    return cat("- filename_queue: {name: ", name, "_files, files: a.csv, epochs: 1}\n- csv_reader: {name: ", name,
               "_reader}\n- decode_csv: {name: ", name, ", fields: {image: {columns: 0-5, reshape: [1, 2, 3]}}}\n");
  };
  const Lines lines =
      rows_of({files_, source("x") + source("y") + "- interleave: {from: [x, y]}\n" + augment() + batch(34)});
  ASSERT_EQ(lines.size(), 34u);
  for (size_t row = 0; row < lines.size(); row += 2) EXPECT_NE(lines[row], lines[row + 1]);
}

// Many rows of one image of 5 x 5 pixels.
class AugmentStatistics : public ::testing::Test {
 protected:
  static constexpr int kRows = 6000;
  using Image = std::span<const float>;

  // Calls `see` with the changed image of every row. The value i + 1 is at `pixels[i]`, elsewhere is 0.
  template <class See>
  void each(const std::vector<size_t>& pixels, const std::string& options, const See& see) {
    std::vector<int> image(25);
    for (size_t i = 0; i < pixels.size(); ++i) image[pixels[i]] = static_cast<int>(i) + 1;
    std::string line;
    for (const int value : image) line += cat(value, ',');
    for (int row = 0; row < kRows; ++row) files_.files["t.csv"] += line + "0\n";
    const ImageReading reading = {.shape = "[1, 5, 5]", .values = 25, .chunk_bytes = 65536};
    Pipeline pipeline(GraphCheck(files_, reading_images(reading) + augment(options) + batch(500)).graph(), {});
    RowBlock slot = pipeline.make_slot();
    int rows = 0;
    for (; pipeline.next(slot) > 0; rows += static_cast<int>(slot.size())) {
      const auto values = static_cast<size_t>(slot.spec().fields[0].shape.elements());
      for (int64_t row = 0; row < slot.size(); ++row) see(Image(slot.row<float>(0, row), values));
    }
    EXPECT_EQ(rows, kRows);
  }
  static size_t place_of(float value, Image image) {
    return static_cast<size_t>(std::find(image.begin(), image.end(), value) - image.begin());
  }
  MemoryFiles files_;
};

// Each of the 25 shifts comes as often; so both axes are fair and have nothing to do with each other.
TEST_F(AugmentStatistics, EveryShiftIsAsLikely) {
  std::vector<int64_t> counts(25);
  std::vector<int64_t> pairs(25);  // of the vertical shifts of rows in turn
  std::optional<size_t> before;
  each({12}, "shift: 2", [&](Image image) {
    const size_t at = place_of(1, image);
    ASSERT_LT(at, 25u);
    ++counts[at];
    if (before) ++pairs[*before * 5 + at / 5];
    before = before ? std::nullopt : std::optional(at / 5);
  });
  EXPECT_LT(chi_square(counts), bound(24));
  EXPECT_LT(chi_square(pairs), bound(24));
}

// The middle is in every window of 3 x 3.
TEST_F(AugmentStatistics, EveryWindowIsAsLikely) {
  std::vector<int64_t> counts(9);
  each({12}, "crop: [3, 3]", [&](Image image) {
    ASSERT_EQ(image.size(), 9u);
    ++counts.at(place_of(1, image));
  });
  EXPECT_LT(chi_square(counts), bound(8));
}

// With each of 9 shifts: had they anything to do with the flips, it would show.
TEST_F(AugmentStatistics, EveryFlipIsAsLikely) {
  std::vector<int64_t> flips(4), with_shifts(36);
  each({6, 8, 16, 18}, "shift: 1, flip: both", [&](Image image) {
    const size_t corner = std::min({place_of(1, image), place_of(2, image), place_of(3, image), place_of(4, image)});
    ASSERT_LT(corner, 13u);
    const auto flip = static_cast<size_t>(image[corner]) - 1;
    ++flips[flip];
    ++with_shifts[flip * 9 + corner / 5 * 3 + corner % 5];
  });
  EXPECT_LT(chi_square(flips), bound(3));
  EXPECT_LT(chi_square(with_shifts), bound(35));
}

TEST_F(AugmentStatistics, NoiseIsNormal) {
  constexpr double kDeviation = 0.5, kValues = kRows * 25.0;
  double sum = 0, squares = 0, neighbours = 0;
  int64_t beyond = 0;
  std::set<float> first;
  each({12}, "noise: 0.5", [&](Image image) {
    double before = 0;
    for (size_t i = 0; i < 25; ++i) {
      const double noise = static_cast<double>(image[i]) - (i == 12 ? 1 : 0);
      sum += noise;
      squares += noise * noise;
      neighbours += noise * before;
      before = noise;
      beyond += std::abs(noise) > 2 * kDeviation ? 1 : 0;
    }
    first.insert(image[0]);
  });
  // Five deviations of each of these, computed from that of the noise.
  EXPECT_NEAR(sum / kValues, 0, 5 * kDeviation / std::sqrt(kValues));
  EXPECT_NEAR(std::sqrt(squares / kValues), kDeviation, 5 * kDeviation / std::sqrt(2 * kValues));
  EXPECT_NEAR(neighbours / kValues, 0, 5 * kDeviation * kDeviation / std::sqrt(kValues));
  const double share = std::erfc(std::sqrt(2));  // beyond two deviations
  EXPECT_NEAR(static_cast<double>(beyond) / kValues, share, 5 * std::sqrt(share * (1 - share) / kValues));
  EXPECT_GT(first.size(), kRows - 20u) << "float32 has values enough for all rows to differ, but for a few";
}

}  // namespace
}  // namespace millrace
