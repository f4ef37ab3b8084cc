// LibraryCall marks that this thread is inside another library; OwnCode marks that it is back in our code, in a
// callback.
//
// Our code allocates nothing in a steady step, and a test proves it by replacing malloc. The test counts separately
// what oneDNN or oneTBB allocate inside their own calls. The mark is one thread-local integer.
#pragma once

#include <utility>

namespace millrace {

namespace library_call_detail {
inline constinit thread_local int depth = 0;
}

class LibraryCall {
 public:
  LibraryCall() { ++library_call_detail::depth; }
  ~LibraryCall() { --library_call_detail::depth; }
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;

  // Whether this thread is inside a library now.
  static bool active() { return library_call_detail::depth > 0; }
};

class OwnCode {
 public:
  OwnCode() : before_(std::exchange(library_call_detail::depth, 0)) {}
  ~OwnCode() { library_call_detail::depth = before_; }
  OwnCode(const OwnCode&) = delete;
  OwnCode& operator=(const OwnCode&) = delete;

 private:
  int before_;
};

}  // namespace millrace
