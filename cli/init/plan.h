// InitPlan: the training that `trainer init` makes of what it saw: fields, model, sizes. Pure; any thread may call it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/cli/init/column_kind.h"
#include "millrace/cli/init/data_look.h"
#include "millrace/cli/init/label_choice.h"

namespace millrace {

// Columns of numbers that are read alike.
struct NumberGroup {
  std::string field = {};
  std::vector<size_t> columns = {};
  std::vector<double> mean = {}, spread = {};  // a value becomes (value - mean) / spread
  std::vector<std::string> marks = {};         // besides the usual ones
  bool wide = false;                           // float64
};

// Columns of texts with one vocabulary. The field is decoded, `code` is its number, `one_hot` what the model reads.
struct CategoryGroup {
  std::string field = {}, code = {}, one_hot = {};
  std::vector<size_t> columns = {};
  std::vector<std::string> texts = {};
  std::vector<std::string> marks = {};
};

struct ColumnRemark {
  size_t column = 0;
  std::string text;
};

struct InitPlan {
  LabelChoice label;
  std::vector<NumberGroup> numbers;
  std::vector<CategoryGroup> categories;
  std::vector<ColumnRemark> left_out;
  std::vector<ColumnRemark> notes;
  size_t missing_columns = 0;  // of those that are read, how many have gaps

  int64_t width = 0;  // values that the model reads
  std::vector<int64_t> hidden;
  int64_t outputs = 1;
  double learning_rate = 0;
  double held_out = 0;  // share; 0: too few rows
  int64_t batch_size = 0, window = 0;
  int64_t epochs = 0, steps_per_epoch = 0;
  int64_t max_bad_rows = 0;  // 0: there were none, and each is an error
};

struct InitPlanArgs {
  const DataLook& look;
  InitTask task = InitTask::automatic;
  std::vector<std::string> ignore = {}, keep = {};
};

// Throws ConfigError for columns that are not there, DataError where nothing can be learned.
InitPlan plan_training(const InitPlanArgs& args);

}  // namespace millrace
