// decode_image: rows to rows. The bytes of a JPEG or PNG file, a text, become the pixels of a uint8 field.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/ops/shared/bad_rows.h"
#include "millrace/input/ops/shared/fields.h"
#include "millrace/input/pictures/picture.h"

namespace millrace {

template <>
struct EnumNames<Resize> {
  static constexpr std::pair<std::string_view, Resize> kNames[] = {
      {"crop", Resize::crop}, {"stretch", Resize::stretch}, {"pad", Resize::pad}};
};

namespace {

#if defined(MILLRACE_HAS_JPEG) || defined(MILLRACE_HAS_PNG)
constexpr bool kReadsPictures = true;
#else
constexpr bool kReadsPictures = false;
#endif

struct DecodeImageOptions : BadRowOptions {
  std::vector<int64_t> size;
  Resize resize = Resize::crop;
  std::string field = "image";
  int64_t max_pixels = PictureTarget().max_pixels;

  void declare(OptionReader& o) {
    o.required("size", size, {.min = 1, .max = 16384},
               "[channels, height, width] of the pixels: 1 channel is grey, 3 are red, green and blue");
    o.optional("resize", resize,
               "how pictures of another shape fit: scaled to cover the size and cut (crop, the middle stays), "
               "stretched, or whole with 0 around them (pad)");
    o.optional("field", field, "the field with the bytes of the files, of type string; it becomes uint8");
    o.optional("max_pixels", max_pixels, {.min = 1, .max = kMostPixels},
               "of a progressive JPEG or an interlaced PNG, which have to be decoded as a whole; a larger one is a bad "
               "row");
    BadRowOptions::declare(o);
    if (!o.reading()) return;
    if (size.size() != 3) {
      throw o.node("size").error(cat("expected [channels, height, width], got ", count_of(std::ssize(size), "number")));
    }
    if (size[0] != 1 && size[0] != 3) throw o.node("size").error(cat("expected 1 or 3 channels, got ", size[0]));
  }
};

class DecodeImage final : public DecodingTransform {
 public:
  using Options = DecodeImageOptions;
  static constexpr std::string_view kLeads = "after image_folder";
  static constexpr std::string_view kDoc = "turns JPEG and PNG files into pixels";
  static constexpr std::string_view kExample = "size: [3, 32, 32]";

  explicit DecodeImage(const Options& options)
      : DecodingTransform(options),
        name_(options.field),
        target_{.channels = options.size[0],
                .height = options.size[1],
                .width = options.size[2],
                .resize = options.resize,
                .max_pixels = options.max_pixels} {}

  Port bind(const BindArgs& args) override {
    if (!kReadsPictures) {
      throw ConfigError("decode_image is not in this build: it was made without libjpeg and libpng", {},
                        "install libjpeg62-turbo-dev and libpng-dev, and build again");
    }
    check_report();
    Port out = args.inputs[0];
    field_ = {field_index(out.rows, name_)};
    FieldSpec& field = out.rows.fields[field_.front()];
    if (!field.text || field.ragged() || field.shape.elements() != 1) {
      throw ConfigError(cat("decode_image takes the bytes of a file, one text, ", name_, " is ", field.type_text()));
    }
    field = {name_, DType::u8, Shape{target_.channels, target_.height, target_.width}};
    spec_ = std::make_shared<const RowSpec>(out.rows);
    return out;
  }

  void apply(Chunk& chunk) const override {
    copy_fields(chunk, spec_, field_);
    auto& memory = chunk.work().get<Memory>(this);
    const int64_t rows = chunk.rows.size();
    memory.good.assign(static_cast<size_t>(rows), 1);
    bool all = true;
    for (int64_t row = 0; row < rows; ++row) {
      const Varying& file = std::as_const(chunk.spare).varying(field_.front(), row);
      std::string wrong = decode_picture(file.texts() > 0 ? file.text(0) : std::string_view(), target_, memory.pictures,
                                         chunk.rows.row<uint8_t>(field_.front(), row));
      if (wrong.empty()) continue;
      if (!skips_bad_rows()) return chunk.fail(row, std::make_exception_ptr(DataError(wrong)));
      Note note = bad_row(row, std::move(wrong));
      note.id = chunk.rows.id(row);
      chunk.add(std::move(note));
      memory.good[static_cast<size_t>(row)] = 0;
      all = false;
    }
    if (!all) chunk.keep_rows(memory.good, {});
  }

  std::optional<std::vector<std::string>> concerned_fields() const override { return std::vector{name_}; }

  uint64_t work_bound() const override { return picture_work_bound(target_); }

 private:
  struct Memory {
    PictureMemory pictures;
    std::vector<uint8_t> good;  // by row
  };

  const std::string name_;
  const PictureTarget target_;
  std::vector<size_t> field_;  // the one
  SharedRowSpec spec_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(decode_image, DecodeImage);
