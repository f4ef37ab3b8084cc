#include "millrace/input/hdf5/hdf5_dataset.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

using Id = Hdf5Calls::Id;
using Size = Hdf5Calls::Size;

// A chunk is unpacked as a whole, and its size is what the file says.
constexpr uint64_t kMostChunk = uint64_t{256} << 20;
// The chunks that hold the same rows are kept, up to so many bytes.
constexpr uint64_t kMostCache = uint64_t{256} << 20;

// Called before a link to another file is followed; keeps the library from doing so.
int refuse_external(const char*, const char*, const char*, const char*, unsigned*, Id, void* refused) {
  *static_cast<bool*>(refused) = true;
  return -1;
}

constexpr int kNullSpace = 2;

std::vector<Size> sizes_of(const Hdf5& h, Id space) {
  std::vector<Size> out(static_cast<size_t>(std::max(h.calls.rank_of(space), 0)));
  if (!out.empty()) h.check(h.calls.sizes_of(space, out.data(), nullptr), "cannot read the shape");
  return out;
}

// The names of datasets below `group`, a path that ends in a slash.
class DatasetNames {
 public:
  DatasetNames(const Hdf5& h, Id file, Id properties) : h_(h), file_(file), properties_(properties) {}

  void add(const std::string& group, int depth) {
    char name[256];
    for (Size i = 0; seen_ < kMost; ++i, ++seen_) {
      if (h_.calls.name_of_link(file_, group.c_str(), 0, 0, i, name, sizeof name, 0) < 0) return;
      const std::string path = group + name;
      const Hdf5Id object(h_.calls.open_object(file_, path.c_str(), properties_), h_.calls.close_object);
      if (object < 0) continue;
      const int sort = h_.calls.sort_of(object);
      if (sort == kDataset) found.push_back(path);
      if (sort == kGroup && depth < kDeepest) add(path + '/', depth + 1);
    }
  }

  std::vector<std::string> found;

 private:
  static constexpr int kGroup = 2, kDataset = 5, kDeepest = 8, kMost = 1000;

  const Hdf5& h_;
  const Id file_, properties_;
  int seen_ = 0;
};

DataError no_such_dataset(const Hdf5& h, const std::string& name, Id file, Id properties) {
  constexpr size_t kShown = 20;
  DatasetNames names(h, file, properties);
  names.add("/", 0);
  const std::string near = nearest(name.starts_with('/') ? name : '/' + name, names.found);
  if (names.found.size() > kShown) {
    names.found[kShown] = cat(names.found.size() - kShown, " more");
    names.found.resize(kShown + 1);
  }
  return DataError("the file has no such dataset", {},
                   !near.empty()         ? cat("did you mean ", near, "?")
                   : names.found.empty() ? "it has none"
                                         : cat("it has ", join(names.found)));
}

DataError refused_values(std::string_view what, std::string_view hint = "store numbers in a dataset of their own") {
  return DataError(cat("the dataset holds ", what, ", expected numbers"), {}, std::string(hint));
}

// What a float is by its bits: where the sign is, the exponent, its size, the fraction and its size.
struct FloatBits {
  NumberType type;
  std::array<size_t, 5> bits;
};
constexpr FloatBits kFloats[] = {{NumberType::float16, {15, 10, 5, 0, 10}},
                                 {NumberType::float32, {31, 23, 8, 0, 23}},
                                 {NumberType::float64, {63, 52, 11, 0, 52}}};

NumberType float_type(const Hdf5& h, Id type) {
  std::array<size_t, 5> bits{};
  h.check(h.calls.float_of(type, &bits[0], &bits[1], &bits[2], &bits[3], &bits[4]), "cannot read the type");
  for (const FloatBits& one : kFloats) {
    if (one.bits == bits && h.calls.bytes_of(type) * 8 == bits[0] + 1) return one.type;
  }
  throw refused_values(cat("floats of ", h.calls.bits_of(type), " bits with ", bits[2], " bits of exponent"));
}

NumberType integer_type(const Hdf5& h, Id type) {
  const size_t bytes = h.calls.bytes_of(type);
  const bool has_sign = h.calls.sign_of(type) != 0;
  constexpr NumberType kTypes[2][4] = {{NumberType::uint8, NumberType::uint16, NumberType::uint32},
                                       {NumberType::int8, NumberType::int16, NumberType::int32, NumberType::int64}};
  if (h.calls.bits_of(type) != 8 * bytes || !std::has_single_bit(bytes) || bytes > 8) {
    throw refused_values(cat("integers of ", h.calls.bits_of(type), " bits"), "store integers of 8, 16, 32 or 64 bits");
  }
  if (bytes == 8 && !has_sign) throw refused_values("uint64, which no field can hold", "store x.astype(\"int64\")");
  return kTypes[has_sign][std::countr_zero(bytes)];
}

// As h5py stores bool.
bool is_boolean(const Hdf5& h, Id type) {
  const auto is_named = [&](unsigned member, std::string_view wanted) {
    char* const name = h.calls.member_name(type, member);
    const bool same = name != nullptr && name == wanted;
    h.calls.free_memory(name);
    return same;
  };
  return h.calls.bytes_of(type) == 1 && h.calls.members_of(type) == 2 && is_named(0, "FALSE") && is_named(1, "TRUE");
}

NumberFormat number_format_of(const Hdf5& h, Id type) {
  constexpr std::string_view kClasses[] = {"integers",     "floats",       "times",           "texts",
                                           "bits",         "opaque bytes", "compound values", "references",
                                           "enumerations", "lists",        "arrays"};
  constexpr int kInteger = 0, kFloat = 1, kEnumeration = 8;
  const int sort = h.calls.class_of(type);
  NumberFormat out{.big_endian = h.calls.order_of(type) == 1};
  if (sort == kEnumeration && is_boolean(h, type)) {
    out.type = NumberType::boolean;
  } else if (sort == kEnumeration) {
    const Hdf5Id base = h.own(h.calls.base_of(type), h.calls.close_type, "cannot read the type");
    out = number_format_of(h, base);
  } else if (sort == kInteger || sort == kFloat) {
    out.type = sort == kInteger ? integer_type(h, type) : float_type(h, type);
  } else {
    throw refused_values(sort < 0 || sort >= std::ssize(kClasses) ? "values of an unknown type" : kClasses[sort]);
  }
  return out;
}

void check_filters(const Hdf5& h, Id properties) {
  for (int i = 0; i < h.calls.filters_of(properties); ++i) {
    unsigned flags = 0, config = 0;
    size_t values = 0;
    char name[64] = "";
    const int filter =
        h.calls.filter_of(properties, static_cast<unsigned>(i), &flags, &values, nullptr, sizeof name, name, &config);
    if (filter >= 0 && h.calls.has_filter(filter) > 0) continue;
    throw DataError(cat("the dataset is compressed by filter ", filter, name[0] == '\0' ? "" : " (", name,
                        name[0] == '\0' ? "" : ")", ", which this libhdf5 lacks"),
                    {}, "name the folder of its plugin in HDF5_PLUGIN_PATH, or compress by gzip");
  }
}

}  // namespace

Hdf5Dataset::Hdf5Dataset(Settings settings) : settings_(std::move(settings)) {
  if (in_memory()) {
    const std::unique_ptr<File> file = settings_.pool->files->open(settings_.file->path);
    image_.resize(settings_.file->size);
    image_.resize(file->read(0, image_.data(), image_.size()));
  }
  const Hdf5 h;
  look_at(h, *open(h));
  settings_.pool->images += image_.size();
  settings_.pool->memory = std::max<uint64_t>(settings_.pool->memory, cache_bytes_ + image_.size());
}

Hdf5Dataset::~Hdf5Dataset() {
  if (!open_) return;
  const Hdf5 h;
  std::erase(settings_.pool->open, this);
  open_.reset();
}

std::unique_ptr<Hdf5Dataset::Open> Hdf5Dataset::open(const Hdf5& h) const {
  auto out = std::make_unique<Open>();
  const Hdf5Calls& calls = h.calls;
  Hdf5Id access;
  std::string path = settings_.file->path;
  if (in_memory()) {
    // The library takes files of one name for one file, and the name must not be that of a file on the disk.
    path += cat(" in memory at ", reinterpret_cast<uintptr_t>(this));
    access = h.own(calls.make_properties(*calls.of_files), calls.close_properties, "cannot open the file");
    h.check(calls.set_in_memory(access, size_t{1} << 20, 0), "cannot open the file");
    h.check(calls.set_image(access, image_.data(), image_.size()), "cannot open the file");
  }
  out->file = h.own(calls.open_file(path.c_str(), 0, access < 0 ? Id{0} : Id{access}), calls.close_file,
                    "cannot open the file");
  out->properties = h.own(calls.make_properties(*calls.of_datasets), calls.close_properties, "cannot open the file");
  h.check(calls.set_external(out->properties, refuse_external, &out->leads_out), "cannot open the file");
  if (cache_bytes_ > 0) {
    const size_t slots = static_cast<size_t>(std::clamp<uint64_t>(10 * cached_chunks_, 521, 1 << 20)) | 1;
    h.check(calls.set_cache(out->properties, slots, static_cast<size_t>(cache_bytes_), -1), "cannot open the file");
  }
  out->dataset = {calls.open_dataset(out->file, settings_.name.c_str(), out->properties), calls.close_dataset};
  if (out->leads_out) {
    throw DataError("it is a link to another file, which is not followed", {}, "name that file in filename_queue");
  }
  if (out->dataset < 0) throw no_such_dataset(h, settings_.name, out->file, out->properties);
  out->type = h.own(calls.type_of(out->dataset), calls.close_type, "cannot read the type");
  out->space = h.own(calls.space_of(out->dataset), calls.close_space, "cannot read the shape");
  return out;
}

void Hdf5Dataset::look_at(const Hdf5& h, const Open& opened) {
  if (h.calls.sort_of_space(opened.space) == kNullSpace) throw DataError("the dataset holds nothing");
  sizes_ = sizes_of(h, opened.space);
  layout_.numbers = number_format_of(h, opened.type);
  uint64_t bytes = layout_.numbers.bytes();
  for (const Size size : sizes_) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) bytes = UINT64_MAX;  // which no shape fits
  }
  layout_ = layout_of({.numbers = layout_.numbers, .sizes = sizes_}, {*this, 0, bytes});
  if (bytes > 0) look_at_storage(h, opened);
}

void Hdf5Dataset::look_at_storage(const Hdf5& h, const Open& opened) {
  constexpr int kChunked = 2, kVirtual = 3;
  const Hdf5Id properties =
      h.own(h.calls.properties_of(opened.dataset), h.calls.close_properties, "cannot read the storage");
  const int sort = h.calls.layout_of(properties);
  if (sort == kVirtual || h.calls.external_files(properties) > 0) {
    throw DataError("the numbers of the dataset lie in other files", {}, "read those, or copy it by h5repack");
  }
  const uint64_t stored = h.calls.stored_bytes(opened.dataset);
  if (stored == 0) throw DataError("the dataset has a shape, but nothing was ever written to it");
  if (sort != kChunked) {
    if (stored == size()) return;
    throw DataError(cat("the shape of the dataset takes ", size(), " bytes, but ", stored, " are stored"));
  }
  check_filters(h, properties);
  std::vector<Size> chunk(sizes_.size());
  h.check(h.calls.chunk_of(properties, static_cast<int>(chunk.size()), chunk.data()), "cannot read the chunks");
  uint64_t bytes = layout_.numbers.bytes();
  cached_chunks_ = 1;
  for (size_t i = 0; i < chunk.size(); ++i) {
    const uint64_t values = std::clamp<uint64_t>(chunk[i], 1, kMostChunk + 1);
    bytes = std::min(bytes * values, kMostChunk + 1);
    if (i > 0) cached_chunks_ *= (sizes_[i] - 1) / values + 1;
  }
  if (bytes > kMostChunk) {
    throw DataError(cat("a chunk of the dataset has more than ", kMostChunk, " bytes"), {},
                    "h5repack makes smaller ones");
  }
  block_rows_ = std::max<uint64_t>(chunk[0], 1);
  const uint64_t most = kMostCache / bytes;
  if (cached_chunks_ > most) {
    settings_.pool->warning =
        cat("the dataset ", settings_.name, " is slow to read: a row lies in ", cached_chunks_, " chunks of ", bytes,
            " bytes, which are unpacked again for every few rows; h5repack can store whole rows in a chunk");
  }
  cached_chunks_ = std::min(cached_chunks_, most);
  cache_bytes_ = cached_chunks_ * bytes;
}

size_t Hdf5Dataset::read(uint64_t offset, void* to, size_t bytes) const {
  const uint64_t row_bytes = layout_.row_bytes();
  const Hdf5 h;
  try {
    const Open& from = opened(h);
    std::vector<Size> start(sizes_.size(), 0), count = sizes_;
    start[0] = offset / row_bytes;
    count[0] = bytes / row_bytes;
    const Hdf5Id memory = h.own(h.calls.make_space(static_cast<int>(count.size()), count.data(), nullptr),
                                h.calls.close_space, "cannot read the dataset");
    h.check(h.calls.select(from.space, 0, start.data(), nullptr, count.data(), nullptr), "cannot read the dataset");
    h.check(h.calls.read(from.dataset, from.type, memory, from.space, 0, to), "cannot read the dataset");
    return bytes;
  } catch (Error& error) {
    error.add_context(cat("dataset ", quote(settings_.name)));
    throw;
  }
}

const Hdf5Dataset::Open& Hdf5Dataset::opened(const Hdf5& h) const {
  std::vector<const Hdf5Dataset*>& pool = settings_.pool->open;
  std::erase(pool, this);
  if (!open_) {
    if (pool.size() >= settings_.pool->most) {
      pool.front()->open_.reset();
      pool.erase(pool.begin());
    }
    std::unique_ptr<Open> now = open(h);
    if (sizes_of(h, now->space) != sizes_ || number_format_of(h, now->type) != layout_.numbers) {
      throw IoError("the dataset has changed since the run began", {},
                    "do not write to input files while they are read");
    }
    open_ = std::move(now);
  }
  pool.push_back(this);
  return *open_;
}

}  // namespace millrace
