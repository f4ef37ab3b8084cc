#include "millrace/input/compressed/inflated_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "millrace/input/files/stream_file.h"
#include "tests/input/compressed/compressing.h"
#include "tests/input/op_testing.h"

#ifdef MILLRACE_TESTS_COMPRESSED

namespace millrace {
namespace {

using ::testing::HasSubstr;
using testing_support::bgzf_of;
using testing_support::compressed_kinds;
using testing_support::CountedFile;
using testing_support::deflated;
using testing_support::entry_of;
using testing_support::error_of;
using testing_support::gzip_of;
using testing_support::numbers_text;
using testing_support::zstd_of;

class InflatedFileTest : public ::testing::Test {
 protected:
  CompressedText& use(const std::string& bytes) {
    raw_ = std::make_shared<CountedFile>(bytes);
    text_.reset();
    shared_.emplace();  // its decoders know the text by its address
    text_ = std::make_unique<CompressedText>(CompressedBytes{.entry = entry_of("f", bytes.size()), .end = bytes.size()},
                                             compression_of(bytes), *shared_, *raw_);
    return *text_;
  }
  InflatedFile file(std::optional<TextRange> range = {}) { return {*text_, raw_, std::move(range)}; }
  static std::string read(const File& from, uint64_t offset, size_t bytes) {
    std::string out(bytes, ' ');
    size_t done = 0;
    while (const size_t got = from.read(offset + done, out.data() + done, bytes - done)) done += got;
    out.resize(done);
    return out;
  }

  std::optional<TextResources> shared_;
  std::shared_ptr<const CountedFile> raw_;
  std::unique_ptr<CompressedText> text_;
};

TEST_F(InflatedFileTest, IsReadAtAnyPlace) {
  const std::string text = numbers_text(100000);
  for (const auto& [name, compress] : compressed_kinds()) {
    use(compress(text));
    const InflatedFile all = file();
    for (uint64_t i = 0; i < 60; ++i) {
      const uint64_t at = philox64(3, 3, i) % (text.size() + 10);
      const size_t bytes = 1 + philox64(3, 4, i) % 3000;
      EXPECT_EQ(read(all, at, bytes), at < text.size() ? text.substr(at, bytes) : "") << name << ' ' << at;
    }
    EXPECT_EQ(read(all, 0, text.size() + 5), text) << name;
    EXPECT_EQ(text_->size(), text.size()) << name << ": its end was seen";
    EXPECT_EQ(all.size(), raw_->size()) << "on disk";
  }
}

// Restoring a window reads its rows in their order.
TEST_F(InflatedFileTest, ReadingOnWhereTheLastOneEndedReadsNothingTwice) {
  const std::string text = numbers_text(2000000), bytes = gzip_of(text);
  use(bytes);
  for (uint64_t at = 0; at + 100 < text.size(); at += 10000) {
    EXPECT_EQ(read(file(), at, 100), text.substr(at, 100)) << "each by another file";
  }
  EXPECT_LT(raw_->bytes_read(), bytes.size() + 1000);
}

TEST_F(InflatedFileTest, LearnsPointsOnTheWay) {
  const std::string text = numbers_text(12 << 20), bytes = gzip_of(text, {}, 1);
  use(bytes);
  EXPECT_EQ(read(file(), text.size() - 50, 100), text.substr(text.size() - 50));
  EXPECT_GE(text_->before(text.size()).text, uint64_t{8} << 20);
  const uint64_t before = raw_->bytes_read();
  EXPECT_EQ(read(file(), text.size() - 1000, 100), text.substr(text.size() - 1000, 100));
  EXPECT_LT(raw_->bytes_read() - before, bytes.size() / 2) << "from a point near it";
}

TEST_F(InflatedFileTest, DecodesARangeAsAWhole) {
  const std::string text = numbers_text(1000);
  for (const std::string& bytes : {gzip_of(text), bgzf_of(text, 100), zstd_of(text), zstd_of(text) + zstd_of("")}) {
    use(bytes);
    const TextRange all = {{}, {.text = text.size(), .at = bytes.size()}};
    EXPECT_EQ(read(file(all), 0, text.size()), text);
    EXPECT_EQ(read(file(all), 0, text.size() + 100), text) << "and what comes behind it: nothing";
    EXPECT_EQ(read(file(all), 0, 10), text.substr(0, 10)) << "or bit by bit";
    EXPECT_EQ(read(file(all), 500, 5000), text.substr(500));
    const InflatedFile both = file(all);
    EXPECT_EQ(read(both, 0, text.size()), text);
    EXPECT_EQ(read(both, 3, 3), text.substr(3, 3)) << "and go back";
  }
#ifdef MILLRACE_HAS_LIBDEFLATE
  EXPECT_TRUE(shared_->end_with_lines()) << "as it was seen";
#endif
}

TEST_F(InflatedFileTest, GoesOnBehindARange) {
  const std::string text = numbers_text(5000), a = zstd_of(text.substr(0, 2000)), b = zstd_of(text.substr(2000));
  use(a + b);
  const InflatedFile first = file(TextRange{{}, {.text = 2000, .at = a.size()}});
  EXPECT_EQ(read(first, 0, 2000), text.substr(0, 2000));
  EXPECT_EQ(read(first, 2000, 5), text.substr(2000, 5));
  EXPECT_EQ(read(first, 2005, 5000), text.substr(2005));
}

// A file may say anything about itself, and so may a saved state.
TEST_F(InflatedFileTest, ARangeMustBeAsItWasSaidToBe) {
  const std::string text = numbers_text(3000), one = gzip_of(text), two = gzip_of(text) + gzip_of("1\n");
  const std::string wrong = "are not what they should be; is the file damaged, or was it changed meanwhile?";
  const auto error_for = [&](const std::string& bytes, uint64_t text_end, uint64_t end) {
    use(bytes);
    return error_of([&] {
      read(file(TextRange{{}, {.text = text_end, .at = end}}), 0, static_cast<size_t>(text_end));
    });
  };
  EXPECT_EQ(error_for(one, text.size(), one.size()), "no error");
  EXPECT_THAT(error_for(one, text.size() - 1, one.size()), HasSubstr(wrong)) << "more text";
  EXPECT_THAT(error_for(one, text.size() + 1, one.size()), HasSubstr(wrong)) << "less";
  EXPECT_THAT(error_for(two, text.size(), two.size()), HasSubstr(wrong)) << "another member";
  EXPECT_THAT(error_for(two, text.size() + 2, one.size()), HasSubstr(wrong));
  EXPECT_THAT(error_for(zstd_of(text), text.size() - 1, zstd_of(text).size()), HasSubstr(wrong));
  EXPECT_THAT(error_for(one.substr(0, one.size() / 2), text.size(), one.size() / 2),
              HasSubstr("the compressed data end too early"));
}

TEST_F(InflatedFileTest, TheTextOfARangeComesBeforeItsError) {
  const std::string text = numbers_text(3000);
  std::string bytes = gzip_of(text);
  bytes[bytes.size() - 5] = static_cast<char>(bytes[bytes.size() - 5] ^ 1);
  use(bytes);
  const InflatedFile range = file(TextRange{{}, {.text = text.size(), .at = bytes.size()}});
  std::string got(text.size(), ' ');
  EXPECT_EQ(range.read(0, got.data(), got.size()), text.size() - 1);
  EXPECT_EQ(got.substr(0, text.size() - 1), text.substr(0, text.size() - 1));
  const auto last = [&] { static_cast<void>(range.read(text.size() - 1, got.data(), 1)); };
  EXPECT_THAT(error_of(last), HasSubstr("f: the gzip member has another checksum"));
  EXPECT_THAT(error_of(last), HasSubstr("f: the gzip member has another checksum")) << "again";
}

TEST_F(InflatedFileTest, ARangeBetweenTwoPointsIsCheckedByItsChecksum) {
  const std::string text = numbers_text(10 << 20);
  use(gzip_of(text, {}, 1));
  read(file(), text.size(), 1);
  const TextPoint from = text_->before(5 << 20), to = text_->before(9 << 20);
  ASSERT_TRUE(from.window);
  ASSERT_GT(to.text, from.text);
  const auto bytes = static_cast<size_t>(to.text - from.text);
  EXPECT_EQ(read(file(TextRange{from, to}), from.text, bytes), text.substr(from.text, bytes));
  EXPECT_EQ(read(file(TextRange{from, to}), from.text, bytes + 9), text.substr(from.text, bytes + 9));
  TextPoint lie = from;
  lie.crc ^= 7;
  EXPECT_NE(error_of([&] { read(file(TextRange{lie, to}), from.text, bytes); }), "no error");
}

TEST_F(InflatedFileTest, AllTextBeforeAnErrorComesFirst) {
  const std::string text = numbers_text(500000);  // a block of zstd has 128 KiB
  for (const auto& [name, compress] : compressed_kinds()) {
    const std::string bytes = compress(text);
    use(bytes.substr(0, bytes.size() * 2 / 3));
    for (const size_t piece : {size_t{1} << 20, size_t{1000}}) {
      const InflatedFile all = file();
      std::string got, some(piece, ' ');
      const std::string error = error_of([&] {
        while (const size_t count = all.read(got.size(), some.data(), piece)) got.append(some, 0, count);
      });
      EXPECT_EQ(got, text.substr(0, got.size())) << name;
      EXPECT_GT(got.size(), text.size() / 10) << name;
      EXPECT_EQ(error_of([&] { static_cast<void>(all.read(got.size(), some.data(), 1)); }), error) << "again";
    }
  }
}

TEST(UnpackedFile, IsReadByAnyThread) {
  const std::string text = numbers_text(300000);
  for (const auto& [name, compress] : compressed_kinds()) {
    const std::string bytes = "before" + compress(text);
    const auto raw = std::make_shared<const CountedFile>(bytes);
    const UnpackedFile file({.open = [raw] { return raw; },
                             .path = "f",
                             .kind = compression_of(bytes.substr(6)),
                             .begin = 6,
                             .end = bytes.size()});
    std::vector<std::jthread> threads;
    for (uint64_t thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (uint64_t i = 0; i < 30; ++i) {
          std::string got(5000, ' ');
          const uint64_t at = philox64(9, thread, i) % text.size();
          got.resize(file.read(at, got.data(), got.size()));
          EXPECT_EQ(got, text.substr(at, 5000)) << name;
        }
      });
    }
    threads.clear();
    EXPECT_EQ(file.size(), text.size()) << name;
    EXPECT_EQ(file.read(text.size(), nullptr, 0), 0u);
  }
}

TEST(UnpackedFile, IsReadFromAZipArchive) {
  const std::string text = numbers_text(200000), packed = deflated(text), bytes = "head" + packed + "tail";
  const auto raw = std::make_shared<const CountedFile>(bytes);
  const auto unpacked = [&](uint64_t end) {
    return UnpackedFile(
        {.open = [raw] { return raw; }, .path = "f.npz", .kind = Compression::deflate, .begin = 4, .end = end});
  };
  std::string got(text.size() + 100, ' ');
  const UnpackedFile whole = unpacked(4 + packed.size());
  EXPECT_EQ(whole.size(), text.size());
  EXPECT_EQ(whole.read(0, got.data(), got.size()), text.size());
  EXPECT_EQ(got.substr(0, text.size()), text);
  EXPECT_EQ(whole.read(text.size() - 5, got.data(), got.size()), 5u);
  EXPECT_EQ(whole.read(text.size() + 5, got.data(), got.size()), 0u);
  const UnpackedFile cut = unpacked(4 + packed.size() / 2);
  EXPECT_THAT(error_of([&] { static_cast<void>(cut.read(text.size() - 1, got.data(), 1)); }),
              HasSubstr("f.npz: the compressed data end too early"));
}

TEST(Inflated, IsTheFileItselfIfItIsNotCompressed) {
  const auto plain = std::make_shared<const CountedFile>("1,2\n");
  EXPECT_EQ(inflated(plain, "f"), plain);
  const auto packed = std::make_shared<const CountedFile>(zstd_of("1,2\n"));
  const auto text = inflated(packed, "f");
  char got[10];
  EXPECT_EQ(text->read(0, got, sizeof got), 4u);
  EXPECT_EQ(std::string(got, 4), "1,2\n");
}

}  // namespace
}  // namespace millrace

#endif
