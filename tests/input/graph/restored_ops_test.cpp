// Every op of the catalog goes on from a saved state as if nothing had happened.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/testing.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/input/formats.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using testing_support::Format;
using testing_support::FormatRows;
using testing_support::FormatTable;

class RestoredOps : public ::testing::Test {
 protected:
  RestoredOps() {
    const char* const colours[] = {"blue", "green", "red"};
    std::string a, b;
    for (int x = 0; x < 30; ++x) {
      const std::string number = x % 9 == 4 ? "none" : cat(x);
      a += cat(number, ',', colours[x % 3], ',', x % 4 == 0 ? "" : x % 4 == 1 ? "5" : "6 7 8", ',', x, ",1,2,3\n");
      if (x % 3 == 0) b += cat(100 + x, ",red,4 5,", x, ",7,8,9\n");
    }
    folder_.write("a.csv", a);
    folder_.write("b.csv", b);
    for (const Format& format : formats_) format.put(folder_);
  }

  // The ops for one file. Their names begin with the name of the file.
  std::string reading(const std::string& name) const {
    return cat("- filename_queue: {name: ", name, "_files, files: ", quote(folder_.path(name + ".csv"), 4096),
               ", epochs: 2}\n- csv_reader: {name: ", name, "_reader, chunk_bytes: 60}\n- decode_csv: {name: ", name,
               ", on_bad_row: skip, fields: {x: {columns: 0}, colour: {columns: 1, type: string}, "
               "n: {columns: 2, split: ' ', default: []}, image: {columns: 3-6, reshape: [1, 2, 2]}}}\n");
  }
  std::vector<std::string> lists() const {
    const bool images = ops_.entries().contains("augment");  // a build may be without
    std::vector<std::string> lists = {
        cat(reading("a"),
            "- hold_out: {share: 0.2}\n- vocabulary: {field: colour, texts: [blue, green, red], as: code}\n"
            "- one_hot: {field: code, classes: 3, as: colours}\n- map: {field: x, scale: 2}\n"
            "- normalize: {fields: x, mean: 3, std: 2}\n- filter: {field: x, op: '>', value: 0}\n",
            images ? "- augment: {fields: image, flip: both, noise: 0.5}\n" : "",
            "- queue: {capacity: 5}\n- skip: {rows: 3}\n- take: {rows: 30}\n"
            "- shuffle_batch: {batch_size: 4, min_after_dequeue: 6, allow_smaller_final_batch: true}\n"
            "- pad: {multiple_of: 2}\n"),
        cat(reading("a"), reading("b"),
            "- interleave: {from: [a, b]}\n- cache\n- repeat: {epochs: 2}\n- print: {every: 7}\n"
            "- batch: {batch_size: 5, allow_smaller_final_batch: true}\n"),
        cat(reading("a"), reading("b"),
            "- mix: {from: [a, b], weights: [1, 3]}\n- shuffle_batch: {batch_size: 3, min_after_dequeue: 4}\n"),
        "- synthetic: {features: 3, rows: 20}\n- repeat: {epochs: 2}\n- skip: {rows: 2}\n- batch: {batch_size: 3}\n",
        cat("- filename_queue: {files: ", quote(folder_.path("a.csv"), 4096), ", epochs: 1}\n- csv_reader\n",
            "- decode_csv: {fields: {time: {columns: 3, type: int64}}}\n",
            "- calendar: {field: time, as: parts, features: [year, weekday]}\n- batch: {batch_size: 5}\n")};
    for (const Format& format : formats_) {
      lists.push_back(cat(format.list("epochs: 2", {}, folder_.path("")), "- batch: {batch_size: 7}\n"));
    }
    return lists;
  }

  const TempFolder folder_;
  const FormatTable table_{FormatRows(true)};
  const std::vector<Format>& formats_ = table_.formats;
  const OpRegistry ops_ = builtin_ops();
};

TEST_F(RestoredOps, GoOnFromEveryBatch) {
  std::set<std::string> seen;
  for (const std::string& list : lists()) {
    const Spec spec = parse_yaml(list, "input.yaml");
    const RestoreCheck check = check_restore(spec, ops_, 1000);
    EXPECT_EQ(check.difference, "") << list;
    EXPECT_GT(check.batches, 5) << list;
    for (const Spec& op : spec.items()) seen.insert(ops_.read(op, "an input op").kind);
  }
  for (const std::string& kind : ops_.kinds()) {
    if (std::ranges::find(table_.absent, kind) != table_.absent.end()) continue;
    EXPECT_TRUE(seen.contains(kind)) << kind << " was not tried: put it into a list here";
  }
}

}  // namespace
}  // namespace millrace
