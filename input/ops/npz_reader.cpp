// npz_reader: rows of NumPy's archives (.npz), an array of the archive for each field.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/crc32.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/arrays/array_source.h"
#include "millrace/input/arrays/zip_directory.h"
#include "millrace/input/catalog.h"

namespace millrace {
namespace {

struct NpzReaderOptions {
  Spec fields;
  int64_t chunk_bytes = 262144;

  void declare(OptionReader& o) {
    o.required("fields", fields, "name: the name of its array in the archive, for each field");
    o.may_be("fields", {{.is = OptionForm::Is::map, .items = option_forms<std::string>()}});
    o.used_as("fields", OptionUse::fields);
    declare_chunk_bytes(o, chunk_bytes);
    if (!o.reading()) return;
    names_of_fields(fields, "for example fields: {features: x, label: y}");
    for (const auto& [name, array] : fields.entries()) array.as_string();
  }
};

constexpr std::string_view kNpyEnding = ".npy";
constexpr size_t kShownArrays = 20;

std::string without_ending(std::string_view name) {
  return std::string(name.ends_with(kNpyEnding) ? name.substr(0, name.size() - kNpyEnding.size()) : name);
}

// Throws DataError if not all bytes of the member come out of it as they went in.
void check_unpacked(const File& file, const ZipMember& member) {
  std::vector<char> piece(size_t{256} << 10);
  uint32_t crc = 0;
  uint64_t at = 0;
  while (at <= member.bytes) {
    const size_t got = file.read(at, piece.data(), piece.size());
    if (got == 0) break;
    crc = crc32_of({piece.data(), got}, crc);
    at += got;
  }
  if (at == member.bytes && crc == member.crc) return;
  throw DataError(cat("the ", at != member.bytes ? "length" : "checksum", " is not what the archive says, at byte ",
                      member.header, " of the file"),
                  {}, "is the file damaged?");
}

class NpzReader final : public ArraySource {
 public:
  using Options = NpzReaderOptions;
  static constexpr std::string_view kDoc = "reads archives of NumPy, an array for each field";
  static constexpr std::string_view kExample = "fields: {features: x, label: y}";

  explicit NpzReader(const Options& options)
      : ArraySource({.fields = names_of_fields(options.fields, {}),
                     .chunk_bytes = static_cast<uint64_t>(options.chunk_bytes)}) {
    for (const auto& [field, name] : options.fields.entries()) arrays_.push_back(name.as_string());
  }

 private:
  std::vector<StoredArray> arrays_of(size_t index) const override {
    const std::shared_ptr<const FileEntry>& entry = entries()[index];
    const std::shared_ptr<const File> file = open_file(*entry).file;
    const FileRange archive{*file, 0, entry->size};
    const std::vector<ZipMember> members = read_zip_directory(archive);
    std::vector<StoredArray> out;
    for_each([&](size_t array) {
      const ZipMember& member = find(members, arrays_[array]);
      const FileRange bytes = bytes_of(member, archive);
      const Compression compression = compression_of_member(member);
      if (compression == Compression::none && bytes.size != member.bytes) throw damaged_archive(member.header);
      const ArrayPlace where = {compression, bytes.begin, bytes.begin + bytes.size, member.bytes};
      out.push_back(stored_array(entry, where, read_npy_header));
    });
    check_headers(out);  // before all is unpacked, which takes long
    for_each([&](size_t array) {
      if (out[array].unpacked) check_unpacked(*out[array].unpacked, find(members, arrays_[array]));
    });
    return out;
  }

  // Calls work(array) for each of arrays_; its errors name the array.
  template <class Work>
  void for_each(const Work& work) const {
    for (size_t array = 0; array < arrays_.size(); ++array) {
      try {
        work(array);
      } catch (Error& error) {
        error.add_context(cat("array ", quote(arrays_[array])));
        throw;
      }
    }
  }

  static const ZipMember& find(const std::vector<ZipMember>& members, const std::string& name) {
    const std::string wanted = without_ending(name);
    // The last one of a name, and one without the ending too, as NumPy does.
    for (const std::string& stored : {cat(wanted, kNpyEnding), wanted}) {
      const auto found = std::ranges::find(members.rbegin(), members.rend(), stored, &ZipMember::name);
      if (found != members.rend()) return *found;
    }
    std::vector<std::string> known;
    for (const ZipMember& member : members) known.push_back(without_ending(member.name));
    const std::string near = nearest(wanted, known);
    const size_t count = known.size();
    if (count > kShownArrays) {
      known.resize(kShownArrays);
      known.push_back(cat(count - kShownArrays, " more"));
    }
    throw DataError("the archive has no such array", {},
                    !near.empty()   ? cat("did you mean ", near, "?")
                    : known.empty() ? "it is empty"
                                    : cat("it has ", join(known)));
  }

  static Compression compression_of_member(const ZipMember& member) {
    if (member.encrypted) throw DataError("the array is encrypted");
    if (member.method == ZipMember::Method::deflated) return Compression::deflate;
    if (member.method == ZipMember::Method::stored) return Compression::none;
    throw DataError(cat("the array is compressed by method ", static_cast<int>(member.method),
                        " of zip, only 8 (deflate) is read"));
  }

  std::vector<std::string> arrays_;  // by field
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(npz_reader, NpzReader);
