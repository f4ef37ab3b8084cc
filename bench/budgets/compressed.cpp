// Compressed text through the whole input path, against each library's own loop over the same file on one thread.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bench/budgets/budget.h"
#include "bench/budgets/data.h"
#include "bench/budgets/input_path.h"
#include "millrace/core/text.h"

#if defined(MILLRACE_HAS_ZLIB) && defined(MILLRACE_HAS_LIBDEFLATE) && defined(MILLRACE_HAS_ZSTD)
#include <libdeflate.h>
#include <zlib.h>
#include <zstd.h>

namespace millrace::bench {

namespace {

constexpr size_t kPiece = 262144, kBlock = 65280;

std::string contents(const std::string& path) {
  std::string out(std::filesystem::file_size(path), ' ');
  std::ifstream(path, std::ios::binary).read(out.data(), static_cast<std::streamsize>(out.size()));
  return out;
}

// Members or blocks of a gzip file; `block` bytes of text each.
std::string gzip(const std::string& text, size_t block, bool bgzf) {
  std::string out;
  for (size_t at = 0; at < text.size(); at += block) {
    const size_t bytes = std::min(block, text.size() - at);
    z_stream stream{};
    deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
    gz_header header{};
    unsigned char extra[6] = {'B', 'C', 2, 0, 0, 0};
    header.extra = extra;
    header.extra_len = sizeof extra;
    if (bgzf) deflateSetHeader(&stream, &header);
    const size_t begin = out.size();
    out.resize(begin + deflateBound(&stream, static_cast<uLong>(bytes)) + 64);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data() + at));
    stream.avail_in = static_cast<uInt>(bytes);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + begin);
    stream.avail_out = static_cast<uInt>(out.size() - begin);
    deflate(&stream, Z_FINISH);
    out.resize(begin + stream.total_out);
    deflateEnd(&stream);
    if (!bgzf) continue;
    const size_t size = out.size() - begin - 1;
    out[begin + 16] = static_cast<char>(size & 0xff);
    out[begin + 17] = static_cast<char>(size >> 8);
  }
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), ' ');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

// Made once.
template <class Compress>
std::string packed_file(const Setting& setting, const char* ending, const Compress& compress) {
  const std::string plain = data_file(setting.folder), path = plain + ending;
  if (!std::filesystem::exists(path)) std::ofstream(path, std::ios::binary) << compress(contents(plain));
  return path;
}

void zlib_loop(const std::string& path) {
  const std::string bytes = contents(path);
  std::string piece(kPiece, ' ');
  z_stream stream{};
  inflateInit2(&stream, MAX_WBITS + 16);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  int code = Z_OK;
  while (code == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    code = inflate(&stream, Z_NO_FLUSH);
  }
  inflateEnd(&stream);
}

void libdeflate_loop(const std::string& path) {
  const std::string bytes = contents(path);
  std::string block(65536, ' ');
  libdeflate_decompressor* const decompressor = libdeflate_alloc_decompressor();
  for (size_t at = 0, used = 0, made = 0; at < bytes.size(); at += used) {
    if (libdeflate_gzip_decompress_ex(decompressor, bytes.data() + at, bytes.size() - at, block.data(), block.size(),
                                      &used, &made) != LIBDEFLATE_SUCCESS) {
      break;
    }
  }
  libdeflate_free_decompressor(decompressor);
}

void zstd_loop(const std::string& path) {
  const std::string bytes = contents(path);
  std::string piece(kPiece, ' ');
  ZSTD_DCtx* const context = ZSTD_createDCtx();
  ZSTD_inBuffer in = {bytes.data(), bytes.size(), 0};
  for (size_t left = 1; left > 0 && ZSTD_isError(left) == 0;) {
    ZSTD_outBuffer out = {piece.data(), piece.size(), 0};
    left = ZSTD_decompressStream(context, &out, &in);
  }
  ZSTD_freeDCtx(context);
}

Ratio path_over(const Setting& setting, const std::string& path, void (*loop)(const std::string&)) {
  if (Executor::available_threads() < 2) throw Skip{"not so many processors"};
  const Spec list = input_list({.files = path});
  Executor executor(2);
  return inverse(compare(
      setting.rounds, [&] { return timed(wall_seconds, [&] { loop(path); }); },
      [&] { return timed(wall_seconds, [&] { read_all(executor, list); }); }));
}

Ratio gzip_over_zlib(const Setting& setting) {
  const auto whole = [](const std::string& text) { return gzip(text, text.size(), false); };
  return path_over(setting, packed_file(setting, ".gz", whole), zlib_loop);
}

Ratio bgzf_over_libdeflate(const Setting& setting) {
  const auto blocks = [](const std::string& text) { return gzip(text, kBlock, true); };
  return path_over(setting, packed_file(setting, ".bgz", blocks), libdeflate_loop);
}

Ratio zstd_over_zstd(const Setting& setting) {
  return path_over(setting, packed_file(setting, ".zst", zstd), zstd_loop);
}

}  // namespace

void add_compressed_budgets(Budgets& out) {
  out.push_back(
      {"compressed/gzip", "speed of the input path on 2 threads over zlib's loop", 0.9, true, gzip_over_zlib});
  out.push_back({"compressed/bgzf", "speed of the input path on 2 threads over libdeflate's loop", 0.9, true,
                 bgzf_over_libdeflate});
  out.push_back(
      {"compressed/zstd", "speed of the input path on 2 threads over zstd's loop", 0.9, true, zstd_over_zstd});
}

}  // namespace millrace::bench

#else

namespace millrace::bench {

void add_compressed_budgets(Budgets&) {}

}  // namespace millrace::bench

#endif
