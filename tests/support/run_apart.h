// Runs code in a process of its own, in which it may be killed.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace millrace::test {

// Returns how the process ended, as waitpid() says; 0 if `body` returned.
template <class Body>
int run_apart(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = -1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace millrace::test
