#include "millrace/trainer/config/catalog.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/trainer/files/read_file.h"

namespace millrace {

Catalog Catalog::builtin() { return {LayerCatalog::builtin(), builtin_ops()}; }

std::string_view Catalog::checked(std::string_view name) {
  if (is_name(name)) return name;
  throw ConfigError(cat("the kind ", quote(name), " could not be named in a configuration"), {},
                    "name it with letters, digits, _ and -, the first one a letter or _");
}

namespace {

using plugin_detail::kMark;

constexpr size_t kMaxPluginBytes = size_t{1} << 30;

ConfigError cannot_load(const Place& place, std::string_view reason, std::string_view hint) {
  return ConfigError(cat("the plug-in cannot be loaded: ", reason), place, hint);
}

// The loader does not check this: if the file is too short, the process ends with SIGBUS.
void check_segments(const std::string& bytes, const Place& place) {
  constexpr const char* kHint = "copy or build it again";
  ElfW(Ehdr) header;
  if (bytes.size() < sizeof header) throw cannot_load(place, "it is cut off", kHint);
  std::memcpy(&header, bytes.data(), sizeof header);
  ElfW(Phdr) segment;
  const bool has_table = header.e_phentsize == sizeof segment && header.e_phoff <= bytes.size() &&
                         header.e_phnum <= (bytes.size() - header.e_phoff) / sizeof segment;
  if (!has_table) throw cannot_load(place, "it is cut off or damaged", kHint);
  for (size_t i = 0; i < header.e_phnum; ++i) {
    std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_offset <= bytes.size() && segment.p_filesz <= bytes.size() - segment.p_offset) continue;
    throw cannot_load(place, cat("it is cut off: it has ", bytes.size(), " bytes, one of its segments ends after them"),
                      kHint);
  }
}

// A plug-in describes itself in the bytes of its file, so none of its code need run before it is known to fit.
void check_description(const std::string& bytes, const Place& place) {
  constexpr std::string_view kElf =
      "\x7f"
      "ELF";
  // The library's own code holds the mark, too, but a version follows it only in a plug-in.
  size_t mark = bytes.starts_with(kElf) ? bytes.find(kMark) : bytes.npos;
  const auto is_digit = [&](size_t at) { return at < bytes.size() && bytes[at] >= '0' && bytes[at] <= '9'; };
  while (mark != bytes.npos && !is_digit(mark + kMark.size())) mark = bytes.find(kMark, mark + 1);
  if (mark == bytes.npos) {
    throw ConfigError("it is not a plug-in of Millrace", place,
                      "a plug-in is a shared object with MILLRACE_PLUGIN of <millrace/plugin.h>");
  }
  const plugin_detail::Description own = plugin_detail::describe();
  const std::string_view ours = std::string_view(own.text.data()).substr(kMark.size());
  std::string_view theirs = std::string_view(bytes).substr(mark + kMark.size(), own.text.size());
  theirs = theirs.substr(0, theirs.find('\0'));
  const std::string_view version = ours.substr(0, ours.find('\n')), wanted = theirs.substr(0, theirs.find('\n'));
  if (wanted != version) {
    throw ConfigError(cat("the plug-in was built for Millrace ", quote(wanted), ", this is ", quote(version)), place,
                      "build it again with the headers of this version");
  }
  if (theirs != ours) {
    throw ConfigError(cat("the plug-in was built for another build of Millrace ", version, " than this one"), place,
                      "build it again with this one's headers and a compiler of the same ABI");
  }
}

}  // namespace

void load_plugin(const std::string& path, Catalog& catalog) {
  const Place place{path, 0, 0};
  {
    // A device may give bytes without end.
    std::error_code ignored;
    if (std::filesystem::is_other(path, ignored)) throw cannot_load(place, "it is not a regular file", {});
    const std::string bytes = read_file(path, kMaxPluginBytes, "the plug-in");
    check_description(bytes, place);
    check_segments(bytes, place);
  }
  // Without a slash, the loader would look for the name in other folders.
  const std::string file = path.find('/') == path.npos ? "./" + path : path;
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    throw cannot_load(place, reason != nullptr ? reason : "for an unknown reason",
                      "a plug-in must not link a library of Millrace; a program that links the static one exports its "
                      "names with ENABLE_EXPORTS");
  }
  void* const address = ::dlsym(library, "millrace_plugin_add");
  if (address == nullptr) throw ConfigError("the plug-in has no MILLRACE_PLUGIN", place);
  void (*add)(Catalog&) = nullptr;
  static_assert(sizeof add == sizeof address);
  std::memcpy(&add, &address, sizeof add);
  Catalog with_plugin = catalog;
  try {
    add(with_plugin);
  } catch (Error& error) {
    error.set_place(place);
    throw;
  } catch (const std::exception& other) {
    throw ConfigError(cat("the plug-in failed: ", what_of(other)), place);
  } catch (...) {
    throw ConfigError("the plug-in failed: an exception of unknown type", place);
  }
  catalog = std::move(with_plugin);
}

}  // namespace millrace
