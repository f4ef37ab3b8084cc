// What the tests of input ops share: files in memory, ops by name, rows as text.
#pragma once

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/files/file_system.h"
#include "millrace/input/files/glob.h"

namespace millrace::testing_support {

// A file system in memory. Paths have one folder at most. Constant while it is used, but for the counters.
class MemoryFiles : public FileSystem {
 public:
  std::map<std::string, std::string> files;
  std::set<std::string> folders, links, unreadable, others;
  std::set<std::string> broken;                      // open, but reading fails
  std::map<std::string, std::string> files_at_open;  // what a file holds when it is opened, where not files[path]
  std::map<std::string, std::vector<std::string>> streams;  // what comes, in pieces
  std::set<std::string> failing, waiting;                   // streams that at their end fail, or wait for an interrupt
  std::atomic<int> opened = 0, open_now = 0;
  int may_stay_open = INT_MAX;  // so many, of those that are open at once

  std::unique_ptr<File> open(const std::string& path) override {
    if (unreadable.contains(path)) throw IoError("cannot open the file: Permission denied", {path});
    const auto changed = files_at_open.find(path);
    const auto found = changed != files_at_open.end() ? changed : files.find(path);
    if (changed == files_at_open.end() && found == files.end()) {
      throw IoError("cannot open the file: No such file or directory", {path});
    }
    ++opened;
    return std::make_unique<MemoryFile>(*this, path, found->second);
  }
  std::unique_ptr<ByteStream> open_stream(const std::string& path) override {
    const auto found = streams.find(path);
    if (found == streams.end()) throw IoError("cannot open the file: No such file or directory", {path});
    return std::make_unique<MemoryStream>(*this, path, found->second);
  }
  Type type(const std::string& path) override {
    if (streams.contains(path)) return Type::stream;
    if (path == "." || folders.contains(path)) return Type::folder;
    if (others.contains(path)) return Type::other;
    return files.contains(path) || unreadable.contains(path) ? Type::file : Type::none;
  }
  std::vector<std::string> match(const std::string& pattern) override {
    std::vector<std::string> out;
    for (const std::string& path : all_paths()) {
      if (folder_of(path) == folder_of(pattern) && glob_matches(name_of(pattern), name_of(path))) out.push_back(path);
    }
    return out;
  }
  std::vector<std::string> list(const std::string& folder) override {
    std::vector<std::string> out;
    for (const std::string& path : all_paths()) {
      if (folder_of(path) == folder) out.push_back(name_of(path));
    }
    return out;
  }

 private:
  class MemoryStream : public ByteStream {
   public:
    MemoryStream(const MemoryFiles& owner, std::string path, const std::vector<std::string>& pieces)
        : owner_(owner), path_(std::move(path)), pieces_(pieces) {}
    size_t read(void* to, size_t bytes) override {
      if (next_ == pieces_.size()) {
        if (owner_.failing.contains(path_)) throw IoError("cannot read the file: Input/output error", {path_});
        if (owner_.waiting.contains(path_)) interrupted_.wait(false);
        return 0;
      }
      const std::string& piece = pieces_[next_];
      const size_t count = piece.copy(static_cast<char*>(to), bytes, at_);
      at_ += count;
      if (at_ == piece.size()) {
        at_ = 0;
        ++next_;
      }
      return count;
    }
    void interrupt() noexcept override {
      interrupted_ = true;
      interrupted_.notify_all();
    }

   private:
    const MemoryFiles& owner_;
    const std::string path_;
    const std::vector<std::string>& pieces_;
    size_t next_ = 0, at_ = 0;
    std::atomic<bool> interrupted_ = false;
  };

  class MemoryFile : public File {
   public:
    MemoryFile(MemoryFiles& owner, std::string path, const std::string& bytes)
        : owner_(owner), path_(std::move(path)), bytes_(bytes), stays_(++owner_.open_now <= owner_.may_stay_open) {}
    ~MemoryFile() override { --owner_.open_now; }
    bool may_stay_open() const override { return stays_; }
    uint64_t size() const override {
      const auto now = owner_.files_at_open.find(path_);
      return now != owner_.files_at_open.end() ? now->second.size() : bytes_.size();
    }
    size_t read(uint64_t offset, void* to, size_t bytes) const override {
      if (owner_.broken.contains(path_)) throw IoError("cannot read the file: Input/output error", {path_});
      if (offset >= bytes_.size()) return 0;
      return bytes_.copy(static_cast<char*>(to), bytes, static_cast<size_t>(offset));
    }

   private:
    MemoryFiles& owner_;
    std::string path_;
    const std::string& bytes_;
    const bool stays_;
  };

  std::set<std::string> all_paths() const {
    std::set<std::string> out;
    for (const auto& [path, bytes] : files) out.insert(path);
    for (const auto* more : {&folders, &links, &unreadable, &others}) out.insert(more->begin(), more->end());
    for (const auto& [path, pieces] : streams) out.insert(path);
    return out;
  }
  static std::string folder_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == path.npos ? "." : path.substr(0, slash);
  }
  static std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }
};

// The op `kind` with `options`, as a T.
template <class T>
std::unique_ptr<T> make_op(const std::string& kind, const Spec& options) {
  std::unique_ptr<Op> op = builtin_ops().make({kind, options}, options);
  T* typed = dynamic_cast<T*>(op.get());
  if (typed == nullptr) throw InternalError(kind + " is an op of another sort");
  static_cast<void>(op.release());
  return std::unique_ptr<T>(typed);
}

// The text of the Error that `body` throws, hint and place included; "no error" when it throws none.
template <class Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

template <class E, class Body>
bool throws_exactly(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return typeid(error) == typeid(E);
  }
  return false;
}

template <class T>
Spec list_of(const std::vector<T>& values) {
  Spec out = Spec::list();
  for (const T& value : values) out.append(Spec::of(value));
  return out;
}

inline Spec list_of(std::initializer_list<const char*> values) { return list_of(std::vector<const char*>(values)); }

// Member by member: g++ 12 takes a braced one for uninitialised at -O3.
inline BadRow bad_row(Place place, std::string reason, std::string field = {}, std::string text = {}) {
  BadRow out;
  out.place = std::move(place);
  out.reason = std::move(reason);
  out.field = std::move(field);
  out.text = std::move(text);
  return out;
}

// The values of a row: "features=1,2.5 label=0".
inline std::string row_text(const RowBlock& rows, int64_t row) {
  std::string out;
  for (size_t field = 0; field < rows.spec().fields.size(); ++field) {
    const FieldSpec& spec = rows.spec().fields[field];
    out += cat(out.empty() ? "" : " ", spec.name, "=");
    if (spec.text) {
      const Varying& texts = rows.varying(field, row);
      for (size_t i = 0; i < texts.texts(); ++i) out += cat(i == 0 ? "" : ",", quote(texts.text(i)));
      continue;
    }
    const auto append = [&](auto numbers) {
      for (size_t i = 0; i < numbers.size(); ++i) out += cat(i == 0 ? "" : ",", numbers[i]);
    };
    switch (spec.dtype) {
      case DType::f32: append(rows.numbers<float>(field, row)); break;
      case DType::f64: append(rows.numbers<double>(field, row)); break;
      case DType::i32: append(rows.numbers<int32_t>(field, row)); break;
      case DType::i64: append(rows.numbers<int64_t>(field, row)); break;
      case DType::u8: append(rows.numbers<uint8_t>(field, row)); break;
    }
  }
  return out;
}

}  // namespace millrace::testing_support
