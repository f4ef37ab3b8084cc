#include "millrace/input/arrays/array_files.h"

#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/files/matched_files.h"

namespace millrace {

namespace {

constexpr std::string_view kArrayFilesExample = "for example fields: {features: x.npy, label: y.npy}";

// The files of the first field, then those of the second, and so on: equally many.
std::vector<MatchedFile> match_fields(const Spec& fields, FileSystem& file_system) {
  std::vector<MatchedFile> all;
  size_t count = 0;
  for (const auto& [name, files] : fields.entries()) {
    std::vector<MatchedFile> matched =
        match_files(OptionType<std::vector<std::string>>::read(files), files.place(), file_system);
    if (all.empty()) count = matched.size();
    if (matched.size() != count) {
      const auto& [first, first_files] = fields.entries().front();
      const bool lacks = matched.size() < count;
      const std::string& alone = lacks ? all[matched.size()].path : matched[count].path;
      throw DataError(cat("the field ", first, " has ", count_of(static_cast<int64_t>(count), "file"), ", the field ",
                          name, " has ", matched.size()),
                      files.place(), cat("the field ", lacks ? name : first, " has no file for ", alone));
    }
    all.insert(all.end(), std::move_iterator(matched.begin()), std::move_iterator(matched.end()));
  }
  return all;
}

std::unique_ptr<NameSource> names_of_arrays(const ArrayFilesOptions& options) {
  return std::make_unique<FileNames>(
      NamedFiles{
          .match = [fields = options.fields](FileSystem& file_system) { return match_fields(fields, file_system); },
          .place = options.fields.place(),
          .lists = options.fields.size()},
      options);
}

}  // namespace

void ArrayFilesOptions::declare(OptionReader& o) {
  using Is = OptionForm::Is;
  o.required("fields", fields, "name: a path, a pattern or a list of them, for each field");
  o.may_be("fields", {{.is = Is::map, .items = option_forms<std::vector<std::string>>()}});
  o.used_as("fields", OptionUse::files);
  FileNamesOptions::declare(o);
  declare_chunk_bytes(o, chunk_bytes);
  if (!o.reading()) return;
  names_of_fields(fields, kArrayFilesExample);
  for (const auto& [name, files] : fields.entries()) {
    if (OptionType<std::vector<std::string>>::read(files).empty()) {
      throw files.error("expected at least one file or pattern, got an empty list");
    }
  }
}

ArrayFiles::ArrayFiles(const ArrayFilesOptions& options, ReadHeader read_header)
    : ArraySource({.fields = names_of_fields(options.fields, {}),
                   .chunk_bytes = static_cast<uint64_t>(options.chunk_bytes),
                   .lists = options.fields.size(),
                   .own_names = names_of_arrays(options)}),
      read_header_(read_header) {}

std::vector<StoredArray> ArrayFiles::arrays_of(size_t index) const {
  std::vector<StoredArray> out;
  for (size_t i = index; i < entries().size(); i += named()) {
    const std::shared_ptr<const FileEntry>& file = entries()[i];
    char start[kMagicBytes];
    const size_t got = open_file(*file).file->read(0, start, sizeof start);
    out.push_back(
        stored_array(file, {.compression = compression_of({start, got}), .begin = 0, .end = file->size}, read_header_));
  }
  return out;
}

}  // namespace millrace
