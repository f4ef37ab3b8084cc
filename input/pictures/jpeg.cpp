// decode_jpeg(): the only file that sees libjpeg.
#include "millrace/core/text.h"
#include "millrace/input/pictures/exif.h"
#include "millrace/input/pictures/picture.h"

#ifdef MILLRACE_HAS_JPEG

#include <algorithm>
#include <cstdio>

#include <jpeglib.h>  // needs <cstdio> before it

#include "millrace/input/pictures/library_jump.h"

namespace millrace {

namespace {

// A file of many scans takes long for its size: each goes over the whole picture. Encoders make about ten.
constexpr int kMostScans = 100;

struct JpegErrors {
  jpeg_error_mgr manager = {};
  jpeg_progress_mgr progress = {};
  LibraryJump jump;
  // Whether a warning makes the picture bad, too: pixels are missing or made up then. Those about its head are about
  // the versions of markers.
  bool strict = false;
};

JpegErrors& errors_of(j_common_ptr info) { return *static_cast<JpegErrors*>(info->client_data); }

[[noreturn]] void end_jpeg(j_common_ptr info) {
  char text[JMSG_LENGTH_MAX];
  info->err->format_message(info, text);
  errors_of(info).jump.leave(text);
}

void hear_jpeg(j_common_ptr info, int level) {
  if (level < 0 && errors_of(info).strict) end_jpeg(info);
}

void say_nothing(j_common_ptr) {}

void count_scans(j_common_ptr info) {
  const bool many = reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMostScans;
  if (many) errors_of(info).jump.leave("it has more scans than any encoder makes");
}

// One file, which is decoded once. Nothing is kept for the next: a file without tables of its own would be decoded with
// those of the one before.
class JpegFile {
 public:
  JpegFile() {
    info_.err = jpeg_std_error(&errors_.manager);
    info_.client_data = &errors_;
    errors_.manager.error_exit = end_jpeg;
    errors_.manager.emit_message = hear_jpeg;
    errors_.manager.output_message = say_nothing;
    errors_.progress.progress_monitor = count_scans;
  }
  ~JpegFile() { jpeg_destroy_decompress(&info_); }
  JpegFile(const JpegFile&) = delete;
  JpegFile& operator=(const JpegFile&) = delete;

  std::string decode(std::string_view file, const PictureTarget& target, PictureScaler& scaler, uint8_t* to) {
    const bool opened = errors_.jump.calls([&] {
      jpeg_create_decompress(&info_);
      info_.progress = &errors_.progress;
      jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(file.data()), file.size());
      jpeg_read_header(&info_, TRUE);
    });
    if (!opened) return failure();
    const StoredPicture picture = {info_.image_width, info_.image_height, jpeg_orientation(file)};
    if (std::string wrong = refusal(target, picture); !wrong.empty()) return wrong;
    const int reduction = reduction_of(target, picture);
    info_.out_color_space = target.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    info_.dct_method = JDCT_ISLOW;
    info_.scale_num = 1;
    info_.scale_denom = static_cast<unsigned>(reduction);
    scaler.begin(target, picture, reduction, to);
    errors_.strict = true;
    return errors_.jump.calls([&] { read_lines(scaler); }) ? std::string() : failure();
  }

 private:
  std::string failure() const { return cat("cannot decode the JPEG picture: ", errors_.jump.text); }

  std::string refusal(const PictureTarget& target, const StoredPicture& picture) {
    const J_COLOR_SPACE colours = info_.jpeg_color_space;
    if (colours == JCS_CMYK || colours == JCS_YCCK) return "the picture is CMYK, expected RGB or grey";
    // Its decoder makes pixels up, without a warning, where the data end: a huge picture of nothing would take minutes.
    if (info_.arith_code != 0) return "the picture is coded arithmetically, expected the usual codes of Huffman";
    if (picture.width * picture.height > kMostPixels) return too_large(picture);
    const bool whole = jpeg_has_multiple_scans(&info_) != 0;
    return whole && picture.width * picture.height > target.max_pixels
               ? too_many_pixels(picture, info_.progressive_mode != 0 ? "progressive" : "has several scans")
               : std::string();
  }

  // Where the columns are known to come out the same, only those that are shown are decoded. Returns the first.
  int64_t leave_columns_out([[maybe_unused]] const PictureScaler& scaler) {
#ifdef LIBJPEG_TURBO_VERSION_NUMBER
    // Not lossless JPEG, which has no coefficients: it cannot be cut. Some versions cut reduced pictures wrongly.
    const bool usual = info_.num_components == 3 && jpeg_has_multiple_scans(&info_) == 0 && info_.Se == DCTSIZE2 - 1;
    if (!usual || info_.scale_denom != 1) return 0;
    // A pixel's colour depends on the samples of colour beside its own.
    const int64_t margin = int64_t{2} * info_.max_h_samp_factor;
    const int64_t begin = std::max<int64_t>(scaler.shown_begin() - margin, 0);
    const int64_t end = std::min(scaler.shown_end() + margin, scaler.width());
    auto first = static_cast<JDIMENSION>(begin), width = static_cast<JDIMENSION>(end - begin);
    jpeg_crop_scanline(&info_, &first, &width);
    return first;
#else
    return 0;
#endif
  }

  void read_lines(PictureScaler& scaler) {
    jpeg_start_decompress(&info_);
    if (info_.output_width != scaler.width() || info_.output_height != scaler.lines()) {
      errors_.jump.leave("it is of a kind that cannot be reduced");  // such as lossless JPEG
    }
    const int64_t begin = leave_columns_out(scaler) * info_.output_components;
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW line = scaler.line() + begin;
      jpeg_read_scanlines(&info_, &line, 1);
      scaler.add_line();
    }
    jpeg_finish_decompress(&info_);
  }

  jpeg_decompress_struct info_ = {};
  JpegErrors errors_;
};

}  // namespace

std::string decode_jpeg(std::string_view file, const PictureTarget& target, PictureMemory& memory, uint8_t* to) {
  return JpegFile().decode(file, target, memory.scaler, to);
}

}  // namespace millrace

#else

namespace millrace {

std::string decode_jpeg(std::string_view, const PictureTarget&, PictureMemory&, uint8_t*) {
  return "JPEG is not in this build: install libjpeg62-turbo-dev and build again";
}

}  // namespace millrace

#endif
