// What the thread sanitizer is not to report.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  // libzmq is not instrumented, so what it hands from one thread to another looks like a race.
  return "race:libzmq.so\n";
}
