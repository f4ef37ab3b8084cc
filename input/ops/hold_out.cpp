// hold_out: divides the rows into two fixed parts: rows to train on, and rows to judge the model by.
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/compressed/compression.h"
#include "millrace/input/ops/shared/fields.h"

namespace millrace {
namespace {

// Only the row's place in its file and the file's name decide. The folder, the number of files and the rest of the
// graph change nothing.
class HoldOut final : public Transform {
 public:
  struct Options {
    double share = 0.2;
    int64_t seed = 0;

    void declare(OptionReader& o) {
      o.optional("share", share, {.min = 0, .max = 1, .above_min = true, .below_max = true},
                 "about what share of the rows is held out");
      o.used_as("share", OptionUse::held_out);
      o.optional("seed", seed, {.min = 0}, "another seed holds out other rows; the run's seed does not matter here");
    }
  };
  static constexpr std::string_view kDoc = "keeps a share of the rows out of the training, to judge the model by";
  static constexpr std::string_view kExample = "share: 0.2";

  explicit HoldOut(const Options& options)
      : options_(options), limit_(static_cast<uint64_t>(std::ldexp(options.share, 64))) {}

  Port bind(const BindArgs& args) override {
    name_ = args.name;
    side_ = args.side;
    for (const RowSource* source : args.sources) {
      std::vector<uint64_t>& streams = streams_.emplace_back();
      for (const auto& file : source->files()) streams.push_back(stream_of(file->path));
    }
    return args.inputs[0];
  }

  void apply(Chunk& chunk) const override {
    const bool wanted = side_ == Side::held_out;
    keep_if(chunk, this, name_, [&](int64_t row) { return is_held_out(chunk.rows.id(row)) == wanted; });
  }

  std::optional<std::vector<std::string>> concerned_fields() const override { return std::vector<std::string>(); }

 private:
  // A compressed file has the rows of the file that was compressed.
  static uint64_t stream_of(std::string_view path) {
    return fnv1a64(cat("hold_out/", without_compression(path.substr(path.rfind('/') + 1))));
  }

  bool is_held_out(const RowId& id) const {
    static const uint64_t kNoFile = stream_of("");
    const bool has_file = id.source < streams_.size() && id.file < streams_[id.source].size();
    const uint64_t stream = has_file ? streams_[id.source][id.file] : kNoFile;
    return philox64(static_cast<uint64_t>(options_.seed), stream, id.offset) < limit_;
  }

  const Options options_;
  const uint64_t limit_;  // the share, as a part of 2^64
  Side side_ = Side::trained;
  std::string name_;
  std::vector<std::vector<uint64_t>> streams_;  // by source and file: the stream of the file's random numbers
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(hold_out, HoldOut);
