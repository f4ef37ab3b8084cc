#include "millrace/trainer/remote/rooted_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/input/files/glob.h"

namespace millrace {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostMatches = 10'000'000;
constexpr int kMostLinksOfEntry = 40;

// Paths without links end in no slash: the root of the system is empty.
const std::string& or_slash(const std::string& real) {
  static const std::string slash = "/";
  return real.empty() ? slash : real;
}

std::optional<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), std::free);
  if (real == nullptr) return {};
  return std::string_view(real.get()) == "/" ? "" : std::string(real.get());
}

// Takes the first name off a path, with the slashes after it.
struct FirstName {
  std::string_view name, slashes;
  explicit FirstName(std::string_view& rest) {
    name = rest.substr(0, rest.find('/'));
    rest.remove_prefix(name.size());
    slashes = rest.substr(0, rest.find_first_not_of('/'));
    rest.remove_prefix(slashes.size());
  }
};

[[noreturn]] void fail_to_open(const std::string& path, std::string_view why) {
  throw IoError(cat("cannot open the file: ", why), {path});
}

// Calls `body`, whose errors get the reader's path as their place.
template <class Body>
auto as_seen(const std::string& path, const Body& body) {
  try {
    return body();
  } catch (const IoError& error) {
    throw IoError(error.message(), {path}, error.hint());
  }
}

}  // namespace

// What was behind paths when someone first looked there. Thread-safe.
class FirstLooks {
 public:
  // Throws IoError if another file is behind `path` now, or it has changed. `real` is the path without links.
  void check(const std::string& real, const std::string& path) {
    struct stat now {};
    if (::stat(real.c_str(), &now) != 0) throw_changed(path);
    const Look look = {static_cast<int64_t>(now.st_dev),
                       static_cast<int64_t>(now.st_ino),
                       now.st_size,
                       now.st_mtim.tv_sec,
                       now.st_mtim.tv_nsec,
                       now.st_ctim.tv_sec,
                       now.st_ctim.tv_nsec};
    const MutexLock lock(mutex_);
    if (looks_.try_emplace(path, look).first->second != look) throw_changed(path);
  }

 private:
  // Device, number, size and times of the last change. A change within some milliseconds of another one may leave all
  // of them as they are.
  using Look = std::array<int64_t, 7>;

  [[noreturn]] static void throw_changed(const std::string& path) {
    throw IoError("the file has changed since the worker compared it", {path},
                  "do not write to input files while they are read");
  }

  Mutex mutex_;
  std::unordered_map<std::string, Look> looks_ MILLRACE_GUARDED_BY(mutex_);
};

namespace {

class RootedFile final : public File {
 public:
  RootedFile(std::string path, std::string real, std::unique_ptr<File> file, std::shared_ptr<FirstLooks> first_looks)
      : path_(std::move(path)), real_(std::move(real)), file_(std::move(file)), first_looks_(std::move(first_looks)) {
    first_looks_->check(real_, path_);
  }

  uint64_t size() const override {
    return as_seen(path_, [&] { return file_->size(); });
  }
  uint64_t size_at_open() const override { return file_->size_at_open(); }
  bool may_stay_open() const override { return file_->may_stay_open(); }
  // Checks after the read, so the bytes come from the file that was there at the first look.
  size_t read(uint64_t offset, void* to, size_t bytes) const override {
    const size_t got = as_seen(path_, [&] { return file_->read(offset, to, bytes); });
    first_looks_->check(real_, path_);
    return got;
  }

 private:
  const std::string path_, real_;
  const std::unique_ptr<File> file_;
  const std::shared_ptr<FirstLooks> first_looks_;
};

bool is_pattern(std::string_view name) {
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '*' || name[i] == '?' || name[i] == '[') return true;
    if (name[i] == '\\') ++i;
  }
  return false;
}

std::string unescaped(std::string_view pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    out += pattern[i];
  }
  return out;
}

}  // namespace

RootedFiles::RootedFiles(const std::string& root, const std::string& hidden)
    : hidden_(hidden.empty() ? "" : real_path(hidden).value_or("")), first_looks_(std::make_shared<FirstLooks>()) {
  const std::optional<std::string> real = real_path(root.empty() ? "." : root);
  struct stat status {};
  if (!real || ::stat(or_slash(*real).c_str(), &status) != 0) {
    throw MissingError(cat("cannot use the folder: ", errno_text(errno)), {root});
  }
  if (!S_ISDIR(status.st_mode)) throw MissingError("expected a folder", {root});
  begin_ = *real;
  if (!root.empty()) root_ = begin_;
}

bool RootedFiles::is_inside(std::string_view real) const {
  return real.starts_with(root_) && (real.size() == root_.size() || real[root_.size()] == '/');
}

RootedFiles::Found RootedFiles::find(std::string_view path) const {
  // "-" is a stream to readers of files; this one would be the worker's.
  if (path.empty() || path == "-" || path.find('\0') != path.npos) return {.path = {}, .code = ENOENT};
  if (path.size() >= PATH_MAX) return {.path = {}, .code = ENAMETOOLONG};
  if (!path.starts_with('/')) return follow(path, begin_);
  Found begin = enter(path);
  return begin.code != 0 ? begin : follow(path, std::move(begin.path));
}

// Follows a path from outside until it is in the folder; `path` is then the rest. It does not tell how far it came.
RootedFiles::Found RootedFiles::enter(std::string_view& path) const {
  std::string at;
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  while (!is_inside(at)) {
    if (path.empty()) return {.path = {}, .code = ENOENT};
    const std::string_view name = FirstName(path).name;
    if (name == ".") continue;
    const std::optional<std::string> next = name == ".." ? std::nullopt : real_path(cat(at, '/', name));
    if (!next) return {.path = {}, .code = ENOENT};
    at = *next;
  }
  return {.path = at, .code = 0};
}

// Follows a path from the folder `at`, which is inside, and never leaves.
RootedFiles::Found RootedFiles::follow(std::string_view path, std::string at) const {
  while (!path.empty()) {
    const FirstName first(path);
    if (first.name == ".") continue;
    if (first.name == "..") {
      if (at == root_) return {.path = {}, .code = ENOENT};
      at.resize(at.rfind('/'));
      continue;
    }
    std::string next = cat(at, '/', first.name);
    struct stat status {};
    if (::lstat(next.c_str(), &status) != 0) return {.path = {}, .code = errno};
    if (S_ISLNK(status.st_mode)) {
      std::optional<std::string> real = real_path(next);
      if (!real || !is_inside(*real) || ::stat(or_slash(*real).c_str(), &status) != 0) {
        return {.path = {}, .code = ENOENT};
      }
      next = std::move(*real);
    }
    if (!first.slashes.empty() && !S_ISDIR(status.st_mode)) return {.path = {}, .code = ENOTDIR};
    at = std::move(next);
  }
  if (!hidden_.empty() && at == hidden_) return {.path = {}, .code = ENOENT};
  return {.path = std::move(at), .code = 0};
}

std::unique_ptr<File> RootedFiles::open(const std::string& path) {
  const Found found = find(path);
  if (found.code != 0) fail_to_open(path, errno_text(found.code));
  const Type what = local().type(or_slash(found.path));
  if (what != Type::file && what != Type::folder) fail_to_open(path, "it is not a plain file");
  if (what == Type::file) first_looks_->check(found.path, path);
  std::unique_ptr<File> file = as_seen(path, [&] { return local().open(or_slash(found.path)); });
  return std::make_unique<RootedFile>(path, or_slash(found.path), std::move(file), first_looks_);
}

std::unique_ptr<ByteStream> RootedFiles::open_stream(const std::string& path) {
  throw ConfigError("workers read no streams", {path}, "give files, or leave out the key workers");
}

FileSystem::Type RootedFiles::type(const std::string& path) {
  const Found found = find(path);
  if (found.code != 0) return Type::none;
  const Type what = local().type(or_slash(found.path));
  return what == Type::stream ? Type::other : what;
}

FileSystem::Look RootedFiles::look(const std::string& path) {
  const Found found = find(path);
  if (found.code == EACCES) fail_to_open(path, errno_text(EACCES));
  if (found.code != 0) return {};
  Look out = as_seen(path, [&] { return local().look(or_slash(found.path)); });
  if (out.type == Type::stream) out.type = Type::other;
  if (out.type == Type::file) first_looks_->check(found.path, path);
  return out;
}

bool RootedFiles::same(const std::string& a, const std::string& b) {
  const Found first = find(a), second = find(b);
  if (first.code != 0 || second.code != 0) return a == b;
  return local().same(or_slash(first.path), or_slash(second.path));
}

// Whether an entry of a folder, which is inside, is there: it is no link, or its links stay inside, whether they end
// at something or not.
bool RootedFiles::leads_inside(const std::string& entry) const {
  struct stat status {};
  if (::lstat(entry.c_str(), &status) != 0) return false;
  if (!S_ISLNK(status.st_mode)) return entry != hidden_;
  if (const std::optional<std::string> real = real_path(entry)) return is_inside(*real) && *real != hidden_;
  std::error_code failure;
  fs::path at = entry;
  for (int links = 0; links < kMostLinksOfEntry && fs::is_symlink(at, failure); ++links) {
    const fs::path to = fs::read_symlink(at, failure);
    const fs::path next = at.parent_path() / to;
    if (!failure) at = (fs::weakly_canonical(next.parent_path(), failure) / next.filename()).lexically_normal();
    if (failure || !is_inside(at.string())) return false;
  }
  return true;
}

// Whether lstat() would find it.
bool RootedFiles::is_there(std::string_view path) const {
  if (find(path).code == 0) return true;
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == path.npos ? path : path.substr(slash + 1);
  if (name.empty() || name == "." || name == "..") return false;
  const Found folder = find(slash == path.npos ? "." : path.substr(0, slash + 1));
  return folder.code == 0 && leads_inside(cat(folder.path, '/', name));
}

std::vector<std::string> RootedFiles::names_in(const std::string& folder) const {
  const Found found = find(folder);
  if (found.code == ENOENT || found.code == ENOTDIR) return {};
  if (found.code != 0) throw IoError(cat("cannot read the folder: ", errno_text(found.code)), {folder});
  std::vector<std::string> out = as_seen(folder, [&] { return list_folder(or_slash(found.path)); });
  std::erase_if(out, [&](const std::string& name) { return !leads_inside(cat(found.path, '/', name)); });
  return out;
}

// Replaces each of `folders` by the paths in it that `name` may mean, with the `slashes` after it.
void RootedFiles::expand(std::vector<std::string>& folders, std::string_view name, std::string_view slashes) const {
  if (!is_pattern(name)) {
    for (std::string& folder : folders) folder += cat(unescaped(name), slashes);
    return;
  }
  std::vector<std::string> found;
  for (const std::string& folder : folders) {
    for (const std::string& entry : names_in(folder.empty() ? "." : folder)) {
      if (!glob_matches(name, entry)) continue;
      if (found.size() == kMostMatches) throw IoError("the pattern matches too many paths");
      found.push_back(cat(folder, entry, slashes));
    }
  }
  folders = std::move(found);
}

// As glob_paths() does it, but it looks at nothing outside the folder.
std::vector<std::string> RootedFiles::match(const std::string& pattern) {
  std::string_view rest = pattern;
  const std::string_view begin = rest.substr(0, rest.find_first_not_of('/'));
  rest.remove_prefix(begin.size());
  std::vector<std::string> paths = {std::string(begin)};
  bool listed = false;
  while (!rest.empty()) {
    const FirstName first(rest);
    expand(paths, first.name, first.slashes);
    listed = is_pattern(first.name) && first.slashes.empty();
  }
  if (!listed) std::erase_if(paths, [this](const std::string& path) { return !is_there(path); });
  std::sort(paths.begin(), paths.end());
  return paths;
}

uint64_t RootedFiles::written(const std::vector<std::string>& paths) const {
  std::string times;
  for (const std::string& path : paths) {
    struct stat status {};
    const Found found = find(path);
    if (found.code == 0 && ::stat(or_slash(found.path).c_str(), &status) == 0) {
      times += cat(status.st_mtim.tv_sec, ' ', status.st_mtim.tv_nsec);
    }
    times += '\n';
  }
  return fnv1a64(times);
}

std::vector<std::string> RootedFiles::list(const std::string& folder) { return names_in(folder); }

}  // namespace millrace
