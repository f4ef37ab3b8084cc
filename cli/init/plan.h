// InitPlan: the training that `trainer init` plans for the data that it saw: fields, the kinds that suit them, sizes. A
// pure function; any thread may call it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/cli/init/column_kind.h"
#include "millrace/cli/init/data_look.h"
#include "millrace/core/registry.h"
#include "millrace/trainer/config/catalog.h"

namespace millrace {

// A kind that suits a field, with the options that make it suit.
struct ChosenOp {
  std::string kind;
  Spec options;
  std::string doc;  // what it does
};

// Columns that are read in the same way, and what becomes of them. `found.texts` is empty unless they are categories.
struct PlannedField {
  FoundField found = {};  // the field as it is after the ops
  bool times = false;     // its texts are dates or times
  std::string read_as = {};
  std::vector<size_t> columns = {};
  std::vector<std::string> marks = {};  // texts that stand for a missing value, besides the usual ones
  // The ops that suited the field, in their order. The first one decodes it; that op's options are options of the
  // field.
  std::vector<ChosenOp> ops = {};
};

struct ColumnRemark {
  size_t column = 0;
  std::string text;
};

struct InitPlan {
  LabelChoice label;
  PlannedField label_field;
  std::vector<PlannedField> fields;  // fields of numbers come first
  std::vector<ColumnRemark> left_out;
  std::vector<ColumnRemark> notes;
  size_t missing_columns = 0;  // how many of the columns that are read have missing values

  std::string loss;
  std::vector<std::string> metrics;
  int64_t width = 0;  // values of a row that the model reads
  std::vector<int64_t> hidden;
  int64_t outputs = 1;
  double learning_rate = 0;
  double held_out = 0;  // the share of the rows; 0: too few rows
  int64_t batch_size = 0, window = 0;
  int64_t epochs = 0, steps_per_epoch = 0;
  int64_t validate_every = 0, patience = 0;  // steps, validations
  int64_t max_bad_rows = 0;                  // 0: there were none, so the training takes each as an error
};

struct InitPlanArgs {
  const DataLook& look;
  std::string task = "auto";  // see choose_label()
  std::vector<std::string> ignore = {}, keep = {};
  Catalog catalog = Catalog::builtin();  // the kinds that are asked whether they suit a field
};

// Throws ConfigError for columns that do not exist, DataError if nothing can be learned.
InitPlan plan_training(const InitPlanArgs& args);

}  // namespace millrace
