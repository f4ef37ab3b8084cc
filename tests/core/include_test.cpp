// Who may include what: folders depend downwards only, and each heavy library is seen by its owners alone.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {
namespace {

namespace fs = std::filesystem;

// The folders that files of a folder may include, besides its own.
const std::map<std::string, std::vector<std::string>> kBelow = {
    {"core", {}}, {"layers", {"core"}}, {"input", {"core"}}, {"trainer", {"core", "layers", "input"}}};

struct Library {
  const char* name;
  const char* include;  // a pattern of what follows #include
  const char* owners;   // a pattern of the paths that may
};
const Library kLibraries[] = {
    {"oneTBB", R"(<(oneapi/)?tbb.*)", R"(core/executor\.cpp)"},
    {"OpenMP", R"(<omp\.h>)", R"(core/executor\.cpp)"},
    {"oneDNN", R"(<(oneapi/)?(dnnl|mkldnn).*)", R"(core/kernels/[^/]*\.cpp)"},
    {"CUDA", R"(<(cuda|cublas|cudnn|curand|cusparse|cub/|thrust/|nccl|mma\.h|cooperative_groups|nvtx).*|".*\.cuh")",
     R"(.*\.cuh?|core/cuda/.*|core/parallel\.h)"},
    {"yaml-cpp", R"(<yaml-cpp/.*)", R"(trainer/.*\.cpp)"},
    {"fast_float", R"(<fast_float/.*)", R"(input/.*\.cpp)"},
    {"nlohmann-json", R"(<nlohmann/.*)", R"(trainer/.*\.cpp|trainer/cli/.*)"},
    {"fmt", R"(<fmt/.*)", R"(trainer/main\.cpp|trainer/cli/.*)"},
    {"CLI11", R"(<CLI/.*)", R"(trainer/main\.cpp|trainer/cli/.*)"},
};

bool matches(const std::string& text, const char* pattern) { return std::regex_match(text, std::regex(pattern)); }

// What is wrong with `include` (as written, with quotes or brackets) in the file `path`; empty when nothing is.
std::string complaint(const std::string& path, const std::string& include) {
  for (const Library& library : kLibraries) {
    if (matches(include, library.include) && !matches(path, library.owners)) {
      return path + " includes " + include + ", but " + library.name + " belongs to " + library.owners;
    }
  }
  if (include.front() != '"') return {};
  std::smatch parts;
  if (!std::regex_match(include, parts, std::regex("\"millrace/([^/]+)/.*\""))) {
    return path + " includes " + include + ", which is not spelt \"millrace/<folder>/...\"";
  }
  const std::string from = path.substr(0, path.find('/')), to = parts[1];
  const std::vector<std::string>& below = kBelow.at(from);
  if (to == from || std::find(below.begin(), below.end(), to) != below.end()) return {};
  return path + " includes " + include + ", but " + from + " knows nothing of " + to;
}

struct Include {
  std::string path;  // of the file, from the root of the repository
  std::string what;
};

std::vector<Include> includes_of_the_library() {
  const std::regex pattern(R"(\s*#\s*include\s*([<"][^>"]+[>"]).*)");
  std::vector<Include> out;
  for (const auto& [folder, below] : kBelow) {
    const fs::path root(MILLRACE_SOURCE_DIR);
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!matches(entry.path().extension().string(), R"(\.(h|cpp|cu|cuh))")) continue;
      std::ifstream file(entry.path());
      std::smatch parts;
      for (std::string line; std::getline(file, line);) {
        if (std::regex_match(line, parts, pattern)) {
          out.push_back({fs::relative(entry.path(), root).generic_string(), parts[1]});
        }
      }
    }
  }
  return out;
}

TEST(Includes, GoDownwardsAndToOwnersOnly) {
  const std::vector<Include> includes = includes_of_the_library();
  ASSERT_GT(includes.size(), 50u) << "the sources were not found";
  for (const Include& include : includes) EXPECT_EQ(complaint(include.path, include.what), "");
}

TEST(Includes, OneFileSeesYaml) {
  std::vector<std::string> files;
  for (const Include& include : includes_of_the_library()) {
    if (matches(include.what, "<yaml-cpp/.*") && (files.empty() || files.back() != include.path)) {
      files.push_back(include.path);
    }
  }
  EXPECT_LE(files.size(), 1u) << testing::PrintToString(files);
}

TEST(Includes, TheRulesBite) {
  EXPECT_EQ(complaint("core/tensor.h", "\"millrace/layers/layer.h\""),
            "core/tensor.h includes \"millrace/layers/layer.h\", but core knows nothing of layers");
  EXPECT_NE(complaint("layers/dense.cpp", "\"millrace/input/op.h\""), "");
  EXPECT_NE(complaint("input/batch.cpp", "\"millrace/trainer/trainer.h\""), "");
  EXPECT_NE(complaint("core/tensor.cpp", "\"core/tensor.h\""), "");
  EXPECT_NE(complaint("core/context.cpp", "<oneapi/tbb/task_arena.h>"), "");
  EXPECT_NE(complaint("core/kernels/gemm.h", "<dnnl.hpp>"), "");
  EXPECT_NE(complaint("layers/relu.cpp", "<cuda_runtime.h>"), "");
  EXPECT_NE(complaint("layers/relu.cpp", "\"millrace/core/cuda/launch.cuh\""), "");
  EXPECT_NE(complaint("trainer/config.h", "<yaml-cpp/yaml.h>"), "");
  EXPECT_EQ(complaint("trainer/trainer.cpp", "\"millrace/input/op.h\""), "");
  EXPECT_EQ(complaint("core/parallel.h", "\"millrace/core/cuda/launch.cuh\""), "");
  EXPECT_EQ(complaint("core/executor.cpp", "<oneapi/tbb/task_arena.h>"), "");
  EXPECT_EQ(complaint("layers/relu.cpp", "<vector>"), "");
}

}  // namespace
}  // namespace millrace
