// decode_png(): the only file that sees libpng.
#include "millrace/core/text.h"
#include "millrace/input/pictures/exif.h"
#include "millrace/input/pictures/picture.h"

#ifdef MILLRACE_HAS_PNG

#include <png.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "millrace/input/pictures/library_jump.h"

namespace millrace {

namespace {

struct PngBytes {
  const char* at = nullptr;
  size_t left = 0;
};

[[noreturn]] void end_png(png_structp png, png_const_charp message) {
  static_cast<LibraryJump*>(png_get_error_ptr(png))->leave(message);
}

// Warnings are about chunks that are not read.
void hear_png(png_structp, png_const_charp) {}

void read_png(png_structp png, png_bytep to, size_t bytes) {
  auto& from = *static_cast<PngBytes*>(png_get_io_ptr(png));
  if (bytes > from.left) png_error(png, "the file ends too early");
  std::memcpy(to, from.at, bytes);
  from.at += bytes;
  from.left -= bytes;
}

uint32_t over_white(uint32_t value, uint32_t alpha) { return (value * alpha + 255 * (255 - alpha) + 127) / 255; }

// Grey, grey and alpha, RGB or RGBA become grey or RGB.
void change_channels(const uint8_t* from, int64_t channels, uint8_t* to, int64_t wanted, int64_t pixels) {
  const bool grey = channels < 3, has_alpha = channels % 2 == 0;
  for (int64_t i = 0; i < pixels; ++i, from += channels, to += wanted) {
    uint32_t red = from[0], green = grey ? red : from[1], blue = grey ? red : from[2];
    if (has_alpha) {
      const uint32_t alpha = from[channels - 1];
      red = over_white(red, alpha);
      green = over_white(green, alpha);
      blue = over_white(blue, alpha);
    }
    if (wanted == 1) {
      to[0] = static_cast<uint8_t>((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16);
    } else {
      to[0] = static_cast<uint8_t>(red);
      to[1] = static_cast<uint8_t>(green);
      to[2] = static_cast<uint8_t>(blue);
    }
  }
}

// Hands lines on to the scaler, each pixel the mean of `reduction` by `reduction` pixels, as JPEG has them at a smaller
// size.
class LineMeans {
 public:
  LineMeans(PictureMemory& memory, const StoredPicture& picture, int64_t channels, int reduction)
      : memory_(memory), picture_(picture), channels_(channels), reduction_(reduction) {
    memory.sums.assign(reduction > 1 ? static_cast<size_t>(memory.scaler.width() * channels) : 0, 0);
  }

  // Takes what memory.line holds.
  void add() {
    ++line_;
    PictureScaler& scaler = memory_.scaler;
    const uint8_t* from = memory_.line.data();
    if (reduction_ == 1) {
      std::memcpy(scaler.line(), from, memory_.line.size());
      return scaler.add_line();
    }
    uint32_t* sum = memory_.sums.data();
    for (int64_t x = 0; x < scaler.width(); ++x, sum += channels_) {
      for (int64_t column = 0; column < columns_of(x); ++column) {
        for (int64_t channel = 0; channel < channels_; ++channel) sum[channel] += *from++;
      }
    }
    const int64_t lines = (line_ - 1) % reduction_ + 1;
    if (lines < reduction_ && line_ < picture_.height) return;
    give(lines);
    std::ranges::fill(memory_.sums, 0);
  }

 private:
  // How many pixels of a line become pixel `x`.
  int64_t columns_of(int64_t x) const { return std::min<int64_t>(reduction_, picture_.width - x * reduction_); }

  void give(int64_t lines) {
    PictureScaler& scaler = memory_.scaler;
    uint8_t* to = scaler.line();
    const uint32_t* sum = memory_.sums.data();
    for (int64_t x = 0; x < scaler.width(); ++x) {
      const auto count = static_cast<uint32_t>(lines * columns_of(x));
      for (int64_t channel = 0; channel < channels_; ++channel) {
        *to++ = static_cast<uint8_t>((*sum++ + count / 2) / count);
      }
    }
    scaler.add_line();
  }

  PictureMemory& memory_;
  const StoredPicture picture_;
  const int64_t channels_;
  const int reduction_;
  int64_t line_ = 0;
};

class PngFile {
 public:
  explicit PngFile(std::string_view file) : bytes_{file.data(), file.size()} {}
  ~PngFile() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngFile(const PngFile&) = delete;
  PngFile& operator=(const PngFile&) = delete;

  std::string decode(const PngFacts& facts, const PictureTarget& target, PictureMemory& memory, uint8_t* to) {
    if (facts.animated) return "the picture is animated, expected one picture";
    if (!jump_.calls([&] { open(); })) return failure();
    const StoredPicture picture = {png_get_image_width(png_, info_), png_get_image_height(png_, info_),
                                   facts.orientation};
    if (std::string wrong = refusal(target, picture); !wrong.empty()) return wrong;
    if (!jump_.calls([&] { choose_channels(); })) return failure();
    const int reduction = reduction_of(target, picture);
    memory.scaler.begin(target, picture, reduction, to);
    memory.stored.resize(static_cast<size_t>(picture.width * channels_));
    memory.line.resize(static_cast<size_t>(picture.width * target.channels));
    if (passes_ > 1) memory.whole.resize(static_cast<size_t>(picture.width * picture.height * channels_));
    LineMeans means(memory, picture, target.channels, reduction);
    return jump_.calls([&] { read_lines(picture, target, memory, means); }) ? std::string() : failure();
  }

 private:
  std::string failure() const { return cat("cannot decode the PNG picture: ", jump_.text); }

  void open() {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &jump_, end_png, hear_png);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) throw std::bad_alloc();
    png_set_read_fn(png_, &bytes_, read_png);
    // Also of a chunk that the library could do without, such as what is transparent.
    png_set_crc_action(png_, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    // Only what the pixels need is read: no profiles and no texts, which might be large.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_read_info(png_, info_);
  }

  std::string refusal(const PictureTarget& target, const StoredPicture& picture) {
    if (picture.width > kMostSide || picture.height > kMostSide) {
      return cat("the picture is ", picture.width, " x ", picture.height, " pixels, expected at most ", kMostSide,
                 " along each side");
    }
    if (picture.width * picture.height > kMostPixels) return too_large(picture);
    if (png_get_bit_depth(png_, info_) == 16) return "the picture has 16 bits for each channel, expected 8";
    const bool whole = png_get_interlace_type(png_, info_) != PNG_INTERLACE_NONE;
    return whole && picture.width * picture.height > target.max_pixels ? too_many_pixels(picture, "interlaced")
                                                                       : std::string();
  }

  // Palettes become colours, few bits become 8, and a colour that is transparent becomes alpha.
  void choose_channels() {
    png_set_expand(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    channels_ = png_get_channels(png_, info_);
  }

  void read_lines(const StoredPicture& picture, const PictureTarget& target, PictureMemory& memory, LineMeans& means) {
    const int64_t line_bytes = picture.width * channels_;
    for (int pass = 0; passes_ > 1 && pass < passes_; ++pass) {
      for (int64_t y = 0; y < picture.height; ++y) png_read_row(png_, memory.whole.data() + y * line_bytes, nullptr);
    }
    for (int64_t y = 0; y < picture.height; ++y) {
      const uint8_t* stored = memory.stored.data();
      if (passes_ > 1) {
        stored = memory.whole.data() + y * line_bytes;
      } else {
        png_read_row(png_, memory.stored.data(), nullptr);
      }
      change_channels(stored, channels_, memory.line.data(), target.channels, picture.width);
      means.add();
    }
    png_read_end(png_, nullptr);
  }

  LibraryJump jump_;
  PngBytes bytes_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;        // over the picture; several if it is interlaced
  int64_t channels_ = 1;  // that the library gives
};

}  // namespace

std::string decode_png(std::string_view file, const PictureTarget& target, PictureMemory& memory, uint8_t* to) {
  return PngFile(file).decode(png_facts(file), target, memory, to);
}

}  // namespace millrace

#else

namespace millrace {

std::string decode_png(std::string_view, const PictureTarget&, PictureMemory&, uint8_t*) {
  return "PNG is not in this build: install libpng-dev and build again";
}

}  // namespace millrace

#endif
