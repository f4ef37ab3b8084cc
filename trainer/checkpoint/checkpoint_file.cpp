#include "millrace/trainer/checkpoint/checkpoint_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <span>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/files/atomic_file.h"
#include "millrace/trainer/files/checksum.h"
#include "millrace/trainer/files/model_header.h"
#include "millrace/trainer/files/saved_model.h"
#include "millrace/trainer/files/seal.h"

namespace millrace {

namespace {

constexpr const char *kStepKey = "step", *kLossKey = "loss", *kFingerprintKey = "fingerprint";
constexpr const char* kNumbersName = "state";
constexpr std::string_view kNameBegin = "checkpoint-", kNameEnd = ".safetensors";
constexpr size_t kNameDigits = 9;

std::string_view bytes_of(const ConstTensorView& values) {
  return {static_cast<const char*>(values.data()), values.spec().bytes()};
}

DataError fault_of(const std::string& path, std::string_view what) {
  return ModelFileFaults{.path = path, .checkpoint = true}.error(what);
}

// The text of this key; empty if the metadata lack the key.
std::string metadata_text(const ModelMetadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? std::string() : found->second;
}

uint64_t step_in(const ModelFile& file) {
  const std::string text = metadata_text(file.metadata(), kStepKey);
  uint64_t step = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), step);
  if (text.empty() || fault != std::errc() || end != text.data() + text.size()) {
    throw fault_of(file.path(), cat("its step is ", quote(text), ", expected a number"));
  }
  const std::optional<uint64_t> named = step_of_name(std::filesystem::path(file.path()).filename().string());
  if (named && *named != step) {
    throw fault_of(file.path(), cat("it holds step ", step, ", its name says ", *named,
                                    ": it was renamed, or swapped with another one"));
  }
  return step;
}

std::optional<double> loss_in(const ModelMetadata& metadata) {
  const std::string text = metadata_text(metadata, kLossKey);
  double loss = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), loss);
  return !text.empty() && fault == std::errc() ? std::optional(loss) : std::nullopt;
}

State numbers_in(const ModelFile& file) {
  const auto entry = std::ranges::find(file.entries(), kNumbersName, &ModelFile::Entry::name);
  if (entry == file.entries().end() || entry->spec.dtype != DType::u8) {
    throw fault_of(file.path(), "it has no state of a training");
  }
  try {
    return State::decode(bytes_of(file.values(*entry)));
  } catch (DataError& error) {
    error.set_place({file.path(), 0, 0});
    throw;
  }
}

// The file without its values. `numbers`: the length of the encoded numbers.
ModelFile declared_file(const std::string& path, const CheckpointParts& parts, size_t numbers) {
  ModelMetadata metadata = parts.metadata;
  metadata[std::string(kSealFormatKey)] = kCheckpointFormat;
  metadata[std::string(kSealChecksumKey)] = kOpenSeal;
  metadata[kStepKey] = cat(parts.step);
  if (parts.loss) metadata[kLossKey] = cat(*parts.loss);
  metadata[kFingerprintKey] = parts.fingerprint.text();
  ModelFile file(path, std::move(metadata));
  for (const CheckpointTensor& tensor : parts.tensors) file.declare(tensor.name, tensor.values.spec());
  // Last: its length may be odd, which would leave later tensors unaligned.
  file.declare(kNumbersName, {{static_cast<int64_t>(numbers)}, DType::u8});
  return file;
}

}  // namespace

void check_checkpoint(const CheckpointParts& parts) { declared_file({}, parts, 0).check(); }

void write_checkpoint(const std::string& path, const CheckpointParts& parts, FileCalls& calls) {
  const std::string numbers = parts.numbers.encode();
  std::vector<std::string_view> values;
  for (const CheckpointTensor& tensor : parts.tensors) values.push_back(bytes_of(tensor.values));
  values.emplace_back(numbers);

  std::string head = declared_file(path, parts, numbers.size()).head();
  const size_t digits = find_seal(std::string_view(head).substr(kModelLengthBytes));
  if (digits == head.npos) throw InternalError("a checkpoint has metadata that come before its seal");
  Checksum sum;
  sum.update(std::as_bytes(std::span(head)));
  for (const std::string_view bytes : values) sum.update(std::as_bytes(std::span(bytes)));
  head.replace(kModelLengthBytes + digits, kOpenSeal.size(), sum.hex());

  AtomicFile out(path, calls);
  out.write(head);
  for (const std::string_view bytes : values) out.write(bytes);
  out.commit();
}

Checkpoint read_checkpoint(const std::string& path) {
  Checkpoint out{.step = 0, .numbers = {}, .fingerprint = {}, .file = ModelFile::read(path, {.checkpoint = true})};
  check_format(out.file);
  out.step = step_in(out.file);
  out.numbers = numbers_in(out.file);
  out.fingerprint = Fingerprint::parse(metadata_text(out.file.metadata(), kFingerprintKey));
  return out;
}

CheckpointFacts verify_checkpoint(const std::string& path, bool from_disk) {
  const ModelFile file = ModelFile::read(path, {.checkpoint = true, .values = false, .from_disk = from_disk});
  check_format(file);
  return {.step = step_in(file), .loss = loss_in(file.metadata())};
}

std::string checkpoint_name(uint64_t step) {
  const std::string digits = cat(step);
  const size_t zeros = kNameDigits - std::min(kNameDigits, digits.size());
  return cat(kNameBegin, std::string(zeros, '0'), digits, kNameEnd);
}

std::optional<uint64_t> step_of_name(std::string_view name) {
  if (!name.starts_with(kNameBegin)) return {};
  uint64_t step = 0;
  const auto [end, fault] = std::from_chars(name.data() + kNameBegin.size(), name.data() + name.size(), step);
  return fault == std::errc() && name == checkpoint_name(step) ? std::optional(step) : std::nullopt;
}

}  // namespace millrace
