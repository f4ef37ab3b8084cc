// Marks the types that cross a shared library's border; everything else is built with hidden visibility.
#pragma once

#if defined(__GNUC__) || defined(__clang__)
#define MILLRACE_EXPORT __attribute__((visibility("default")))
#else
#define MILLRACE_EXPORT
#endif
