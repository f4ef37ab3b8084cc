// Files of text to batches of 256 rows for the 1024 -> 1024 -> 1 network: reading, decoding, shuffling and placing.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/core/spec.h"
#include "millrace/core/threads/executor.h"
#include "millrace/input/files/file_system.h"

namespace millrace::bench {

inline constexpr int64_t kBatch = 256;

struct InputPath {
  std::string files;        // a path or a pattern
  int epochs = 1;           // 0: endless
  int threads = 2;          // tasks that decode at once
  int64_t chunk_bytes = 0;  // 0: the default
};

// The key `input` of a configuration.
std::string input_yaml(const InputPath& path);
Spec input_list(const InputPath& path);

// Reads all epochs; returns the number of rows in whole batches.
int64_t read_all(Executor& executor, const Spec& list, FileSystem* files = nullptr);

}  // namespace millrace::bench
