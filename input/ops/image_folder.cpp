// image_folder: nothing to rows. Each picture in a folder is a row: the bytes of its file, which decode_image decodes,
// and the number of its class, the folder that it lies in.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/input/catalog.h"
#include "millrace/input/files/matched_files.h"
#include "millrace/input/files/open_files.h"
#include "millrace/input/ops/shared/fields.h"
#include "millrace/input/sources/file_names.h"

namespace millrace {

namespace {

constexpr uint64_t kMostPictureBytes = uint64_t{1} << 30;
constexpr int32_t kNoClass = -1;

struct ImageFolderOptions : FileNamesOptions {
  std::vector<std::string> dir;
  std::optional<std::vector<std::string>> classes;
  Place dir_place;

  void declare(OptionReader& o) {
    o.required("dir", dir,
               "a folder with a folder for each class, or several; for predictions also a folder of pictures or a "
               "pattern");
    o.may_be("dir", {{.is = OptionForm::Is::text},
                     {.is = OptionForm::Is::list, .items = option_forms<std::string>(), .not_empty = true}});
    o.used_as("dir", OptionUse::files);
    FileNamesOptions::declare(o);
    o.optional("classes", classes,
               "the names of the classes, in the order of their numbers; absent: the folders, sorted by their bytes");
    if (!o.reading()) return;
    dir_place = o.node("dir").place();
    if (dir.empty()) throw o.node("dir").error("expected at least one folder, got an empty list");
    if (!classes) return;
    if (classes->empty()) throw o.node("classes").error("expected at least one class, got an empty list");
    std::set<std::string_view> names;
    for (const std::string& name : *classes) {
      if (!names.insert(name).second) throw o.node("classes").error(cat("the class ", quote(name), " is listed twice"));
    }
  }
};

bool is_picture(std::string_view name) {
  return std::ranges::any_of(std::initializer_list<std::string_view>{".jpg", ".jpeg", ".png"}, [&](auto ending) {
    return name.size() > ending.size() && same_text(name.substr(name.size() - ending.size()), ending);
  });
}

// The name of the folder that the file lies in; empty if the path names none.
std::string_view folder_name(std::string_view path) {
  const std::string_view folder = path.substr(0, std::min(path.rfind('/'), path.size()));
  return folder.size() < path.size() ? folder.substr(folder.rfind('/') + 1) : std::string_view();
}

// The pictures of folders and patterns.
class PictureSearch {
 public:
  PictureSearch(FileSystem& files, Place place) : files_(files), place_(std::move(place)) {}

  void add(std::string dir) {
    while (dir.size() > 1 && dir.ends_with('/')) dir.pop_back();
    if (files_.type(dir) == FileSystem::Type::folder) return add_folder(dir);
    for (MatchedFile& file : match_files({&dir, 1}, place_, files_)) {
      pattern_folders.emplace(folder_name(file.path));
      found.push_back(std::move(file));
    }
  }

  std::vector<MatchedFile> found;
  // The names of folders that are classes, with pictures or not, and of those where patterns found some.
  std::set<std::string> class_folders, pattern_folders;
  std::vector<std::string> warnings;

 private:
  void add_folder(const std::string& dir) {
    const std::string prefix = dir == "/" ? dir : dir + '/';
    left_out_.clear();
    std::vector<std::string> pictures, folders;
    for (const std::string& name : files_.list(dir)) {
      if (name.starts_with('.')) continue;
      const std::string path = prefix + name;
      const bool folder = files_.type(path) == FileSystem::Type::folder;
      if (folder) {
        folders.push_back(name);
      } else if (is_picture(name)) {
        pictures.push_back(path);
      } else {
        left_out_.push_back(path);
      }
    }
    if (folders.empty()) {
      take(pictures);
    } else {
      left_out_.insert(left_out_.begin(), pictures.begin(), pictures.end());
      for (const std::string& name : folders) add_class(prefix + name, name);
    }
    if (left_out_.empty()) return;
    warnings.push_back(cat(count_of(std::ssize(left_out_), "file"), " of ", dir, left_out_.size() == 1 ? " is" : " are",
                           " left out, as only .jpg, .jpeg and .png in the folders of classes are read: ",
                           left_out_.front(), left_out_.size() == 1 ? "" : ", .."));
  }

  void add_class(const std::string& folder, const std::string& name) {
    std::vector<std::string> pictures;
    for (const std::string& file : files_.list(folder)) {
      if (file.starts_with('.')) continue;
      const std::string path = cat(folder, '/', file);
      const bool picture = is_picture(file) && files_.type(path) != FileSystem::Type::folder;
      (picture ? pictures : left_out_).push_back(path);
    }
    class_folders.insert(name);
    if (pictures.empty()) warnings.push_back(cat("the class ", quote(name), " has no pictures: ", folder));
    take(pictures);
  }

  void take(const std::vector<std::string>& pictures) {
    std::ranges::move(match_files(pictures, place_, files_), std::back_inserter(found));
  }

  FileSystem& files_;
  const Place place_;
  std::vector<std::string> left_out_;
};

class ImageFolder final : public FileSource {
 public:
  using Options = ImageFolderOptions;
  static constexpr std::string_view kDoc = "reads pictures from a folder for each class";
  static constexpr std::string_view kExample = "dir: data/train, epochs: 10";

  explicit ImageFolder(const Options& options)
      : FileSource({},
                   std::make_unique<FileNames>(NamedFiles{.match = [this](FileSystem& system) { return find(system); },
                                                          .place = options.dir_place,
                                                          .by_content = false},
                                               options)),
        options_(options),
        classes_(options.classes.value_or(std::vector<std::string>())) {}

  Port open(const BindArgs& args) override {
    for (const auto& file : files()) {
      if (file->stream) {
        throw ConfigError(cat("pictures cannot be read from standard input or a pipe: ", file->path),
                          options_.dir_place, "write them to files first");
      }
      largest_ = std::max(largest_, file->size);
      if (file->size <= kMostPictureBytes) continue;
      throw DataError(cat("the file has ", file->size, " bytes, a picture at most ", kMostPictureBytes), {file->path});
    }
    RowSpec rows = {{text_field("image"), {"label", DType::i32, Shape{1}}}};
    if (args.bad_rows_stay) rows.fields.push_back(text_field(std::string(kRowError)));
    rows_ = std::make_shared<const RowSpec>(std::move(rows));
    return {.type = PortType::rows, .rows = *rows_};
  }

  // Offsets count rows, and a file is one, so it is one unit, too.
  uint64_t end_of(const FileEntry&) const override { return 1; }

  void read(Chunk& chunk) const override {
    const Unit& unit = chunk.unit;
    auto& bytes = chunk.work().get<std::vector<char>>(this);
    bytes.resize(unit.file->size);
    {
      const ReadingTurn turn;
      const size_t got = open_file(*unit.file).file->read(0, bytes.data(), bytes.size());
      if (got < bytes.size()) throw_shrunk(*unit.file, got);
    }
    RowBlock& rows = chunk.rows;
    rows.configure(rows_, 1);
    rows.resize(1);
    set_text(rows, 0, 0, {bytes.data(), bytes.size()});
    *rows.row<int32_t>(1, 0) = labels_[unit.file->index];
    if (rows_->fields.size() > 2) set_text(rows, 2, 0, {});
    rows.id(0) = {
        .source = unit.source, .pass = unit.pass, .file = unit.file->index, .length = 1, .line = 1, .next_line = 2};
  }

  ChunkBound chunk_bound() const override { return {.text_bytes = largest_, .rows = 1, .records = 1}; }

  // A picture's place is its file, which has no lines.
  Place place(const RowId& id) const override { return {FileSource::place(id).file}; }

  std::vector<std::string> warnings() const override { return warnings_; }

  Spec found_options() const override {
    if (options_.classes) return {};
    return Spec::map().set("classes", OptionType<std::vector<std::string>>::write(classes_));
  }

  void undo(FieldHistory& history) const override {
    if (history.field == "label") history.texts = classes_;
  }

 private:
  std::vector<MatchedFile> find(FileSystem& system) {
    PictureSearch search(system, options_.dir_place);
    for (const std::string& dir : options_.dir) search.add(dir);
    if (search.found.empty()) {
      throw MissingError(cat("there is no picture in ", join(options_.dir)), options_.dir_place,
                         "pictures are files whose names end in .jpg, .jpeg or .png");
    }
    if (!options_.classes) {
      std::set<std::string> folders = search.class_folders;
      folders.insert(search.pattern_folders.begin(), search.pattern_folders.end());
      folders.erase(std::string());
      classes_.assign(folders.begin(), folders.end());
    }
    for (const std::string& name : classes_) {
      if (find_invalid_utf8(name) == name.npos) continue;
      throw ConfigError(cat("the name of the folder ", quote(name), " is not UTF-8, and no model can keep it"),
                        options_.dir_place, "rename the folder");
    }
    if (classes_.empty()) {
      throw ConfigError(cat("there are no classes: ", join(options_.dir), " holds no folders"), options_.dir_place,
                        "give the pictures of each class a folder of their own, or name the classes: classes: [..]");
    }
    warnings_ = std::move(search.warnings);
    label(search);
    return std::move(search.found);
  }

  void label(const PictureSearch& search) {
    std::map<std::string_view, int32_t> numbers;
    for (const std::string& name : classes_) numbers.emplace(name, static_cast<int32_t>(numbers.size()));
    for (const std::string& name : search.class_folders) {
      if (!numbers.contains(name)) throw unknown_class(name);
    }
    for (const MatchedFile& file : search.found) {
      const auto number = numbers.find(folder_name(file.path));
      labels_.push_back(number != numbers.end() ? number->second : kNoClass);
    }
  }

  DataError unknown_class(const std::string& name) const {
    const std::string near = nearest(name, classes_);
    return DataError(cat("the folder ", quote(name), " in ", join(options_.dir), " is none of the classes ",
                         shortened(join(classes_), 200)),
                     {},
                     near.empty() ? "pictures without classes are read by a pattern: 'new/*/*.jpg'"
                                  : cat("did you mean ", near, '?'));
  }

  const Options options_;
  std::vector<std::string> classes_;
  std::vector<int32_t> labels_;  // by FileEntry::index
  std::vector<std::string> warnings_;
  uint64_t largest_ = 0;  // bytes of a file
  SharedRowSpec rows_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(image_folder, ImageFolder);
