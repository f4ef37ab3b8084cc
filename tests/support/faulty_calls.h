// FaultyCalls counts the calls of the system. One call fails, or does something else, on purpose.
#pragma once

#include <cerrno>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/input/files/file_calls.h"

namespace millrace::test {

class FaultyCalls final : public FileCalls {
 public:
  // Before call number `at`, from 0, `fault` is run; the call fails with the errno that it returns. 0: it does not
  // fail.
  FaultyCalls(size_t at, std::function<int()> fault) : at_(at), fault_(std::move(fault)) {}

  // All calls so far, by name.
  const std::vector<std::string>& made() const { return made_; }
  // Acts like a file system without nameless files.
  void forbid_nameless() { nameless_ = false; }

 protected:
  int before(std::string_view call) override {
    made_.emplace_back(call);
    if (call == "open_nameless" && !nameless_) return EOPNOTSUPP;
    return made_.size() == at_ + 1 ? fault_() : 0;
  }

 private:
  size_t at_;
  std::function<int()> fault_;
  bool nameless_ = true;
  std::vector<std::string> made_;
};

}  // namespace millrace::test
