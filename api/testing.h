// What tests of layers of one's own call; see docs/extending.md.
#pragma once

#include "millrace/layers/model/gradient_check.h"
