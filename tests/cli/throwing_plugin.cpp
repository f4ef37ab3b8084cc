// A plug-in whose functions throw where they are told to.
#include "millrace/plugin.h"
#include "tests/support/throwing_kinds.h"

MILLRACE_PLUGIN(catalog) { millrace::testing::throwing::add_throwing_kinds(catalog); }
