// A budget: a promised ratio, and how to measure it. Each file of this folder measures the budgets of one part.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/budgets/compare.h"

namespace millrace::bench {

struct Setting {
  int rounds = 9;
  std::string trainer;  // the program
  std::string folder;   // for data, which stay for the next run
};

struct Budget {
  std::string name;
  std::string what;  // "rows of float32 text over fast_float, AVX-512"
  double limit = 0;
  bool at_least = false;  // the ratio should be the limit or more; else the limit or less
  // Throws Skip if it cannot be measured on this machine.
  std::function<Ratio(const Setting&)> measure;
};

struct Skip {
  std::string why;
};

using Budgets = std::vector<Budget>;
void add_array_budgets(Budgets& out);
void add_checkpoint_budgets(Budgets& out);
void add_compressed_budgets(Budgets& out);
void add_decode_budgets(Budgets& out);
void add_input_budgets(Budgets& out);
void add_picture_budgets(Budgets& out);
void add_predict_budgets(Budgets& out);
void add_program_budgets(Budgets& out);
void add_scaling_budgets(Budgets& out);
void add_step_budgets(Budgets& out);
void add_worker_budgets(Budgets& out);

}  // namespace millrace::bench
