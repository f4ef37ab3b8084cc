// What a plug-in is declared with; see docs/extending.md.
#pragma once

#include "millrace/extend.h"
#include "millrace/trainer/config/plugin.h"
