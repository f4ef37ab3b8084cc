// Op: one node of the input graph. There are three kinds: Source (source.h), Transform (transform.h), Buffer
// (buffer.h).
//
//   names -> text -> rows -> batches        the ports; a graph whose ports do not fit is a ConfigError before the start
//
// An author of an op never sees a thread: sources and buffers are called by one thread at a time and in sequence order,
// transforms are const and may run anywhere. docs/extending.md shows one of each. Before Op, this file has what bind()
// takes and returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/core/registry.h"
#include "millrace/core/state.h"
#include "millrace/input/files/file_system.h"
#include "millrace/input/rows/row_block.h"

namespace millrace {

enum class PortType : uint8_t { none, names, text, rows, batches };
constexpr std::string_view to_string(PortType type) {
  constexpr std::string_view kNames[] = {"nothing", "names", "text", "rows", "batches"};
  return kNames[static_cast<size_t>(type)];
}

// How text is cut into records. The op that gives the text and the op that reads it both know the derived type.
struct MILLRACE_EXPORT TextFormat {
  virtual ~TextFormat() = default;
  virtual std::string_view name() const = 0;  // "CSV"
  // How many fields every record has, if only their positions tell them apart; 0 if they have names, or if no record
  // was seen.
  virtual int64_t nameless_fields() const { return 0; }
  // The name of field `index` of every record, from 0; its number if it has no name.
  virtual std::string field_name(size_t index) const { return cat(index); }

  bool operator==(const TextFormat&) const = default;
};

// How texts become values, for code that writes values which must read back the same.
class MILLRACE_EXPORT TextReader {
 public:
  virtual ~TextReader() = default;
  // Replaces `out` with the value that `text` stands for as value `element` of field `field`, or with all its values if
  // the field is ragged. Returns false if the text is not such a value.
  virtual bool read(std::string_view text, size_t field, size_t element, Varying& out) const = 0;
  // The text that is read as this number in field `field`, if the texts of that field are not numbers, but dates.
  // Empty: a number is written as it is.
  virtual std::string text_of(size_t /*field*/, double /*value*/) const { return {}; }
  // Texts that stand for a missing value in field `field`. The empty text always does, and is not in the list.
  virtual const std::vector<std::string>& missing(size_t field) const = 0;
};

// Where rows come from in text: value i of field f is read from column columns[f][i].
struct TextColumns {
  std::shared_ptr<const TextFormat> format;
  RowSpec rows;
  std::vector<std::vector<uint32_t>> columns;
  std::shared_ptr<const TextReader> reader = nullptr;
};

// The output of an op.
struct Port {
  PortType type = PortType::none;
  std::shared_ptr<const TextFormat> format = nullptr;  // text
  RowSpec rows = {};                                   // rows and batches
  int64_t batch_size = 0;                              // batches: the most rows of one
  std::shared_ptr<const TextColumns> text = nullptr;   // for an op that decodes text: the columns of its rows
};

// Which rows are wanted if an op divides them in two. If all are, the graph is built without the op.
enum class Side : uint8_t { trained, held_out };

// If bad rows stay among the others (GraphArgs::bad_rows_stay), the op that decodes text gives rows this field of one
// text: why the row is bad; empty if it is good. The other fields of a bad row have what could be read, else nothing.
// No other field may have this name.
inline constexpr std::string_view kRowError = "(error)";

class NameSource;
class RowSource;
class RowStream;
struct BufferHost;

// Everything that an op is given, when its graph is built and before anything runs. The pointers stay valid as long as
// the op lives. The lists and the name are valid only during bind().
struct BindArgs {
  std::span<const Port> inputs = {};
  std::string_view name = {};  // the op's name, unique in the graph; the key of its random numbers
  uint64_t seed = 0;
  Side side = Side::trained;   // the code that builds the graph chooses it, never the configuration
  bool bad_rows_stay = false;  // likewise; rows then have the field kRowError
  FileSystem* files = nullptr;
  uint32_t source_index = 0;                 // sources: their number, for RowId::source
  NameSource* names = nullptr;               // row sources: the op that names their files, or null
  RowSource* source = nullptr;               // transforms: the source right before them, or null
  std::span<RowSource* const> sources = {};  // the sources before the op, by RowId::source
  std::span<RowStream* const> streams = {};  // buffers: the rows of each input
  const BufferHost* host = nullptr;          // row buffers
};

// Counts and times of an op so far. Its busy time is summed over all threads.
struct OpStatistics {
  std::string name;
  double busy_seconds = 0;
  // How much of that one thread does at a time: a source may have to read compressed data in order.
  double serial_seconds = 0;
  // How long a source and the transforms after it ran no task because there was no room for what they make.
  double blocked_seconds = 0;
  uint64_t rows = 0;   // given out
  uint64_t bytes = 0;  // text that was read or decoded
  // Ops that let decoded rows wait: how many wait now, how many waited on average, and how many may.
  uint64_t held = 0;
  std::optional<double> mean_held = {};
  uint64_t capacity = 0;
};

// How to get back the values that a field had before ops changed them, as far as that is known: value * scale + offset,
// with one scale and offset, or one of each for each column. If `texts` are given, a value is a class number and stands
// for its text.
struct FieldHistory {
  std::string field;  // the name it had before the ops that were undone so far
  std::vector<std::string> texts = {};
  std::vector<double> scale = {1}, offset = {0};
  bool complete = true;  // false: an op changed it in a way that this struct cannot describe

  bool operator==(const FieldHistory&) const = default;
};

class MILLRACE_EXPORT Op : public HasOrigin {
 public:
  virtual ~Op() = default;
  // The port that each input must have; for most ops one.
  virtual std::vector<PortType> inputs() const = 0;
  // Whether the op takes two or more inputs, each with the first port of inputs(); the key `from` names them.
  virtual bool joins() const { return false; }
  // Looks at what comes in, opens and checks what must be there, and says what comes out. Called once, before the
  // start. Throws ConfigError, MissingError, DataError; an error without a place gets the place of the op's
  // configuration.
  virtual Port bind(const BindArgs& args) = 0;
  // Takes the history of a field back to before this op made or changed the field. Needs no bind().
  virtual void undo(FieldHistory&) const {}
  // The names of the columns of the files that the values of this field are read from. Empty: the op does not read the
  // field from columns, or one of them has no name. Needs no bind().
  virtual std::vector<std::string> column_names(std::string_view /*field*/) const { return {}; }

  // The functions below are called after bind().
  // Options that were left out and that bind() found in the data instead, such as {classes: [cat, dog]}. They count as
  // if they had been written: a saved model has them, and a validation reads other data by them. Null: none.
  virtual Spec found_options() const { return {}; }
  // Opens and checks everything that bind() leaves for later: every file, every header. Throws as bind() does.
  virtual void check_files() const {}
  // Upper bound of the bytes that this op holds itself: a window, a cache. Chunks and slots are counted elsewhere.
  virtual uint64_t memory_bound() const { return 0; }
  // Things that are allowed but unlikely to be meant: "capacity 79 raised to 133: ...".
  virtual std::vector<std::string> warnings() const { return {}; }
};

// How far an op lets the stream before it run ahead. The graph passes it to RowStream::set_ahead().
struct Ahead {
  int64_t rows = 0;
  int threads = 0;
};

using OpRegistry = Registry<Op>;

}  // namespace millrace
