// Folders of pictures to pixels, on all threads: image_folder and decode_image, scaling included, against a loop that
// only reads the files and decodes them by libjpeg. The files are in the page cache.
#include "bench/budgets/budget.h"
#include "millrace/core/text.h"

#ifdef MILLRACE_HAS_JPEG

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <jpeglib.h>  // needs <cstdio> before it

#include "bench/budgets/input_path.h"
#include "millrace/core/random.h"
#include "millrace/core/threads/executor.h"
#include "millrace/trainer/files/yaml.h"

namespace millrace::bench {

namespace {

constexpr int kPictures = 600, kClasses = 3;
constexpr int kWidth = 500, kHeight = 375;  // as most of ImageNet

std::string jpeg_of(const std::vector<uint8_t>& pixels) {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = kWidth;
  info.image_height = kHeight;
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 90, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW line = const_cast<JSAMPROW>(pixels.data()) + size_t{info.next_scanline} * kWidth * 3;
    jpeg_write_scanlines(&info, &line, 1);
  }
  jpeg_finish_compress(&info);
  std::string out(reinterpret_cast<const char*>(bytes), size);
  jpeg_destroy_compress(&info);
  std::free(bytes);
  return out;
}

// Slow waves under a little noise take about as many bytes as photographs.
std::string picture(int number) {
  std::vector<uint8_t> pixels;
  for (int i = 0; i < kWidth * kHeight * 3; ++i) {
    const int x = i / 3 % kWidth, y = i / 3 / kWidth;
    const double wave = std::sin((x + 7 * number) / (11.0 + i % 3)) + std::cos((y - number) / 17.0);
    const uint64_t noise = philox64(23, static_cast<uint64_t>(number), static_cast<uint64_t>(i)) % 24;
    pixels.push_back(static_cast<uint8_t>(115 + 45 * wave + static_cast<double>(noise)));
  }
  return jpeg_of(pixels);
}

// The paths of the files, written once.
std::vector<std::string> picture_files(const std::string& folder) {
  std::vector<std::string> out;
  for (int i = 0; i < kPictures; ++i) {
    const std::string of_class = cat(folder, "/class_", i % kClasses);
    std::filesystem::create_directories(of_class);
    out.push_back(cat(of_class, '/', i, ".jpg"));
    if (!std::filesystem::exists(out.back())) std::ofstream(out.back(), std::ios::binary) << picture(i % 40);
  }
  return out;
}

void decode_bare(const std::vector<std::string>& files, std::atomic<size_t>& next) {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  // libjpeg-turbo writes a line that begins at a multiple of 32 bytes past the caches, which takes longer.
  std::vector<uint8_t> bytes(1 << 20), line(1 + kWidth * 3);
  for (size_t i = next++; i < files.size(); i = next++) {
    const int descriptor = open(files[i].c_str(), O_RDONLY | O_CLOEXEC);
    const ssize_t got = pread(descriptor, bytes.data(), bytes.size(), 0);
    close(descriptor);
    if (got <= 0) continue;
    jpeg_mem_src(&info, bytes.data(), static_cast<unsigned long>(got));
    jpeg_read_header(&info, TRUE);
    jpeg_start_decompress(&info);
    while (info.output_scanline < info.output_height) {
      JSAMPROW row = line.data() + 1;
      jpeg_read_scanlines(&info, &row, 1);
    }
    jpeg_finish_decompress(&info);
  }
  jpeg_destroy_decompress(&info);
}

Ratio pictures_over_bare(const Setting& setting) {
  const int threads = Executor::available_threads();
  const std::string folder = setting.folder + "/pictures";
  const std::vector<std::string> files = picture_files(folder);
  const Spec list =
      parse_yaml(cat("- image_folder: {dir: \"", folder, "\", epochs: 1}\n- decode_image: {size: [3, 224, 224]}\n",
                     "- batch: {batch_size: 50, threads: ", threads, "}\n"),
                 "bench");
  Executor executor(threads);
  return compare(
      setting.rounds,
      [&] {
        return timed(wall_seconds, [&] {
          std::atomic<size_t> next = 0;
          std::vector<std::thread> others;
          for (int i = 1; i < threads; ++i) others.emplace_back([&] { decode_bare(files, next); });
          decode_bare(files, next);
          for (std::thread& other : others) other.join();
        });
      },
      [&] { return timed(wall_seconds, [&] { read_all(executor, list); }); });
}

}  // namespace

void add_picture_budgets(Budgets& out) {
  out.push_back({"pictures", "500 x 375 pixels of JPEG to [3, 224, 224] over libjpeg alone, on all threads", 1.1, false,
                 pictures_over_bare});
}

}  // namespace millrace::bench

#else

namespace millrace::bench {

void add_picture_budgets(Budgets&) {}

}  // namespace millrace::bench

#endif
