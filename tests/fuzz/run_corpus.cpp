// Stands in for libFuzzer where there is none: gives every file of the folders that are named to the fuzz target, once.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int count, char** arguments) {
  std::set<std::filesystem::path> inputs;
  for (int i = 1; i < count; ++i) {
    if (arguments[i][0] == '-') continue;  // an option of libFuzzer
    for (const auto& entry : std::filesystem::directory_iterator(arguments[i])) inputs.insert(entry.path());
  }
  for (const std::filesystem::path& path : inputs) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::fprintf(stderr, "%s\n", path.c_str());  // the last one is the one that failed
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  return inputs.empty() ? 1 : 0;
}
