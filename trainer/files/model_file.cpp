#include "millrace/trainer/files/model_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/input/files/atomic_file.h"

namespace millrace {

static_assert(std::endian::native == std::endian::little, "model files hold this machine's own numbers");

namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxHeader = uint64_t{16} << 20;
constexpr size_t kLengthBytes = 8;
constexpr size_t kMaxTensors = 65536;

constexpr std::pair<std::string_view, DType> kDTypeNames[] = {
    {"F32", DType::f32}, {"F64", DType::f64}, {"I32", DType::i32}, {"I64", DType::i64}, {"U8", DType::u8}};

std::string checked_string(std::string_view text) {
  if (find_invalid_utf8(text) == text.npos) return json_string(text);
  throw ConfigError("a name or text for the model file is not UTF-8");
}

// The JSON library does not write it: the destructor of its values needs memory, and ends the process where there is
// none.
std::string header_of(const ModelFile& file) {
  std::string metadata;
  for (const auto& [key, value] : file.metadata()) {
    metadata += cat(metadata.empty() ? "" : ",", checked_string(key), ':', checked_string(value));
  }
  std::string text = cat("{\"__metadata__\":{", metadata, '}');
  size_t offset = 0;
  for (const ModelFile::Entry& entry : file.entries()) {
    const size_t end = offset + entry.spec.bytes();
    std::string_view dtype;
    for (const auto& [name, known] : kDTypeNames) {
      if (known == entry.spec.dtype) dtype = name;
    }
    std::string shape;
    for (int axis = 0; axis < entry.spec.shape.rank(); ++axis)
      shape += cat(axis > 0 ? "," : "", entry.spec.shape[axis]);
    text += cat(',', checked_string(entry.name), ":{\"dtype\":\"", dtype, "\",\"shape\":[", shape,
                "],\"data_offsets\":[", offset, ',', end, "]}");
    offset = end;
  }
  text += '}';
  // Blanks at the end make the values begin at a multiple of 64 bytes.
  text.append(aligned_bytes(kLengthBytes + text.size()) - kLengthBytes - text.size(), ' ');
  if (file.entries().size() > kMaxTensors || text.size() > kMaxHeader) {
    throw ConfigError(cat("the model file would hold ", file.entries().size(), " tensors and a header of ", text.size(),
                          " bytes; at most ", kMaxTensors, " and ", kMaxHeader, " can be read again"));
  }
  return text;
}

// A tensor as the header describes it.
struct Described {
  std::string name;
  TensorSpec spec;
  uint64_t begin = 0, end = 0;  // of its values
};

// Reads and checks; every fault is a DataError placed at the file.
class Reader {
 public:
  explicit Reader(const std::string& path)
      : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (!file_) throw MissingError(cat("cannot read the model: ", errno_text(errno)), {path, 0, 0});
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) throw IoError(errno_text(errno), {path, 0, 0});
    if (!S_ISREG(status.st_mode)) throw MissingError("cannot read the model: it is not a regular file", {path, 0, 0});
    size_ = static_cast<uint64_t>(status.st_size);
  }

  void read(uint64_t offset, void* to, size_t bytes) const {
    auto* at = static_cast<char*>(to);
    while (bytes > 0) {
      const ssize_t got = ::pread(file_.get(), at, bytes, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw IoError(cat("cannot read the model: ", errno_text(errno)), {path_, 0, 0});
      if (got == 0) throw IoError("the file became shorter while it was read", {path_, 0, 0});
      at += got;
      offset += static_cast<uint64_t>(got);
      bytes -= static_cast<size_t>(got);
    }
  }

  // The header; value_bytes() is known afterwards.
  std::string header() {
    uint64_t length = 0;
    if (size_ < kLengthBytes) throw error(cat("expected at least 8 bytes, got ", size_));
    read(0, &length, kLengthBytes);
    if (length > kMaxHeader || length > size_ - kLengthBytes) {
      throw error(cat("its header claims ", length, " bytes, the file has ", size_),
                  path_.ends_with(".yaml") || path_.ends_with(".yml")
                      ? "a configuration makes one: trainer --config FILE --save model.safetensors"
                  : length <= kMaxHeader ? kCutHint
                                         : kLayoutHint);
    }
    std::string text(length, '\0');
    read(kLengthBytes, text.data(), length);
    value_offset_ = kLengthBytes + length;
    return text;
  }

  uint64_t value_offset() const { return value_offset_; }
  uint64_t value_bytes() const { return size_ - value_offset_; }

  static constexpr const char* kCutHint = "the file may have been cut off: copy or save it again";
  static constexpr const char* kLayoutHint = "model files are written by `save`, in the safetensors layout";
  DataError error(std::string_view what, const char* hint = kLayoutHint) const {
    return DataError(cat("not a model file: ", what), {path_, 0, 0}, hint);
  }

 private:
  std::string path_;
  Descriptor file_;
  uint64_t size_ = 0, value_offset_ = 0;
};

// Takes the header's JSON piece by piece, as it is parsed, and refuses what does not belong there. So no tree is made
// of what a file may hold, and many tensors take no longer than their bytes.
class Header final : public nlohmann::json_sax<Json> {
 public:
  explicit Header(const Reader& file) : file_(file) {}

  void parse(const std::string& text) {
    if (!text.starts_with('{')) throw file_.error("its header is not a JSON object");
    nlohmann::json_sax<Json>* const events = this;
    Json::sax_parse(text, events);
  }

  ModelMetadata metadata;
  std::vector<Described> tensors;  // in the order of the header

 private:
  enum class In : uint8_t { nothing, header, metadata, tensor, shape, offsets };

  bool null() override { return other("null"); }
  bool boolean(bool value) override { return other(value ? "true" : "false"); }
  bool number_integer(Json::number_integer_t value) override { return other(cat(value)); }
  bool number_float(Json::number_float_t, const std::string& text) override { return other(text); }
  bool binary(Json::binary_t&) override { return other("binary"); }
  bool start_array(size_t) override {
    if (in_ != In::tensor || key_ == "dtype") return other("array");
    in_ = key_ == "shape" ? In::shape : In::offsets;
    return true;
  }
  bool end_array() override {
    in_ = In::tensor;
    return true;
  }
  bool parse_error(size_t, const std::string&, const Json::exception&) override {
    throw file_.error("its header is not valid JSON");
  }

  bool start_object(size_t) override {
    if (in_ == In::nothing) {
      in_ = In::header;
    } else if (in_ == In::header && name_ == "__metadata__") {
      in_ = In::metadata;
    } else if (in_ == In::header) {
      in_ = In::tensor;
      dtype_.reset();
      shape_.clear();
      offsets_.clear();
      keys_.clear();
    } else {
      return other("object");
    }
    return true;
  }
  bool end_object() override {
    if (in_ == In::tensor) add_tensor();
    in_ = in_ == In::header ? In::nothing : In::header;
    return true;
  }

  // JSON keeps the last of two equal keys without a word; here they are an error.
  bool key(std::string& key) override {
    if (in_ == In::header) {
      name_ = key;
      if (!names_.insert(key).second) throw twice(key);
    } else if (in_ == In::metadata) {
      key_ = key;
      if (!metadata.try_emplace(key).second) throw twice(key);
    } else {
      key_ = key;
      if (key != "dtype" && key != "shape" && key != "data_offsets") throw bad(kExpected);
      if (!keys_.insert(key).second) throw twice(key);
    }
    return true;
  }

  bool string(std::string& text) override {
    if (in_ == In::metadata) {
      metadata[key_] = std::move(text);
      return true;
    }
    if (in_ != In::tensor || key_ != "dtype") return other(quote(text));
    for (const auto& [name, dtype] : kDTypeNames) {
      if (text == name) dtype_ = dtype;
    }
    return dtype_ ? true : other(quote(text));
  }

  bool number_unsigned(uint64_t value) override {
    if (in_ == In::shape && shape_.size() < Shape::kMaxRank) {
      if (value > file_.value_bytes()) throw bad(kShapeDoesNotFit);
      shape_.push_back(static_cast<int64_t>(value));
      return true;
    }
    if (in_ == In::shape) throw bad(cat("expected a shape of at most ", Shape::kMaxRank, " axes"));
    if (in_ != In::offsets || offsets_.size() == 2) return other(cat(value));
    offsets_.push_back(value);
    return true;
  }

  // A value that has no place where it stands; `text` is how it is called.
  bool other(std::string_view text) const {
    switch (in_) {
      case In::header: throw name_ == "__metadata__" ? file_.error("__metadata__ is not an object") : bad(kExpected);
      case In::metadata: throw file_.error(cat("the metadata ", quote(key_), " is not a text"));
      case In::shape: throw bad(kShapeDoesNotFit);
      case In::tensor:
        if (key_ == "dtype") throw bad(cat("the dtype ", text, " is not supported"));
        if (key_ == "shape") throw bad(cat("expected a shape of at most ", Shape::kMaxRank, " axes"));
        [[fallthrough]];
      default: throw bad("expected two data_offsets");
    }
  }

  void add_tensor() {
    if (tensors.size() == kMaxTensors) throw file_.error(cat("it lists more than ", kMaxTensors, " tensors"));
    tensors.push_back(tensor());
  }

  // The tensor that ends here.
  Described tensor() const {
    if (keys_.size() != 3) throw bad(kExpected);
    if (offsets_.size() != 2) throw bad("expected two data_offsets");
    uint64_t bytes = size_of(*dtype_);
    for (const int64_t axis : shape_) {
      if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(axis), &bytes)) throw bad(kShapeDoesNotFit);
    }
    const uint64_t begin = offsets_[0], end = offsets_[1];
    if (begin > end || end > file_.value_bytes()) {
      throw file_.error(cat("tensor ", quote(name_), ": its values reach beyond the end of the file"),
                        Reader::kCutHint);
    }
    if (end - begin != bytes) throw bad(cat("its shape needs ", bytes, " bytes, it has ", end - begin));
    try {
      return {name_, {Shape(shape_), *dtype_}, begin, end};
    } catch (const ShapeError&) {
      throw bad(kShapeDoesNotFit);  // empty, with axes that cannot be counted together
    }
  }

  static constexpr const char* kExpected = "expected dtype, shape and data_offsets";
  static constexpr const char* kShapeDoesNotFit = "the shape does not fit the file";
  DataError bad(std::string_view what) const { return file_.error(cat("tensor ", quote(name_), ": ", what)); }
  DataError twice(const std::string& key) const {
    return file_.error(cat("its header has the key ", quote(key), " twice"));
  }

  const Reader& file_;
  In in_ = In::nothing;
  std::string name_, key_;  // of the header, and of what is in it
  std::set<std::string> names_, keys_;
  // Of the tensor.
  std::optional<DType> dtype_;
  std::vector<int64_t> shape_;
  std::vector<uint64_t> offsets_;
};

}  // namespace

ModelFile ModelFile::read(const std::string& path) {
  Reader reader(path);
  ModelFile out(path);
  const std::string text = reader.header();
  Header header(reader);
  header.parse(text);
  out.metadata_ = std::move(header.metadata);
  std::vector<Described>& found = header.tensors;
  std::stable_sort(found.begin(), found.end(), [](const Described& a, const Described& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t expected = 0;
  for (const Described& one : found) {
    if (one.begin != expected)
      throw reader.error(cat("the values of ", quote(one.name), " leave a hole or overlap others"));
    expected = one.end;
  }
  if (expected != reader.value_bytes()) {
    throw reader.error(cat("its tensors need ", expected, " bytes of values, it has ", reader.value_bytes()));
  }
  for (Described& one : found) {
    Memory values(Device::cpu(), one.end - one.begin);
    reader.read(reader.value_offset() + one.begin, values.data(), values.bytes());
    out.entries_.push_back({std::move(one.name), one.spec, std::move(values)});
  }
  return out;
}

TensorView ModelFile::add(std::string name, const TensorSpec& spec) {
  entries_.push_back({std::move(name), spec, Memory(Device::cpu(), spec.bytes())});
  return TensorView(entries_.back().values.data(), spec.dtype, spec.shape);
}

void ModelFile::declare(std::string name, const TensorSpec& spec) { entries_.push_back({std::move(name), spec, {}}); }

void ModelFile::check() const { header_of(*this); }

void ModelFile::write() const {
  const std::string header = header_of(*this);
  const uint64_t length = header.size();
  AtomicFile file(path_);
  file.write({reinterpret_cast<const char*>(&length), sizeof length});
  file.write(header);
  for (const Entry& entry : entries_) {
    file.write({static_cast<const char*>(entry.values.data()), entry.values.bytes()});
  }
  file.commit();
}

}  // namespace millrace
