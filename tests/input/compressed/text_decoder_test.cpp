#include "millrace/input/compressed/text_decoder.h"

#include <gtest/gtest.h>

#include <vector>

#include "millrace/input/files/stream_file.h"
#include "tests/input/compressed/decoding.h"
#include "tests/input/op_testing.h"

#ifdef MILLRACE_TESTS_COMPRESSED

namespace millrace {
namespace {

using testing_support::compressed_kinds;
using testing_support::CountedFile;
using testing_support::decode_all;
using testing_support::Decoded;
using testing_support::entry_of;
using testing_support::error_of;
using testing_support::gzip_of;
using testing_support::numbers_text;
using testing_support::zstd_of;

Compression kind_of(const std::string& bytes) { return compression_of(bytes); }

TEST(TextDecoder, GivesTheTextOfEveryKindInPiecesOfAnySize) {
  const std::string text = numbers_text(200000);
  for (const auto& [name, compress] : compressed_kinds()) {
    const std::string bytes = compress(text);
    for (const size_t piece : {1000000u, 65536u, 4093u, 100u}) {
      const Decoded got = decode_all(bytes, piece);
      EXPECT_EQ(got.error, "") << name;
      EXPECT_EQ(got.text, text) << name << ' ' << piece;
      EXPECT_EQ(got.at, bytes.size()) << name;
    }
    EXPECT_EQ(decode_all(compress(""), 100).text, "") << name;
    EXPECT_EQ(decode_all(compress("1"), 100).text, "1") << name;
  }
}

TEST(TextDecoder, SkipsToAnyPlaceAndCanBeUsedAgain) {
  const std::string text = numbers_text(300000);
  for (const auto& [name, compress] : compressed_kinds()) {
    const std::string bytes = compress(text);
    const CountedFile raw(bytes);
    const auto decoder = make_decoder(kind_of(bytes), "f");
    for (const uint64_t to :
         {uint64_t{0}, uint64_t{1}, uint64_t{99999}, uint64_t{text.size() - 1}, uint64_t{text.size()}}) {
      decoder->start({.entry = entry_of("f", bytes.size()), .end = bytes.size(), .most_window = 1 << 27}, {});
      while (decoder->skip(raw, to)) {
      }
      EXPECT_EQ(decoder->text(), to) << name;
      std::string some(100, ' ');
      some.resize(decoder->read(raw, some.data(), some.size()));
      EXPECT_EQ(some, text.substr(to, some.size())) << name;
      EXPECT_EQ(some.empty(), to == text.size()) << name;
    }
    while (decoder->skip(raw, text.size() + 1000)) {
    }
    EXPECT_EQ(decoder->text(), text.size()) << name << ": the text ends there";
  }
}

// All text before the error comes first, whatever is asked for at once.
TEST(TextDecoder, SaysWhereAFileWasCutOff) {
  const std::string text = numbers_text(30000);
  for (const auto& [name, compress] : compressed_kinds()) {
    const std::string bytes = compress(text);
    for (size_t cut = kMagicBytes; cut < bytes.size(); cut += 64) {
      const std::string part = bytes.substr(0, cut);
      if (kind_of(part) == Compression::none) continue;
      const Decoded whole = decode_all(part, 1 << 20), bits = decode_all(part, 1000);
      EXPECT_EQ(whole.text, text.substr(0, whole.text.size())) << name << ' ' << cut;
      EXPECT_EQ(bits.text, whole.text) << name << ' ' << cut;
      EXPECT_EQ(bits.error, whole.error) << name << ' ' << cut;
      if (whole.error.empty()) continue;  // between two members or frames
      EXPECT_NE(whole.error.find("f: the compressed data end too early, at byte "), std::string::npos)
          << name << ' ' << cut << ": " << whole.error;
    }
  }
}

TEST(TextDecoder, ADamagedFileIsAnErrorOrHasTheSameText) {
  const std::string text = numbers_text(20000);
  for (const auto& [name, compress] : compressed_kinds()) {
    const std::string bytes = compress(text);
    for (uint64_t i = 0; i < 400; ++i) {
      std::string damaged = bytes;
      const size_t at = 4 + philox64(1, 1, i) % (bytes.size() - 4);
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << philox64(1, 2, i) % 8);
      const Decoded whole = decode_all(damaged, 1 << 20), bits = decode_all(damaged, 777);
      EXPECT_EQ(bits.text, whole.text) << name << ' ' << at;
      EXPECT_EQ(bits.error.empty(), whole.error.empty()) << name << ' ' << at;
      // Some frames have no checksum.
      const bool checked = std::string(name).find("without") == std::string::npos && name[0] != 'f';
      if (whole.error.empty() && checked) {
        EXPECT_EQ(whole.text, text) << name << ' ' << at << ": what the text does not depend on, such as a time";
      }
      if (!whole.error.empty()) {
        EXPECT_EQ(whole.error.find("f: "), 0u) << whole.error;
        EXPECT_NE(whole.error.find(" byte "), std::string::npos) << whole.error;
      }
    }
  }
}

TEST(TextDecoder, AnErrorStaysUntilItStartsAgain) {
  const std::string bytes = gzip_of(numbers_text(1000));
  const CountedFile raw(bytes.substr(0, bytes.size() - 1));
  const auto decoder = make_decoder(Compression::gzip, "f");
  const CompressedBytes all = {.entry = entry_of("f", bytes.size() - 1), .end = bytes.size() - 1};
  decoder->start(all, {});
  std::string text(2000, ' ');
  size_t got = 0;
  const auto read_on = [&] { got += decoder->read(raw, text.data() + got, text.size() - got); };
  const std::string first = error_of([&] {
    for (;;) read_on();
  });
  EXPECT_GE(got, 1000u);
  EXPECT_TRUE(decoder->failed());
  EXPECT_EQ(error_of(read_on), first);
  decoder->start(all, {});
  EXPECT_FALSE(decoder->failed());
  EXPECT_GT(decoder->read(raw, text.data(), 10), 0u);
}

TEST(TextDecoder, ReadsAFileToTheSizeThatItHad) {
  const std::string text = numbers_text(100000), bytes = gzip_of(text);
  const auto decoder = make_decoder(Compression::gzip, "f");
  std::string got(text.size() + 10, ' ');
  const auto read_all = [&](const std::string& now, uint64_t size) {
    const CountedFile raw(now);
    decoder->start({.entry = entry_of("f", size), .end = size}, {});
    size_t done = 0;
    while (const size_t some = decoder->read(raw, got.data() + done, got.size() - done)) done += some;
    return done;
  };
  EXPECT_EQ(read_all(bytes + "more", bytes.size()), text.size()) << "what was added is not read";
  EXPECT_EQ(error_of([&] { read_all(bytes.substr(0, 5000), bytes.size()); }),
            cat("f: the file is shorter than when the run began: expected ", bytes.size(),
                " bytes, got 5000; do not write to input files while they are read"));
}

// A record's end costs little, and a whole file is read in large pieces.
TEST(TextDecoder, ReadsLittleAtFirst) {
  const std::string bytes = gzip_of(numbers_text(1000000));
  const CountedFile raw(bytes);
  const auto decoder = make_decoder(Compression::gzip, "f");
  decoder->start({.entry = entry_of("f", bytes.size()), .end = bytes.size()}, {});
  char some[100];
  EXPECT_EQ(decoder->read(raw, some, sizeof some), sizeof some);
  EXPECT_LE(raw.bytes_read(), 8192u);
  while (decoder->skip(raw, 1 << 20)) {
  }
  EXPECT_LE(raw.bytes_read(), bytes.size() + 1) << "nothing is read twice";
}

}  // namespace
}  // namespace millrace

#endif
