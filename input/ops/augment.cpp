// augment: random changes of images, drawn by row and pass.
//
// Draw i of a row, counted from 0, is philox64(key, offset, source * 2^32 + i) with
// key = philox64(seed, fnv1a64(name), pass * 2^32 + file). So it depends on where the row came from, which its id says,
// and not on how it came. The enum Draw names draws 0 to 5; after them, each field of n values has ceil(n / 2)
// blocks for its noise.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/random.h"
#include "millrace/core/sizes.h"
#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/onnx_rows.h"
#include "millrace/input/ops/shared/fields.h"

namespace millrace {

enum class Flip : uint8_t { none, horizontal, vertical, both };
template <>
struct EnumNames<Flip> {
  static constexpr std::pair<std::string_view, Flip> kNames[] = {
      {"none", Flip::none}, {"horizontal", Flip::horizontal}, {"vertical", Flip::vertical}, {"both", Flip::both}};
};

namespace {

struct AugmentOptions {
  std::vector<std::string> fields;
  std::optional<std::vector<int64_t>> shift;
  double fill = 0;
  std::optional<Flip> flip;
  std::optional<std::vector<int64_t>> crop;
  std::optional<double> noise;
  bool random = true;

  void declare(OptionReader& o) {
    o.required("fields", fields,
               "images: float32, float64 or uint8 fields of shape (channels, height, width), all of one size; uint8 "
               "becomes float32");
    o.used_as("fields", OptionUse::fields);
    o.optional("shift", shift, {.min = 0, .max = kMost},
               "how many pixels an image moves at most, up or down and left or right; or [vertical, horizontal]");
    o.optional("fill", fill, {.min = -kMostValue, .max = kMostValue},
               "with shift, the value of the pixels that it vacates");
    o.optional("flip", flip,
               "what is mirrored in half of the cases: left and right (horizontal), top and bottom, or both");
    o.optional("crop", crop, {.min = 1, .max = kMost}, "[height, width] of the window that is cut out of an image");
    o.optional("noise", noise, {.min = 0, .max = kMostValue},
               "the standard deviation of normal noise that is added to every value");
    o.optional("random", random,
               "false: crop takes the middle and the rest is off, as in every evaluation and prediction");
    o.in_pass("random", false);
    if (o.reading()) check(o);
  }

 private:
  static constexpr double kMost = 1 << 24;
  static constexpr double kMostValue = 1e38;  // finite as float32, too

  void check(const OptionReader& o) const {
    if (fields.empty()) throw o.node("fields").error("expected at least one field, got an empty list");
    if (shift && shift->size() != 1 && shift->size() != 2) {
      throw o.node("shift").error(
          cat("expected one number, or [vertical, horizontal], got ", count_of(std::ssize(*shift), "number")));
    }
    if (crop && crop->size() != 2) {
      throw o.node("crop").error(cat("expected [height, width], got ", count_of(std::ssize(*crop), "number")));
    }
    if (fill != 0 && !shift) throw o.node("fill").error("fill needs shift");
  }
};

enum class Draw : uint64_t { down, right, mirror, upside_down, top, left, noise };

class RowDraws {
 public:
  RowDraws(uint64_t seed, uint64_t stream, const RowId& id)
      : key_(philox64(seed, stream, uint64_t{id.pass} << 32 | id.file)),
        offset_(id.offset),
        begin_(uint64_t{id.source} << 32) {}

  // A number from 0 to n - 1, each with the same probability.
  int64_t below(Draw draw, int64_t n) const {
    const uint64_t bits = philox64(key_, offset_, begin_ + static_cast<uint64_t>(draw));
    return static_cast<int64_t>(scale_to(bits, static_cast<uint64_t>(n)));
  }
  // Noise for two values.
  std::array<double, 2> normals(uint64_t block) const {
    return normal_pair(philox(key_, offset_, begin_ + static_cast<uint64_t>(Draw::noise) + block));
  }

 private:
  uint64_t key_, offset_, begin_;
};

// The origin of a changed image's pixels along one axis: a pixel i in [begin, end) is pixel first + step * i of the
// image; the other pixels are filled.
struct AxisMap {
  int64_t first = 0, step = 1;
  int64_t begin = 0, end = 0;
};

struct AxisChange {
  int64_t shift = 0;   // first, pixels move by so much to greater numbers
  bool flip = false;   // then they are mirrored
  int64_t window = 0;  // then the window of the new size is cut, from here on
};

AxisMap axis_map(const AxisChange& change, int64_t size, int64_t new_size) {
  AxisMap map;
  if (change.flip) {
    map = {.first = size - 1 - change.window - change.shift, .step = -1};
    map.begin = map.first - (size - 1);
    map.end = map.first + 1;
  } else {
    map = {.first = change.window - change.shift, .step = 1};
    map.begin = -map.first;
    map.end = size - map.first;
  }
  map.begin = std::clamp<int64_t>(map.begin, 0, new_size);
  map.end = std::clamp<int64_t>(map.end, map.begin, new_size);
  return map;
}

template <class From, class To>
void move_line(const From* from, To* to, const AxisMap& map, int64_t size, To fill) {
  std::fill(to, to + map.begin, fill);
  if (map.step < 0) {
    for (int64_t i = map.begin; i < map.end; ++i) to[i] = static_cast<To>(from[map.first - i]);
  } else if (map.begin < map.end) {
    std::copy(from + map.first + map.begin, from + map.first + map.end, to + map.begin);
  }
  std::fill(to + map.end, to + size, fill);
}

class Augment final : public Transform {
 public:
  using Options = AugmentOptions;
  static constexpr std::string_view kDoc =
      "changes images at random, anew in every epoch: shift, then flip, crop and noise";
  static constexpr std::string_view kExample = "fields: image, shift: 2, flip: horizontal";

  explicit Augment(Options options) : options_(std::move(options)) {}

  Port bind(const BindArgs& args) override {
    if (!options_.shift && !options_.flip && !options_.crop && !options_.noise) {
      throw ConfigError("augment needs at least one of shift, flip, crop and noise");
    }
    seed_ = args.seed;
    stream_ = fnv1a64(args.name);
    Port out = args.inputs[0];
    uint64_t blocks = 0;
    for (const std::string& name : options_.fields) add_image(out.rows, name);
    check_sizes();
    for (Image& image : images_) {
      Shape& shape = out.rows.fields[image.field].shape;
      shape = Shape{image.channels, new_size_.height, new_size_.width};
      if (image.dtype == DType::u8) {
        out.rows.fields[image.field].dtype = DType::f32;
        widens_ = true;
      }
      image.noise = blocks;
      blocks += static_cast<uint64_t>(ceil_div<int64_t>(shape.elements(), 2));
      changed_.push_back(image.field);
    }
    spec_ = std::make_shared<const RowSpec>(out.rows);
    return out;
  }

  void apply(Chunk& chunk) const override {
    const bool moves = options_.random && (options_.shift || options_.flip);
    if (moves || options_.crop || widens_) move_images(chunk);
    if (options_.random && options_.noise.value_or(0) > 0) {
      for (int64_t row = 0; row < chunk.rows.size(); ++row) add_noise(chunk.rows, row);
    }
  }
  // Outside of training it only cuts out the middle.
  void to_onnx(OnnxRows& rows) const override {
    if (options_.random) throw ConfigError("random changes cannot be written as ONNX");
    OnnxGraph& graph = rows.graph();
    const auto [down, right] = middle();
    for (const std::string& name : options_.fields) {
      FieldSpec field = *rows.find(name);
      if (field.dtype == DType::u8) field.dtype = DType::f32;
      field.shape = Shape{field.shape[0], new_size_.height, new_size_.width};
      const OnnxValue begin = graph.list({down.window, right.window});
      const OnnxValue end = graph.list({down.window + new_size_.height, right.window + new_size_.width});
      const OnnxValue cut = graph.add("Slice", {rows.tensor(name), begin, end, graph.list({2, 3})});
      const OnnxType type = onnx_type(field.dtype);
      rows.set(std::move(field), graph.cast(cut, type));
    }
  }

 private:
  struct Image {
    size_t field;
    int64_t channels;
    DType dtype;         // of the values before
    uint64_t noise = 0;  // the first of its Philox blocks
  };
  struct Size {
    int64_t height = 0, width = 0;
    bool operator==(const Size&) const = default;
    std::string text() const { return cat(height, " x ", width); }
  };

  void add_image(const RowSpec& rows, const std::string& name) {
    if (std::count(options_.fields.begin(), options_.fields.end(), name) > 1) {
      throw ConfigError(cat("the field ", quote(name), " is named twice"));
    }
    const size_t index = field_index(rows, name);
    const FieldSpec& field = rows.fields[index];
    const bool fits = !field.varies() && field.dtype != DType::i32 && field.dtype != DType::i64;
    if (!fits || field.shape.rank() != 3) {
      throw ConfigError(cat("augment changes float32, float64 and uint8 fields of shape (channels, height, width), ",
                            name, " is ", field.type_text()),
                        {}, cat("decode it so: {", name, ": {columns: .., reshape: [channels, height, width]}}"));
    }
    const Size size = {field.shape[1], field.shape[2]};
    if (!images_.empty() && size != size_) {
      throw ConfigError(cat("the fields are changed in the same way, but ", options_.fields.front(), " is ",
                            size_.text(), " pixels large and ", name, " ", size.text()),
                        {}, "give each size an augment of its own");
    }
    size_ = size;
    images_.push_back({.field = index, .channels = field.shape[0], .dtype = field.dtype});
  }

  void check_sizes() {
    if (options_.shift) shift_ = {options_.shift->front(), options_.shift->back()};
    if (shift_.height >= size_.height || shift_.width >= size_.width) {
      throw ConfigError(
          cat("shift: expected less than the size of the images, ", size_.text(), ", got ", shift_.text()));
    }
    new_size_ = options_.crop ? Size{options_.crop->front(), options_.crop->back()} : size_;
    if (new_size_.height > size_.height || new_size_.width > size_.width) {
      throw ConfigError(
          cat("crop: expected at most the size of the images, ", size_.text(), ", got ", new_size_.text()), {},
          "crop is [height, width]");
    }
  }

  void move_images(Chunk& chunk) const {
    copy_fields(chunk, spec_, changed_);
    for (int64_t row = 0; row < chunk.rows.size(); ++row) move_row(chunk.spare, chunk.rows, row);
  }

  void move_row(const RowBlock& from, RowBlock& to, int64_t row) const {
    const auto [down, right] = options_.random ? random_change(from.id(row)) : middle();
    const AxisMap y = axis_map(down, size_.height, new_size_.height);
    const AxisMap x = axis_map(right, size_.width, new_size_.width);
    for (const Image& image : images_) {
      with_types(image.dtype, [&](auto before, auto after) {
        move_image(from.row<decltype(before)>(image.field, row), to.row<decltype(after)>(image.field, row),
                   image.channels, y, x);
      });
    }
  }

  // Calls f with zeros of the types that the values have before and after.
  template <class F>
  static void with_types(DType dtype, const F& f) {
    switch (dtype) {
      case DType::u8: return f(uint8_t{}, float{});
      case DType::f64: return f(double{}, double{});
      default: f(float{}, float{});
    }
  }

  // The changes along the height and the width. An absent option draws nothing, and the draws of the others stay the
  // same.
  std::pair<AxisChange, AxisChange> random_change(const RowId& id) const {
    const RowDraws draws(seed_, stream_, id);
    AxisChange down, right;
    if (options_.shift) {
      down.shift = draws.below(Draw::down, 2 * shift_.height + 1) - shift_.height;
      right.shift = draws.below(Draw::right, 2 * shift_.width + 1) - shift_.width;
    }
    const Flip flip = options_.flip.value_or(Flip::none);
    if (flip == Flip::horizontal || flip == Flip::both) right.flip = draws.below(Draw::mirror, 2) == 1;
    if (flip == Flip::vertical || flip == Flip::both) down.flip = draws.below(Draw::upside_down, 2) == 1;
    if (options_.crop) {
      down.window = draws.below(Draw::top, size_.height - new_size_.height + 1);
      right.window = draws.below(Draw::left, size_.width - new_size_.width + 1);
    }
    return {down, right};
  }
  std::pair<AxisChange, AxisChange> middle() const {
    return {{.window = (size_.height - new_size_.height) / 2}, {.window = (size_.width - new_size_.width) / 2}};
  }

  template <class From, class To>
  void move_image(const From* from, To* to, int64_t channels, const AxisMap& y, const AxisMap& x) const {
    const To fill = static_cast<To>(options_.fill);
    for (int64_t channel = 0; channel < channels; ++channel) {
      for (int64_t line = 0; line < new_size_.height; ++line, to += new_size_.width) {
        if (line < y.begin || line >= y.end) {
          std::fill(to, to + new_size_.width, fill);
        } else {
          move_line(from + (y.first + y.step * line) * size_.width, to, x, new_size_.width, fill);
        }
      }
      from += size_.height * size_.width;
    }
  }

  void add_noise(RowBlock& rows, int64_t row) const {
    const RowDraws draws(seed_, stream_, rows.id(row));
    for (const Image& image : images_) {
      const int64_t values = image.channels * new_size_.height * new_size_.width;
      with_types(image.dtype, [&](auto, auto after) {
        add_noise(rows.row<decltype(after)>(image.field, row), values, draws, image.noise);
      });
    }
  }

  // Computed in double and rounded once.
  template <class T>
  void add_noise(T* values, int64_t count, const RowDraws& draws, uint64_t block) const {
    const double deviation = *options_.noise;
    for (int64_t i = 0; i < count; i += 2, ++block) {
      const std::array<double, 2> noise = draws.normals(block);
      values[i] = static_cast<T>(static_cast<double>(values[i]) + deviation * noise[0]);
      if (i + 1 < count) values[i + 1] = static_cast<T>(static_cast<double>(values[i + 1]) + deviation * noise[1]);
    }
  }

  const Options options_;
  uint64_t seed_ = 0, stream_ = 0;
  SharedRowSpec spec_;  // for chunks whose rows are changed
  std::vector<Image> images_;
  std::vector<size_t> changed_;  // the fields of images_
  bool widens_ = false;          // one of them is uint8 before
  Size size_, new_size_, shift_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(augment, Augment);
