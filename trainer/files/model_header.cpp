#include "millrace/trainer/files/model_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace {

namespace {

using Json = nlohmann::json;

constexpr size_t kMaxTensors = 65536;

constexpr std::pair<std::string_view, DType> kDTypeNames[] = {
    {"F32", DType::f32}, {"F64", DType::f64}, {"I32", DType::i32}, {"I64", DType::i64}, {"U8", DType::u8}};

std::string checked_string(std::string_view text) {
  if (find_invalid_utf8(text) == text.npos) return json_string(text);
  throw ConfigError("a name or text for the model file is not UTF-8");
}

// Takes the header's JSON piece by piece while it is parsed, and refuses everything that does not belong there. So a
// file cannot make the reader build a large tree, and many tensors take no more time than their bytes.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  HeaderReader(uint64_t most_bytes, const ModelFileFaults& faults) : most_bytes_(most_bytes), faults_(faults) {}

  void parse(const std::string& text) {
    if (!text.starts_with('{')) throw faults_.error("its header is not a JSON object");
    nlohmann::json_sax<Json>* const events = this;
    Json::sax_parse(text, events);
  }

  ModelMetadata metadata;
  std::vector<ModelHeader::Described> tensors;  // in the order of the header

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
    throw faults_.error("its header is not valid JSON");
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

  // The JSON library silently keeps the last of two equal keys; here they are an error.
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
      if (value > most_bytes_) throw bad(kShapeDoesNotFit);
      shape_.push_back(static_cast<int64_t>(value));
      return true;
    }
    if (in_ == In::shape) throw bad(cat("expected a shape of at most ", Shape::kMaxRank, " axes"));
    if (in_ != In::offsets || offsets_.size() == 2) return other(cat(value));
    offsets_.push_back(value);
    return true;
  }

  // Throws for a value that does not belong here. Messages call it `text`.
  bool other(std::string_view text) const {
    switch (in_) {
      case In::header: throw name_ == "__metadata__" ? faults_.error("__metadata__ is not an object") : bad(kExpected);
      case In::metadata: throw faults_.error(cat("the metadata ", quote(key_), " is not a text"));
      case In::shape: throw bad(kShapeDoesNotFit);
      case In::tensor:
        if (key_ == "dtype") throw bad(cat("the dtype ", text, " is not supported"));
        if (key_ == "shape") throw bad(cat("expected a shape of at most ", Shape::kMaxRank, " axes"));
        [[fallthrough]];
      default: throw bad("expected two data_offsets");
    }
  }

  void add_tensor() {
    if (tensors.size() == kMaxTensors) throw faults_.error(cat("it lists more than ", kMaxTensors, " tensors"));
    tensors.push_back(tensor());
  }

  // The tensor whose description has just ended.
  ModelHeader::Described tensor() const {
    if (keys_.size() != 3) throw bad(kExpected);
    if (offsets_.size() != 2) throw bad("expected two data_offsets");
    uint64_t bytes = size_of(*dtype_);
    for (const int64_t axis : shape_) {
      if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(axis), &bytes)) throw bad(kShapeDoesNotFit);
    }
    const uint64_t begin = offsets_[0], end = offsets_[1];
    if (begin > end || end > most_bytes_) {
      throw faults_.error(cat("tensor ", quote(name_), ": its values reach beyond the end of the file"),
                          ModelFileFaults::kCutHint);
    }
    if (end - begin != bytes) throw bad(cat("its shape needs ", bytes, " bytes, it has ", end - begin));
    try {
      return {name_, {Shape(shape_), *dtype_}, begin, end};
    } catch (const ShapeError&) {
      throw bad(kShapeDoesNotFit);  // one axis is 0, and the product of the others is too large
    }
  }

  static constexpr const char* kExpected = "expected dtype, shape and data_offsets";
  static constexpr const char* kShapeDoesNotFit = "the shape does not fit the file";
  DataError bad(std::string_view what) const { return faults_.error(cat("tensor ", quote(name_), ": ", what)); }
  DataError twice(const std::string& key) const {
    return faults_.error(cat("its header has the key ", quote(key), " twice"));
  }

  const uint64_t most_bytes_;
  const ModelFileFaults& faults_;
  In in_ = In::nothing;
  std::string name_, key_;  // the last key in the header, and in the object inside it
  std::set<std::string> names_, keys_;
  // The description that is being read.
  std::optional<DType> dtype_;
  std::vector<int64_t> shape_;
  std::vector<uint64_t> offsets_;
};

}  // namespace

DataError ModelFileFaults::error(std::string_view what, const char* hint) const {
  const char* const layout = checkpoint ? "" : "model files are written by `save`, in the safetensors layout";
  return DataError(cat(checkpoint ? "this checkpoint cannot be used: " : "not a model file: ", what), {path, 0, 0},
                   hint != nullptr ? hint : layout);
}

ModelHeader read_model_header(const std::string& text, uint64_t most_bytes, const ModelFileFaults& faults) {
  HeaderReader reader(most_bytes, faults);
  reader.parse(text);
  ModelHeader out{std::move(reader.metadata), std::move(reader.tensors)};
  std::stable_sort(out.tensors.begin(), out.tensors.end(),
                   [](const ModelHeader::Described& a, const ModelHeader::Described& b) {
                     return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
                   });
  uint64_t expected = 0;
  for (const ModelHeader::Described& one : out.tensors) {
    if (one.begin != expected)
      throw faults.error(cat("the values of ", quote(one.name), " leave a hole or overlap others"));
    expected = one.end;
  }
  return out;
}

// The JSON library is not used here: the destructor of its values needs memory, and ends the process if there is none.
std::string model_header(const ModelMetadata& metadata, const std::vector<ModelFile::Entry>& entries) {
  std::string facts;
  for (const auto& [key, value] : metadata) {
    facts += cat(facts.empty() ? "" : ",", checked_string(key), ':', checked_string(value));
  }
  std::string text = cat("{\"__metadata__\":{", facts, '}');
  size_t offset = 0;
  for (const ModelFile::Entry& entry : entries) {
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
  text.append(aligned_bytes(kModelLengthBytes + text.size()) - kModelLengthBytes - text.size(), ' ');
  if (entries.size() > kMaxTensors || text.size() > kMaxModelHeader) {
    throw ConfigError(cat("the model file would hold ", entries.size(), " tensors and a header of ", text.size(),
                          " bytes; at most ", kMaxTensors, " and ", kMaxModelHeader, " can be read again"));
  }
  return text;
}

}  // namespace millrace
