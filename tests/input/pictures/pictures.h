// Pictures for tests: made by the libraries' encoders, decoded by the libraries alone, and scaled in doubles.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#ifdef MILLRACE_HAS_JPEG
#include <jpeglib.h>
#endif
#ifdef MILLRACE_HAS_PNG
#include <png.h>
#endif

#include "millrace/core/random.h"
#include "millrace/input/pictures/picture.h"

namespace millrace::testing_support {

// The pixels of a picture, the channels of each one after another.
struct Pixels {
  int64_t width = 0, height = 0, channels = 3;
  std::vector<uint8_t> values;

  uint8_t at(int64_t x, int64_t y, int64_t channel) const {
    return values[static_cast<size_t>((y * width + x) * channels + channel)];
  }
  bool operator==(const Pixels&) const = default;
};

// Like a photograph: it changes slowly, but for a little noise.
inline Pixels smooth_picture(int64_t width, int64_t height, int64_t channels, uint64_t seed = 7) {
  Pixels out{width, height, channels, {}};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t channel = 0; channel < channels; ++channel) {
        const auto place = static_cast<uint64_t>((y * width + x) * channels + channel);
        const double wave = std::sin(static_cast<double>(x) / (7 + static_cast<double>(channel))) +
                            std::cos(static_cast<double>(y) / 9 + static_cast<double>(channel));
        out.values.push_back(
            static_cast<uint8_t>(120 + 55 * wave + static_cast<double>(philox64(seed, 0, place) % 20)));
      }
    }
  }
  return out;
}

inline Pixels random_picture(int64_t width, int64_t height, int64_t channels, uint64_t seed = 7) {
  Pixels out{width, height, channels, {}};
  const auto count = static_cast<uint64_t>(width * height * channels);
  for (uint64_t i = 0; i < count; ++i) out.values.push_back(static_cast<uint8_t>(philox64(seed, 1, i)));
  return out;
}

// `shown` as it is stored for an orientation of EXIF: what stands at (x, y) of the stored one is shown where the
// definition says.
inline Pixels stored_for(const Pixels& shown, int orientation) {
  const bool turned = orientation >= 5;
  Pixels out{turned ? shown.height : shown.width, turned ? shown.width : shown.height, shown.channels, {}};
  for (int64_t y = 0; y < out.height; ++y) {
    for (int64_t x = 0; x < out.width; ++x) {
      const int64_t right = out.width - 1 - x, bottom = out.height - 1 - y;
      const int64_t places[8][2] = {{x, y}, {right, y},  {right, bottom}, {x, bottom},
                                    {y, x}, {bottom, x}, {bottom, right}, {y, right}};
      const int64_t* const place = places[orientation - 1];
      for (int64_t channel = 0; channel < shown.channels; ++channel) {
        out.values.push_back(shown.at(place[0], place[1], channel));
      }
    }
  }
  return out;
}

// The means of squares of so many pixels, fewer at the right and at the bottom; rounded as the library rounds.
inline Pixels reduced(const Pixels& from, int64_t by) {
  Pixels out{(from.width + by - 1) / by, (from.height + by - 1) / by, from.channels, {}};
  for (int64_t y = 0; y < out.height; ++y) {
    for (int64_t x = 0; x < out.width; ++x) {
      for (int64_t channel = 0; channel < from.channels; ++channel) {
        int64_t sum = 0, count = 0;
        for (int64_t v = y * by; v < std::min(from.height, (y + 1) * by); ++v) {
          for (int64_t u = x * by; u < std::min(from.width, (x + 1) * by); ++u, ++count) sum += from.at(u, v, channel);
        }
        out.values.push_back(static_cast<uint8_t>((sum + count / 2) / count));
      }
    }
  }
  return out;
}

// The definition in doubles, of a picture that is not turned. `from` is the picture reduced by `reduction`, whose whole
// size is `width` x `height`. The result is the planes of the target.
inline std::vector<double> scaled(const Pixels& from, const PictureTarget& target, int64_t width, int64_t height,
                                  int64_t reduction = 1) {
  // What is shown of the picture and where in the target: begin and size, for x and y.
  double shown[2][2] = {{0, static_cast<double>(width)}, {0, static_cast<double>(height)}};
  double place[2][2] = {{0, static_cast<double>(target.width)}, {0, static_cast<double>(target.height)}};
  const bool wider = width * target.height > height * target.width;
  const auto middle_of = [](int64_t all, int64_t a, int64_t b, double* begin, double* size) {
    const int64_t whole = std::clamp<int64_t>(std::llround(static_cast<double>(a) / static_cast<double>(b)), 1, all);
    const int64_t before = (all - whole) / 2;
    *begin = static_cast<double>(before);
    *size = static_cast<double>(whole);
  };
  if (target.resize == Resize::crop && wider) {
    middle_of(width, height * target.width, target.height, &shown[0][0], &shown[0][1]);
  } else if (target.resize == Resize::crop) {
    middle_of(height, width * target.height, target.width, &shown[1][0], &shown[1][1]);
  } else if (target.resize == Resize::pad && wider) {
    middle_of(target.height, height * target.width, width, &place[1][0], &place[1][1]);
  } else if (target.resize == Resize::pad) {
    middle_of(target.width, width * target.height, height, &place[0][0], &place[0][1]);
  }
  // The pixel of the target at `i`, as a place in `from`.
  const auto source = [&](int axis, int64_t i, int64_t size) {
    const double middle = (static_cast<double>(i) - place[axis][0] + 0.5) / place[axis][1];
    const double at = (shown[axis][0] + middle * shown[axis][1]) / static_cast<double>(reduction) - 0.5;
    return std::clamp(at, 0.0, static_cast<double>(size - 1));
  };
  std::vector<double> out(static_cast<size_t>(target.channels * target.height * target.width));
  for (int64_t channel = 0; channel < target.channels; ++channel) {
    for (int64_t y = 0; y < target.height; ++y) {
      for (int64_t x = 0; x < target.width; ++x) {
        const auto is_in = [&](int axis, int64_t i) {
          return static_cast<double>(i) >= place[axis][0] && static_cast<double>(i) < place[axis][0] + place[axis][1];
        };
        if (!is_in(0, x) || !is_in(1, y)) continue;
        const double u = source(0, x, from.width), v = source(1, y, from.height);
        const auto left = static_cast<int64_t>(u), top = static_cast<int64_t>(v);
        const int64_t right = std::min(left + 1, from.width - 1), bottom = std::min(top + 1, from.height - 1);
        const double a = u - static_cast<double>(left), b = v - static_cast<double>(top);
        out[static_cast<size_t>((channel * target.height + y) * target.width + x)] =
            (1 - b) * ((1 - a) * from.at(left, top, channel) + a * from.at(right, top, channel)) +
            b * ((1 - a) * from.at(left, bottom, channel) + a * from.at(right, bottom, channel));
      }
    }
  }
  return out;
}

// The planes that decode_picture() should give of a picture that has the target's size.
inline std::vector<uint8_t> planes(const Pixels& pixels) {
  std::vector<uint8_t> out;
  for (int64_t channel = 0; channel < pixels.channels; ++channel) {
    for (int64_t y = 0; y < pixels.height; ++y) {
      for (int64_t x = 0; x < pixels.width; ++x) out.push_back(pixels.at(x, y, channel));
    }
  }
  return out;
}

// What decode_picture() gives, or why it does not.
struct DecodedPicture {
  std::string wrong;
  std::vector<uint8_t> planes;
  bool operator==(const DecodedPicture&) const = default;
};

inline DecodedPicture decode(std::string_view file, const PictureTarget& target, PictureMemory& memory) {
  // Bytes of its own, so that a sanitizer sees what is read beyond them.
  const std::vector<char> bytes(file.begin(), file.end());
  DecodedPicture out;
  out.planes.assign(static_cast<size_t>(target.channels * target.height * target.width), 99);
  out.wrong = decode_picture({bytes.data(), bytes.size()}, target, memory, out.planes.data());
  if (!out.wrong.empty()) out.planes.clear();
  return out;
}
inline DecodedPicture decode(std::string_view file, const PictureTarget& target) {
  PictureMemory memory;
  return decode(file, target, memory);
}

inline PictureTarget target_of(int64_t channels, int64_t height, int64_t width, Resize resize = Resize::crop) {
  PictureTarget out;
  out.channels = channels;
  out.height = height;
  out.width = width;
  out.resize = resize;
  return out;
}

#ifdef MILLRACE_HAS_JPEG

struct JpegOptions {
  int quality = 90;
  bool progressive = false;
  bool subsampled = false;  // colour at half the width and height
  bool in_scans = false;    // not progressive, but a scan for each channel
  bool arithmetic = false;  // another code
  std::string app1 = {};    // the content of a marker APP1
};

// 1 channel: grey, 3: colour, 4: CMYK.
inline std::string jpeg_of(const Pixels& pixels, const JpegOptions& options = {}) {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = static_cast<JDIMENSION>(pixels.width);
  info.image_height = static_cast<JDIMENSION>(pixels.height);
  info.input_components = static_cast<int>(pixels.channels);
  info.in_color_space = pixels.channels == 1 ? JCS_GRAYSCALE : pixels.channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, options.quality, TRUE);
  if (options.progressive) jpeg_simple_progression(&info);
  info.arith_code = options.arithmetic ? TRUE : FALSE;
  for (int i = 0; i < info.num_components && !options.subsampled; ++i) {
    info.comp_info[i].h_samp_factor = info.comp_info[i].v_samp_factor = 1;
  }
  jpeg_scan_info scans[3] = {};
  if (options.in_scans) {
    for (int i = 0; i < 3; ++i) {
      scans[i].comps_in_scan = 1;
      scans[i].component_index[0] = i;
      scans[i].Se = 63;
    }
    info.scan_info = scans;
    info.num_scans = 3;
  }
  jpeg_start_compress(&info, TRUE);
  if (!options.app1.empty()) {
    jpeg_write_marker(&info, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(options.app1.data()),
                      static_cast<unsigned>(options.app1.size()));
  }
  while (info.next_scanline < info.image_height) {
    JSAMPROW line = const_cast<JSAMPROW>(pixels.values.data() +
                                         static_cast<int64_t>(info.next_scanline) * pixels.width * pixels.channels);
    jpeg_write_scanlines(&info, &line, 1);
  }
  jpeg_finish_compress(&info);
  std::string out(reinterpret_cast<const char*>(bytes), size);
  jpeg_destroy_compress(&info);
  std::free(bytes);
  return out;
}

// What libjpeg gives with its defaults, at 1 / `reduction` of the size.
inline Pixels plain_jpeg(std::string_view file, int64_t channels, int reduction = 1) {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  info.scale_num = 1;
  info.scale_denom = static_cast<unsigned>(reduction);
  jpeg_start_decompress(&info);
  Pixels out{info.output_width, info.output_height, channels, {}};
  out.values.resize(static_cast<size_t>(out.width * out.height * channels));
  while (info.output_scanline < info.output_height) {
    JSAMPROW line = out.values.data() + static_cast<int64_t>(info.output_scanline) * out.width * channels;
    jpeg_read_scanlines(&info, &line, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return out;
}

#endif

#ifdef MILLRACE_HAS_PNG

struct PngOptions {
  int bits = 8;  // of a channel; fewer than 8 for grey only
  bool interlaced = false;
  std::vector<uint8_t> palette = {};      // red, green, blue of each; the pixels are numbers then
  std::vector<uint8_t> transparent = {};  // the alphas of the palette's first colours
  std::string exif = {};
};

// 1 channel: grey, 2: grey and alpha, 3: colour, 4: colour and alpha. With 16 bits each value is its own high and low
// byte.
inline std::string png_of(const Pixels& pixels, const PngOptions& options = {}) {
  std::string out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &out,
      [](png_structp writer, png_bytep bytes, size_t count) {
        static_cast<std::string*>(png_get_io_ptr(writer))->append(reinterpret_cast<const char*>(bytes), count);
      },
      [](png_structp) {});
  constexpr int kTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                            PNG_COLOR_TYPE_RGB_ALPHA};
  const int type = options.palette.empty() ? kTypes[pixels.channels - 1] : PNG_COLOR_TYPE_PALETTE;
  png_set_IHDR(png, info, static_cast<png_uint_32>(pixels.width), static_cast<png_uint_32>(pixels.height), options.bits,
               type, options.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> colours;
  for (size_t i = 0; i + 2 < options.palette.size(); i += 3) {
    colours.push_back({options.palette[i], options.palette[i + 1], options.palette[i + 2]});
  }
  if (!colours.empty()) png_set_PLTE(png, info, colours.data(), static_cast<int>(colours.size()));
  if (!options.transparent.empty()) {
    png_set_tRNS(png, info, options.transparent.data(), static_cast<int>(options.transparent.size()), nullptr);
  }
  if (!options.exif.empty()) {
    std::string exif = options.exif;
    png_set_eXIf_1(png, info, static_cast<png_uint_32>(exif.size()), reinterpret_cast<png_bytep>(exif.data()));
  }
  png_write_info(png, info);
  if (options.bits < 8) png_set_packing(png);
  std::vector<png_bytep> lines;
  std::vector<uint8_t> values;
  for (const uint8_t value : pixels.values) values.insert(values.end(), options.bits == 16 ? 2 : 1, value);
  const size_t line_bytes = values.size() / static_cast<size_t>(pixels.height);
  for (int64_t y = 0; y < pixels.height; ++y) lines.push_back(values.data() + static_cast<size_t>(y) * line_bytes);
  png_write_image(png, lines.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return out;
}

#endif

// EXIF data that say only the orientation.
inline std::string exif_of(int orientation, bool big_endian = false) {
  using namespace std::string_literals;
  const char value = static_cast<char>(orientation);
  if (big_endian) return "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0"s + value + "\0\0\0\0\0\0"s;
  return "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0"s + value + "\0\0\0\0\0\0\0"s;
}

// The same as JPEG files have it in their marker APP1.
inline std::string app1_of(int orientation) {
  using namespace std::string_literals;
  return "Exif\0\0"s + exif_of(orientation);
}

}  // namespace millrace::testing_support
