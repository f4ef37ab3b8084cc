// The header that a plug-in includes. It has MILLRACE_PLUGIN, of trainer/config/catalog.h, and all of extend.h; see
// docs/extending.md.
#pragma once

#include "millrace/extend.h"
#include "millrace/trainer/config/catalog.h"
