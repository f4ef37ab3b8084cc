// Who may include what: folders depend downwards only, and each heavy library is seen by its owners alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/text.h"
#include "tests/support/paths.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

// The folders that files of a folder may include, besides its own.
const std::map<std::string, std::vector<std::string>> kBelow = {{"core", {}},
                                                                {"layers", {"core"}},
                                                                {"input", {"core"}},
                                                                {"trainer", {"core", "layers", "input"}},
                                                                {"api", {"core", "layers", "input", "trainer"}},
                                                                {"cli", {"core", "layers", "input", "trainer"}}};

// Their rooms: a file may include those of its own room and of those before it. "" is what lies beside the rooms.
const std::map<std::string, std::vector<std::string>> kRooms = {
    {"input",
     {"files", "rows", "compressed", "", "sources", "csv", "arrays", "lmdb", "hdf5", "parquet", "pictures", "tfrecord",
      "run", "graph", "ops"}},
    {"trainer", {"files", "step", "delivery", "config", "input", "predict", "export", "checkpoint", "remote", ""}},
    {"cli",
     {"text", "process", "generate", "init", "reference", "arguments", "help", "rows", "compare", "speed", "report",
      "convert", "export", "doctor", "verify", "serve", "commands", ""}}};

// Files that lie in `folder` and end in `ending`; either may be empty.
struct Owner {
  std::string_view folder, ending;
};

struct Library {
  std::string_view name;
  std::vector<std::string_view> includes;  // beginnings of what follows #include
  std::vector<Owner> owners;
};
const Library kLibraries[] = {
    {"oneTBB", {"<oneapi/tbb", "<tbb/"}, {{"core/", "executor.cpp"}}},
    {"OpenMP", {"<omp.h>"}, {}},  // not every compiler has it; core/threads/executor.cpp says what it calls
    {"oneDNN",
     {"<dnnl", "<oneapi/dnnl"},
     {{"core/kernels/", ".cpp"},
      {"core/kernels/onednn_planning", ".h"},
      {"core/kernels/slot_primitive", ".h"},
      {"core/kernels/images/weight_layout", ".h"}}},
    {"CUDA",
     {"<cuda", "<cublas", "<cudnn", "<curand", "<nccl", "<nvtx", "<cooperative_groups", "<mma.h>"},
     {{"", ".cu"}, {"", ".cuh"}, {"core/cuda/", ""}}},
    {"CUB", {"<cub/", "<thrust/", "<cuda/"}, {{"core/cuda/", "launch.cuh"}}},
    {"yaml-cpp", {"<yaml-cpp/"}, {{"trainer/files/", ".cpp"}}},
    {"fast_float", {"<fast_float/"}, {{"input/", ".cpp"}}},
    {"nlohmann-json", {"<nlohmann/"}, {{"trainer/files/", "model_header.cpp"}, {"cli/serve/", "json_rows.cpp"}}},
    {"xxHash", {"<xxhash", "<xxh3"}, {{"trainer/files/", "checksum.cpp"}, {"input/rows/", "frame_bytes.cpp"}}},
    {"zlib, libdeflate, zstd", {"<zlib", "<libdeflate", "<zstd"}, {{"input/compressed/", ".cpp"}}},
    {"snappy, lz4", {"<snappy", "<lz4"}, {{"input/parquet/", ".cpp"}}},
    {"libjpeg, libpng", {"<jpeg", "<png"}, {{"input/pictures/", ".cpp"}}},
    {"fmt", {"<fmt/"}, {{"cli/", ""}}},
};

bool owns(const Library& library, const std::string& path) {
  return std::any_of(library.owners.begin(), library.owners.end(), [&](const Owner& owner) {
    return path.starts_with(owner.folder) && path.ends_with(owner.ending);
  });
}

bool belongs_to(const Library& library, const std::string& include) {
  return std::any_of(library.includes.begin(), library.includes.end(),
                     [&](std::string_view beginning) { return include.starts_with(beginning); });
}

// The place of the path's room among those of its folder; 0 in a folder without rooms.
ptrdiff_t place_of_room(const std::string& path) {
  const size_t slash = path.find('/'), next = path.find('/', slash + 1);
  const auto found = kRooms.find(path.substr(0, slash));
  if (found == kRooms.end()) return 0;
  const std::vector<std::string>& rooms = found->second;
  const std::string room = next == std::string::npos ? "" : path.substr(slash + 1, next - slash - 1);
  const auto place = std::find(rooms.begin(), rooms.end(), room);
  if (place == rooms.end()) ADD_FAILURE() << path << " lies in a room without a place in kRooms";
  return place - rooms.begin();
}

// What is wrong with `include` (as written, with quotes or brackets) in the file `path`; empty when nothing is.
std::string complaint(const std::string& path, const std::string& include) {
  for (const Library& library : kLibraries) {
    if (belongs_to(library, include) && !owns(library, path)) {
      return cat(path, " includes ", include, ", but ", library.name, " is not for this file");
    }
  }
  if (include.front() != '"') return {};
  if (include.ends_with(".cuh\"") && path != "core/parallel.h") {
    return cat(path, " includes ", include, ", but CUDA is not for this file");
  }
  // The generated one; and the headers for users, which lie in api/.
  if (include == "\"millrace/version.h\"") return {};
  for (const char* header : {"\"millrace/c.h\"", "\"millrace/extend.h\"", "\"millrace/testing.h\""}) {
    if (path.starts_with("api/") && include == header) return {};
  }
  const std::string prefix = "\"millrace/";
  const size_t slash = include.find('/', prefix.size());
  if (!include.starts_with(prefix) || slash == std::string::npos) {
    return cat(path, " includes ", include, ", which is not spelt \"millrace/<folder>/...\"");
  }
  const std::string from = path.substr(0, path.find('/')), to = include.substr(prefix.size(), slash - prefix.size());
  const std::vector<std::string>& below = kBelow.at(from);
  if (to == from) {
    const std::string target = include.substr(prefix.size());
    if (place_of_room(path) >= place_of_room(target)) return {};
    return cat(path, " includes ", include, ", which lies in a higher room of ", from);
  }
  if (std::find(below.begin(), below.end(), to) != below.end()) return {};
  return cat(path, " includes ", include, ", but ", from, " knows nothing of ", to);
}

struct Include {
  std::string path;  // of the file, from the root of the repository
  std::string what;
};

// What `line` includes, with its quotes or brackets; empty when nothing.
std::string included_by(const std::string& line) {
  const size_t hash = line.find_first_not_of(" \t");
  if (hash == std::string::npos || line[hash] != '#') return {};
  const size_t word = line.find_first_not_of(" \t", hash + 1);
  if (word == std::string::npos || line.compare(word, 7, "include") != 0) return {};
  const size_t begin = line.find_first_of("<\"", word);
  if (begin == std::string::npos) return {};
  const size_t end = line.find_first_of(">\"", begin + 1);
  return end == std::string::npos ? std::string() : line.substr(begin, end + 1 - begin);
}

std::vector<Include> includes_of_the_library() {
  const fs::path root(test::source_dir());
  std::vector<Include> out;
  for (const auto& [folder, below] : kBelow) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string ending = entry.path().extension();
      if (ending != ".h" && ending != ".cpp" && ending != ".cu" && ending != ".cuh") continue;
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        const std::string what = included_by(line);
        if (!what.empty()) out.push_back({fs::relative(entry.path(), root).generic_string(), what});
      }
    }
  }
  return out;
}

TEST(Includes, AreFound) {
  EXPECT_EQ(included_by("#include <vector>"), "<vector>");
  EXPECT_EQ(included_by("  #  include \"a/b.h\"  // why"), "\"a/b.h\"");
  EXPECT_EQ(included_by("// #include <vector>"), "");
  EXPECT_EQ(included_by("#if defined(X)"), "");
  EXPECT_EQ(included_by("#include MACRO"), "");
}

TEST(Includes, GoDownwardsAndToOwnersOnly) {
  const std::vector<Include> includes = includes_of_the_library();
  ASSERT_GT(includes.size(), 50u) << "the sources were not found";
  for (const Include& include : includes) EXPECT_EQ(complaint(include.path, include.what), "");
}

TEST(Includes, OneFileSeesYaml) {
  std::vector<std::string> files;
  for (const Include& include : includes_of_the_library()) {
    const bool yaml = include.what.starts_with("<yaml-cpp/");
    if (yaml && (files.empty() || files.back() != include.path)) files.push_back(include.path);
  }
  EXPECT_LE(files.size(), 1u) << testing::PrintToString(files);
}

TEST(Includes, TheRulesBite) {
  EXPECT_EQ(complaint("core/tensor.h", "\"millrace/layers/layer.h\""),
            "core/tensor.h includes \"millrace/layers/layer.h\", but core knows nothing of layers");
  EXPECT_NE(complaint("layers/dense.cpp", "\"millrace/input/op.h\""), "");
  EXPECT_NE(complaint("input/ops/batch.cpp", "\"millrace/trainer/trainer.h\""), "");
  EXPECT_NE(complaint("core/tensor.cpp", "\"core/tensor.h\""), "");
  EXPECT_NE(complaint("core/context.cpp", "<oneapi/tbb/task_arena.h>"), "");
  EXPECT_NE(complaint("core/kernels/gemm.h", "<dnnl.hpp>"), "");
  EXPECT_NE(complaint("layers/relu.cpp", "<cuda_runtime.h>"), "");
  EXPECT_NE(complaint("layers/relu.cpp", "\"millrace/core/cuda/launch.cuh\""), "");
  EXPECT_NE(complaint("trainer/config/config.h", "<yaml-cpp/yaml.h>"), "");
  EXPECT_NE(complaint("trainer/trainer.h", "\"millrace/cli/run.h\""), "");
  EXPECT_NE(complaint("trainer/step/step.h", "\"millrace/trainer/trainer.h\""), "");
  EXPECT_EQ(complaint("trainer/files/yaml.h", "\"millrace/trainer/step/step.h\""),
            "trainer/files/yaml.h includes \"millrace/trainer/step/step.h\", which lies in a higher room of trainer");
  EXPECT_NE(complaint("input/rows/chunk.h", "\"millrace/input/op.h\""), "");
  EXPECT_NE(complaint("input/op.h", "\"millrace/input/graph/pipeline.h\""), "");
  EXPECT_EQ(complaint("trainer/trainer.cpp", "\"millrace/trainer/step/step.h\""), "");
  EXPECT_EQ(complaint("trainer/trainer.cpp", "\"millrace/input/op.h\""), "");
  EXPECT_EQ(complaint("core/parallel.h", "\"millrace/core/cuda/launch.cuh\""), "");
  EXPECT_EQ(complaint("core/threads/executor.cpp", "<oneapi/tbb/task_arena.h>"), "");
  EXPECT_EQ(complaint("layers/relu.cpp", "<vector>"), "");
}

// The machine's C library computes these with other bits on other machines, and not at all on a device.
bool uses_foreign_mathematics(const std::string& line) {
  static const std::regex kForeign(
      R"(std::(exp|exp2|expm1|log|log2|log1p|tanh|sinh|cosh|erfc?|sin|cos|pow|tgamma|lgamma)f?\()");
  const std::string code = line.substr(0, line.find("//"));
  return std::regex_search(code, kForeign);
}

TEST(Mathematics, IsOurOwnInLayersAndKernels) {
  const fs::path root = test::source_dir();
  for (const char* folder : {"layers", "core/kernels"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        EXPECT_FALSE(uses_foreign_mathematics(line)) << entry.path() << ": use millrace/core/math.h for\n" << line;
      }
    }
  }
  EXPECT_TRUE(uses_foreign_mathematics("  return std::exp(x);"));
  EXPECT_TRUE(uses_foreign_mathematics("  y = std::tanhf(x) + 1;"));
  EXPECT_FALSE(uses_foreign_mathematics("  return math::exp(std::max(x, y));"));
  EXPECT_FALSE(uses_foreign_mathematics("  return x;  // not std::exp(x)"));
}

}  // namespace
}  // namespace millrace
