// What tests of layers, losses and input ops of one's own call; see docs/extending.md.
#pragma once

#include "millrace/input/graph/restore_check.h"
#include "millrace/layers/model/gradient_check.h"
