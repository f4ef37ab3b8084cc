#include "millrace/trainer/files/model_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/files/atomic_file.h"
#include "millrace/trainer/files/checksum.h"
#include "millrace/trainer/files/model_header.h"
#include "millrace/trainer/files/seal.h"

namespace millrace {

static_assert(std::endian::native == std::endian::little, "model files hold this machine's own numbers");

namespace {

// Reads a file and checks it. Every fault is a DataError placed at the file.
class Reader {
 public:
  Reader(const std::string& path, const ModelReadArgs& args)
      : faults_{path, args.checkpoint}, file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (!file_) throw MissingError(cannot_read(errno_text(errno)), {path, 0, 0});
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) throw IoError(errno_text(errno), {path, 0, 0});
    if (!S_ISREG(status.st_mode)) throw MissingError(cannot_read("it is not a regular file"), {path, 0, 0});
    size_ = static_cast<uint64_t>(status.st_size);
    if (args.from_disk) (void)::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED);
  }

  void read(uint64_t offset, void* to, size_t bytes) const {
    auto* at = static_cast<char*>(to);
    while (bytes > 0) {
      const ssize_t got = ::pread(file_.get(), at, bytes, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw IoError(cannot_read(errno_text(errno)), {faults_.path, 0, 0});
      if (got == 0) throw IoError("the file became shorter while it was read", {faults_.path, 0, 0});
      at += got;
      offset += static_cast<uint64_t>(got);
      bytes -= static_cast<size_t>(got);
    }
  }

  // Gives the bytes from `begin` to `end` to take(), in pieces.
  template <class Take>
  void read_pieces(uint64_t begin, uint64_t end, const Take& take) const {
    std::vector<std::byte> piece(std::min<uint64_t>(kPiece, end - begin));
    while (begin < end) {
      const size_t bytes = std::min<uint64_t>(piece.size(), end - begin);
      read(begin, piece.data(), bytes);
      take(std::span<const std::byte>(piece).first(bytes));
      begin += bytes;
    }
  }

  // Reads the header; afterwards value_bytes() is known.
  std::string header() {
    uint64_t length = 0;
    if (size_ < kModelLengthBytes) throw faults_.error(cat("expected at least 8 bytes, got ", size_));
    read(0, &length, kModelLengthBytes);
    if (length > size_ - kModelLengthBytes) {
      const std::string& path = faults_.path;
      throw faults_.error(cat("its header claims ", length, " bytes, the file has ", size_),
                          path.ends_with(".yaml") || path.ends_with(".yml")
                              ? "a configuration makes one: trainer --config FILE --save model.safetensors"
                          : length <= kMaxModelHeader ? ModelFileFaults::kCutHint
                                                      : nullptr);
    }
    if (length > kMaxModelHeader) {
      throw faults_.error(cat("its header claims ", length, " bytes, at most ", kMaxModelHeader, " are read"));
    }
    std::string text(length, '\0');
    read(kModelLengthBytes, text.data(), length);
    value_offset_ = kModelLengthBytes + length;
    return text;
  }

  uint64_t size() const { return size_; }
  uint64_t value_offset() const { return value_offset_; }
  uint64_t value_bytes() const { return size_ - value_offset_; }
  const ModelFileFaults& faults() const { return faults_; }

 private:
  static constexpr size_t kPiece = size_t{1} << 20;

  std::string cannot_read(std::string_view why) const {
    return cat("cannot read the ", faults_.checkpoint ? "checkpoint" : "model", ": ", why);
  }

  ModelFileFaults faults_;
  Descriptor file_;
  uint64_t size_ = 0, value_offset_ = 0;
};

// Computes a file's checksum while the file is read, and compares it with the seal.
class SealCheck {
 public:
  SealCheck(const Reader& reader, std::string header) : reader_(reader) {
    const size_t at = find_seal(header);
    if (at == header.npos) return;
    expected_ = header.substr(at, kOpenSeal.size());
    header.replace(at, kOpenSeal.size(), kOpenSeal);
    const uint64_t length = header.size();
    sum_.emplace();
    sum_->update(std::as_bytes(std::span(&length, 1)));
    sum_->update(std::as_bytes(std::span(header)));
  }

  bool sealed() const { return sum_.has_value(); }
  void update(std::span<const std::byte> bytes) {
    if (sum_) sum_->update(bytes);
  }

  // Throws if the file has changed since it was sealed. REQUIRES: all values were given to update().
  void require() const {
    if (!sum_ || sum_->hex() == expected_) return;
    throw reader_.faults().error(cat("it was torn or changed after it was written: its checksum is ", expected_,
                                     ", its bytes give ", sum_->hex()));
  }

  // Like require(), but reads the values itself. REQUIRES: no value was given to update().
  void require_of_file() {
    if (!sum_) return;
    reader_.read_pieces(reader_.value_offset(), reader_.size(), [&](auto bytes) { sum_->update(bytes); });
    require();
  }

 private:
  const Reader& reader_;
  std::string expected_;
  std::optional<Checksum> sum_;
};

// Parses the header. If that fails, the seal is checked first: if the file was damaged, the error says so.
ModelHeader header_of(const Reader& reader, const std::string& text, SealCheck& seal) {
  // A sealed file may have lost its end, so its size is no limit here; check_size() finds the loss.
  const uint64_t most = seal.sealed() ? std::numeric_limits<int64_t>::max() : reader.value_bytes();
  try {
    return read_model_header(text, most, reader.faults());
  } catch (const DataError&) {
    seal.require_of_file();
    throw;
  }
}

void check_size(const Reader& reader, const ModelHeader& header, const SealCheck& seal) {
  const uint64_t needed = header.value_bytes(), there = reader.value_bytes();
  if (needed == there) return;
  const std::string counts = cat("its tensors need ", needed, " bytes of values, it has ", there);
  if (!seal.sealed()) throw reader.faults().error(counts);
  throw reader.faults().error(cat(needed > there ? "it was cut off: " : "something follows its end: ", counts));
}

// Refuses files without a seal at their beginning: files of Millrace that have a seal's keys elsewhere, and files that
// should be checkpoints.
void check_sealed(const Reader& reader, const ModelMetadata& metadata, const SealCheck& seal) {
  if (seal.sealed()) return;
  const auto has = [&](std::string_view key) { return metadata.contains(std::string(key)); };
  const auto format = metadata.find("format");
  const bool ours = format != metadata.end() && format->second == "millrace";
  if (ours && (has(kSealFormatKey) || has(kSealChecksumKey))) {
    throw reader.faults().error("it was changed after it was written: its checksum is not at its beginning");
  }
  if (reader.faults().checkpoint) {
    throw reader.faults().error("it has no checksum",
                                "a saved model is no checkpoint: the key load begins with its values");
  }
}

}  // namespace

ModelFile ModelFile::read(const std::string& path, const ModelReadArgs& args) {
  Reader reader(path, args);
  ModelFile out(path);
  const std::string text = reader.header();
  SealCheck seal(reader, text);
  ModelHeader header = header_of(reader, text, seal);
  check_sealed(reader, header.metadata, seal);
  check_size(reader, header, seal);
  out.metadata_ = std::move(header.metadata);
  for (ModelHeader::Described& one : header.tensors) {
    Entry& entry = out.entries_.emplace_back(Entry{std::move(one.name), one.spec, {}});
    const uint64_t at = reader.value_offset();
    if (args.values) {
      entry.values = Memory(Device::cpu(), one.end - one.begin);
      reader.read(at + one.begin, entry.values.data(), entry.values.bytes());
      seal.update({static_cast<const std::byte*>(entry.values.data()), entry.values.bytes()});
    } else {
      reader.read_pieces(at + one.begin, at + one.end, [&](auto bytes) { seal.update(bytes); });
    }
  }
  seal.require();
  return out;
}

TensorView ModelFile::add(std::string name, const TensorSpec& spec) {
  entries_.push_back({std::move(name), spec, Memory(Device::cpu(), spec.bytes())});
  return TensorView(entries_.back().values.data(), spec.dtype, spec.shape);
}

void ModelFile::declare(std::string name, const TensorSpec& spec) { entries_.push_back({std::move(name), spec, {}}); }

ModelFile::Index ModelFile::by_name() const {
  Index out;
  for (const Entry& entry : entries_) out.emplace(entry.name, &entry);
  return out;
}

void ModelFile::check() const { (void)head(); }

std::string ModelFile::head() const {
  const std::string header = model_header(metadata_, entries_);
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header;
}

void ModelFile::write() const {
  const std::string begin = head();
  AtomicFile file(path_);
  file.write(begin);
  for (const Entry& entry : entries_) {
    file.write({static_cast<const char*>(entry.values.data()), entry.values.bytes()});
  }
  file.commit();
}

}  // namespace millrace
