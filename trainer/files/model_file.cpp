#include "millrace/trainer/files/model_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/files/atomic_file.h"

namespace millrace {

static_assert(std::endian::native == std::endian::little, "model files hold this machine's own numbers");

namespace {

// Json finds a key of a large object fast; OrderedJson, for writing, keeps the order of keys instead.
using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr uint64_t kMaxHeader = uint64_t{16} << 20;
constexpr size_t kLengthBytes = 8;
// The levels of the header's JSON: the object, a tensor, its shape.
constexpr int kMaxDepth = 3;

constexpr std::pair<std::string_view, DType> kDTypeNames[] = {
    {"F32", DType::f32}, {"F64", DType::f64}, {"I32", DType::i32}, {"I64", DType::i64}, {"U8", DType::u8}};

std::string header_of(const ModelFile& file) {
  OrderedJson header;
  header["__metadata__"] = file.metadata();
  size_t offset = 0;
  for (const ModelFile::Entry& entry : file.entries()) {
    OrderedJson json;
    for (const auto& [name, dtype] : kDTypeNames) {
      if (dtype == entry.spec.dtype) json["dtype"] = name;
    }
    const Shape& shape = entry.spec.shape;
    json["shape"] = OrderedJson::array();
    for (int axis = 0; axis < shape.rank(); ++axis) json["shape"].push_back(shape[axis]);
    json["data_offsets"] = {offset, offset + entry.spec.bytes()};
    offset += entry.spec.bytes();
    header[entry.name] = std::move(json);
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::type_error&) {
    throw ConfigError("a name or text for the model file is not UTF-8");
  }
  // Blanks at the end make the values begin at a multiple of 64 bytes.
  text.append(aligned_bytes(kLengthBytes + text.size()) - kLengthBytes - text.size(), ' ');
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
  Json header() {
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
    return parse(text);
  }

  uint64_t value_offset() const { return value_offset_; }
  uint64_t value_bytes() const { return size_ - value_offset_; }

  ModelMetadata metadata(const Json& json) const {
    ModelMetadata out;
    if (!json.is_object()) throw error("__metadata__ is not an object");
    for (const auto& [key, value] : json.items()) {
      if (!value.is_string()) throw error(cat("the metadata ", quote(key), " is not a text"));
      out[key] = value.get<std::string>();
    }
    return out;
  }

  Described tensor(const std::string& name, const Json& json) const {
    const auto bad = [&](std::string_view what) { return error(cat("tensor ", quote(name), ": ", what)); };
    if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
        !json.contains("data_offsets")) {
      throw bad("expected dtype, shape and data_offsets");
    }
    const auto* known = std::find_if(std::begin(kDTypeNames), std::end(kDTypeNames),
                                     [&](const auto& one) { return json["dtype"] == Json(one.first); });
    if (known == std::end(kDTypeNames)) throw bad(cat("the dtype ", text_of(json["dtype"]), " is not supported"));
    uint64_t bytes = size_of(known->second);
    const Json& shape = json["shape"];
    if (!shape.is_array() || shape.size() > Shape::kMaxRank)
      throw bad(cat("expected a shape of at most ", Shape::kMaxRank, " axes"));
    std::vector<int64_t> dims;
    for (const Json& axis : shape) {
      if (!axis.is_number_unsigned() || axis.get<uint64_t>() > value_bytes())
        throw bad("the shape does not fit the file");
      dims.push_back(axis.get<int64_t>());
      if (__builtin_mul_overflow(bytes, axis.get<uint64_t>(), &bytes)) throw bad("the shape does not fit the file");
    }
    const Json& offsets = json["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
      throw bad("expected two data_offsets");
    }
    const auto begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
    if (begin > end || end > value_bytes()) {
      throw error(cat("tensor ", quote(name), ": its values reach beyond the end of the file"), kCutHint);
    }
    if (end - begin != bytes) throw bad(cat("its shape needs ", bytes, " bytes, it has ", end - begin));
    try {
      return {name, {Shape(dims), known->second}, begin, end};
    } catch (const ShapeError&) {
      throw bad("the shape does not fit the file");  // empty, with axes that cannot be counted together
    }
  }

  static constexpr const char* kCutHint = "the file may have been cut off: copy or save it again";
  static constexpr const char* kLayoutHint = "model files are written by `save`, in the safetensors layout";
  DataError error(std::string_view what, const char* hint = kLayoutHint) const {
    return DataError(cat("not a model file: ", what), {path_, 0, 0}, hint);
  }

 private:
  static std::string text_of(const Json& json) {
    if (json.is_string()) return quote(json.get_ref<const std::string&>());
    return json.is_structured() ? std::string(json.type_name()) : json.dump();
  }

  // JSON keeps the last of two equal keys without a word; here they are an error.
  Json parse(const std::string& text) const {
    std::vector<std::set<std::string>> keys;
    const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
      if (depth > kMaxDepth) throw error("its header is nested too deeply");
      if (event == Json::parse_event_t::object_start) keys.emplace_back();
      if (event == Json::parse_event_t::object_end) keys.pop_back();
      if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second) {
        throw error(cat("its header has the key ", quote(parsed.get<std::string>()), " twice"));
      }
      return true;
    };
    if (!text.starts_with('{')) throw error("its header is not a JSON object");
    try {
      return Json::parse(text, watch);
    } catch (const Json::exception&) {
      throw error("its header is not valid JSON");
    }
  }

  std::string path_;
  Descriptor file_;
  uint64_t size_ = 0, value_offset_ = 0;
};

}  // namespace

ModelFile ModelFile::read(const std::string& path) {
  Reader reader(path);
  ModelFile out(path);
  const Json header = reader.header();
  std::vector<Described> found;
  for (const auto& [name, json] : header.items()) {
    if (name == "__metadata__") {
      out.metadata_ = reader.metadata(json);
    } else {
      found.push_back(reader.tensor(name, json));
    }
  }
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
