#include <gtest/gtest.h>

#include "millrace/cli/convert/row_writer.h"
#include "millrace/input/catalog.h"
#include "millrace/input/csv/csv_dialect.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "tests/cli/convert/made_rows.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

// The bits of all rows that the ops of `writer` read from a file; the list goes through its text, as a user's would.
std::vector<std::string> read_back(const RowWriter& writer, const std::string& path, const RowSpec& expected) {
  const Spec named = Spec::map({{"files", path}, {"epochs", 1}});
  Spec list = Spec::list({Spec::map({{"filename_queue", named}})});
  const Spec readers = writer.readers();
  for (const Spec& op : readers.items()) list.append(op);
  list.append(Spec::map({{"batch", {{"batch_size", 5}, {"allow_smaller_final_batch", true}}}}));
  const OpRegistry ops = builtin_ops();
  Pipeline pipeline(InputGraph::build(parse_yaml(to_yaml(list), "list"), ops, {}), {});
  EXPECT_EQ(pipeline.rows(), expected);
  RowBlock batch = pipeline.make_slot();
  std::vector<std::string> out;
  while (pipeline.next(batch) > 0) {
    for (int64_t row = 0; row < batch.size(); ++row) out.push_back(bits_of(batch, row));
  }
  return out;
}

std::vector<std::string> bits_of_all(const RowBlock& rows) {
  std::vector<std::string> out;
  for (int64_t row = 0; row < rows.size(); ++row) out.push_back(bits_of(rows, row));
  return out;
}

std::string text_of(const RowSpec& rows, const TextColumns* from, const RowBlock& block) {
  const TempFolder folder;
  write_rows(*make_csv_writer({rows, from}), folder.path("a.csv"), block);
  return TempFolder::read(folder.path("a.csv"));
}

TEST(CsvWriter, EveryTypeReadsBackToTheSameBits) {
  const TempFolder folder;
  const RowSpec rows = all_fields();
  const RowBlock block = made_rows(rows, 300);
  const auto writer = make_csv_writer({rows});
  write_rows(*writer, folder.path("a.csv"), block);
  EXPECT_EQ(read_back(*writer, folder.path("a.csv"), rows), bits_of_all(block));
}

TEST(CsvWriter, NoRowsReadBackAsNone) {
  const TempFolder folder;
  const RowSpec rows = all_fields();
  const auto writer = make_csv_writer({rows});
  write_rows(*writer, folder.path("a.csv"), made_rows(rows, 0));
  EXPECT_EQ(read_back(*writer, folder.path("a.csv"), rows), std::vector<std::string>());
}

// A line without any byte would be no row.
TEST(CsvWriter, OneColumnOfTextsReadsBack) {
  const TempFolder folder;
  const RowSpec rows = {{texts("\xef\xbb\xbf", 1)}};
  const RowBlock block = made_rows(rows, 100);
  const auto writer = make_csv_writer({rows});
  write_rows(*writer, folder.path("a.csv"), block);
  EXPECT_EQ(read_back(*writer, folder.path("a.csv"), rows), bits_of_all(block));
}

TEST(CsvWriter, OneOpReadsEachPartOfTheHeader) {
  const RowSpec rows = all_fields();
  EXPECT_EQ(to_yaml(make_csv_writer({rows})->readers()),
            "- csv_reader: {header: true}\n"
            "- decode_csv:\n"
            "    fields:\n"
            "      features: {columns: 0-2}\n"
            "      price: {columns: 3, type: float64}\n"
            "      image: {columns: 4-7, reshape: [2, 1, 2]}\n"
            "      wide: {columns: 8-11, type: float64, reshape: [2, 2]}\n"
            "      count: {columns: 12-13, type: int32}\n"
            "      id: {columns: 14, type: int64}\n"
            "      pixels: {columns: 15-19, type: uint8}\n"
            "      name: {columns: 20, type: string, default: \"\"}\n"
            "      words: {columns: 21-22, type: string, default: \"\"}\n"
            "      ids: {columns: 23, type: int64, split: \" \", default: []}\n"
            "      weights: {columns: 24, split: \";\", default: []}\n"
            "      tags: {columns: 25, type: string, split: \"|\", default: []}\n");
}

TEST(CsvWriter, ColumnsAreNamedByTheirFields) {
  const RowSpec rows = {{{"x", DType::i32, Shape{2}}, {"x_1", DType::i32, Shape{1}}}};
  RowBlock block;
  block.configure(rows, 1);
  block.resize(1);
  block.row<int32_t>(0, 0)[0] = 7;
  block.row<int32_t>(0, 0)[1] = -8;
  *block.row<int32_t>(1, 0) = 9;
  EXPECT_EQ(text_of(rows, nullptr, block), "x_0,x_1,x_1_\n7,-8,9\n");

  // Or as the text that they come from; x_1 was made of others, and has another number of columns there.
  CsvDialect dialect;
  dialect.header = {"note", "height, cm", "", "width"};
  TextColumns from = {std::make_shared<const CsvDialect>(dialect),
                      {{{"x", DType::f32, Shape{2}}, {"x_1", DType::i32, Shape{2}}}},
                      {{3, 1}, {0, 1}}};
  EXPECT_EQ(text_of(rows, &from, block), "width,\"height, cm\",x_1\n7,-8,9\n");
  dialect.header.clear();
  dialect.columns = 4;
  from.format = std::make_shared<const CsvDialect>(dialect);
  EXPECT_EQ(text_of(rows, &from, block), "x_0,x_1,x_1_\n7,-8,9\n");
}

TEST(CsvWriter, RefusesWhatTheReaderRefuses) {
  const RowSpec quoted = {{ragged(texts("tags", 1), '"')}}, digit = {{ragged({"ids", DType::i32, Shape{1}}, '5')}},
                none = {{{"empty", DType::f32, Shape{0}}}};
  EXPECT_EQ(error_of<ConfigError>([&] { make_row_writer("csv", {quoted}); }),
            "--to csv: tags.columns: the split \"\\\"\" of tags is the quote of the file");
  EXPECT_EQ(error_of<ConfigError>([&] { make_row_writer("csv", {digit}); }),
            "--to csv: ids.split: the byte \"5\" may stand in a number");
  EXPECT_EQ(error_of<ConfigError>([&] { make_row_writer("csv", {none}); }),
            "--to csv: empty has no values, so it would have no column");
}

TEST(CsvWriter, APictureThatIsNotDecodedIsAnErrorAtItsRow) {
  const RowSpec rows = {{texts("image", 1)}};
  for (const std::string_view value : {"\x89PNG\r\n", "\xff\xd8\xff\xe0"}) {
    const TempFolder folder;
    RowBlock block;
    block.configure(rows, 1);
    block.resize(1);
    block.add_text(0, 0, value);
    EXPECT_EQ(error_of<DataError>([&] { write_rows(*make_csv_writer({rows}), folder.path("a.csv"), block); }),
              "made:1: image holds a picture as it is in its file, which is no text; put decode_image into the list of "
              "ops, which makes numbers of it");
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  }
}

// A list that no text says, and one whose value has the byte that separates them.
TEST(CsvWriter, AListThatWouldReadBackAsAnotherIsAnErrorAtItsRow) {
  const RowSpec rows = {{ragged(texts("tags", 1), '|')}};
  for (const std::string value : {"", "a|b"}) {
    const TempFolder folder;
    RowBlock block;
    block.configure(rows, 1);
    block.resize(1);
    block.add_text(0, 0, value);
    EXPECT_EQ(error_of<DataError>([&] { write_rows(*make_csv_writer({rows}), folder.path("a.csv"), block); }),
              cat("made:1: no text in column 0 of a CSV file is read as \"", value,
                  "\" by tags; leave out such rows, or the field"));
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  }
}

}  // namespace
}  // namespace millrace::cli
