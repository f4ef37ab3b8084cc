// hold_out: divides the rows into two fixed parts: rows to train on, and rows to judge the model by.
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/compressed/compression.h"
#include "millrace/input/ops/shared/fields.h"

namespace millrace {
namespace {

// The hash of the values before, which is `hash`, and one more. Equal values are equal bytes, whatever their type is: a
// text is itself, a whole number its digits, another number the bits of a double. A zero byte ends each.
uint64_t hash_value(uint64_t hash, std::string_view text) {
  constexpr std::string_view kEnd("\0", 1);
  return fnv1a64(kEnd, fnv1a64(text, hash));
}
template <class T>
uint64_t hash_value(uint64_t hash, T value) {
  char bytes[24];
  const auto number = static_cast<double>(value);
  if (std::is_integral_v<T> || (number == std::floor(number) && number >= -0x1p63 && number < 0x1p63)) {
    const char* const end = std::to_chars(bytes, bytes + sizeof bytes, static_cast<int64_t>(value)).ptr;
    return hash_value(hash, {bytes, end});
  }
  const double bits = std::isnan(number) ? std::numeric_limits<double>::quiet_NaN() : number;
  std::memcpy(bytes, &bits, sizeof bits);
  return hash_value(hash, {bytes, sizeof bits});
}

// Only the row's place in its file and the file's name decide. The folder, the number of files and the rest of the
// graph change nothing. With `group`, only the values of that field decide.
class HoldOut final : public Transform {
 public:
  struct Options {
    double share = 0.2;
    int64_t seed = 0;
    std::optional<std::string> group;

    void declare(OptionReader& o) {
      o.optional("share", share, {.min = 0, .max = 1, .above_min = true, .below_max = true},
                 "about what share of the rows is held out");
      o.used_as("share", OptionUse::held_out);
      o.optional("seed", seed, {.min = 0}, "another seed holds out other rows; the run's seed does not matter here");
      o.optional("group", group,
                 "a field: all rows of equal values, such as the rows of one customer, are on one side; absent: the "
                 "place of a row in its file decides");
    }
  };
  static constexpr std::string_view kDoc = "keeps a share of the rows out of the training, to judge the model by";
  static constexpr std::string_view kExample = "share: 0.2";

  explicit HoldOut(const Options& options)
      : options_(options), limit_(static_cast<uint64_t>(std::ldexp(options.share, 64))) {}

  Port bind(const BindArgs& args) override {
    name_ = args.name;
    side_ = args.side;
    if (options_.group) group_ = field_index(args.inputs[0].rows, *options_.group);
    for (const RowSource* source : args.sources) {
      std::vector<uint64_t>& streams = streams_.emplace_back();
      for (const auto& file : source->files()) streams.push_back(stream_of(file->path));
    }
    return args.inputs[0];
  }

  void apply(Chunk& chunk) const override {
    const bool wanted = side_ == Side::held_out;
    keep_if(chunk, this, name_, [&](int64_t row) { return is_held_out(chunk.rows, row) == wanted; });
  }

  std::optional<std::vector<std::string>> concerned_fields() const override {
    return options_.group ? std::vector{*options_.group} : std::vector<std::string>();
  }

 private:
  // A compressed file has the rows of the file that was compressed.
  static uint64_t stream_of(std::string_view path) {
    return fnv1a64(cat("hold_out/", without_compression(path.substr(path.rfind('/') + 1))));
  }

  bool is_held_out(const RowBlock& rows, int64_t row) const {
    static const uint64_t kNoFile = stream_of(""), kGroup = fnv1a64("hold_out group");
    const auto seed = static_cast<uint64_t>(options_.seed);
    if (group_) return philox64(seed, kGroup, hash_of(rows, *group_, row)) < limit_;
    const RowId& id = rows.id(row);
    const bool has_file = id.source < streams_.size() && id.file < streams_[id.source].size();
    const uint64_t stream = has_file ? streams_[id.source][id.file] : kNoFile;
    return philox64(seed, stream, id.offset) < limit_;
  }

  static uint64_t hash_of(const RowBlock& rows, size_t field, int64_t row) {
    uint64_t hash = fnv1a64("");
    if (rows.spec().fields[field].text) {
      const Varying& texts = rows.varying(field, row);
      for (size_t i = 0; i < texts.texts(); ++i) hash = hash_value(hash, texts.text(i));
      return hash;
    }
    with_number_type(rows.spec().fields[field].dtype, [&](auto type) {
      for (const auto value : rows.numbers<decltype(type)>(field, row)) hash = hash_value(hash, value);
    });
    return hash;
  }

  const Options options_;
  const uint64_t limit_;  // the share, as a part of 2^64
  Side side_ = Side::trained;
  std::string name_;
  std::optional<size_t> group_;                 // the field that decides
  std::vector<std::vector<uint64_t>> streams_;  // by source and file: the stream of the file's random numbers
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(hold_out, HoldOut);
