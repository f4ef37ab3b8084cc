// Given texts: how the input list of a saved model is applied to rows that a program gives as texts, one for each
// column, as they would stand in a CSV file. An op that gives the text takes the place of the ops that read files; the
// op that decodes text stays, so that a text becomes the value that a file's text would become. If the training's rows
// did not come from columns of text, each of its fields is decoded from columns of its own.
//
// Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/core/spec.h"
#include "millrace/input/csv/csv_dialect.h"
#include "millrace/input/op.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/model_file.h"
#include "millrace/trainer/predict/given_rows.h"

namespace millrace {

// A value, or a list of values, that a program gives by its name.
struct GivenKey {
  std::string name;
  std::vector<uint32_t> columns;
  bool list = false;
};

struct GivenTexts {
  Spec list;
  OpRegistry registry;      // which also has the kinds of the list that are made here
  CsvDialect dialect = {};  // how the text is written: its header names the columns
  // The columns by their names, then fields of several columns by theirs, unless a column has the same name.
  std::vector<GivenKey> keys = {};
  // Columns of the training's text that the model does not need.
  std::vector<std::string> unread = {};
};

// Throws as given_rows(), and ConfigError if a field has no fixed number of values and is not decoded from text.
GivenTexts given_texts(const ModelFile& file, const Config& config, const Catalog& catalog, uint64_t max_bytes);

// The names of the columns that the values of each field of given rows were read from in the training; none if they
// have no names.
std::vector<std::vector<std::string>> trained_columns(const ModelFile& file, const GivenRows& given);

}  // namespace millrace
