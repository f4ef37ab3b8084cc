#include "millrace/input/csv/given_text.h"

#include <iterator>
#include <memory>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/options.h"
#include "millrace/input/source.h"

namespace millrace {

namespace {

// Says what the text is. It makes none: the program gives it to the transforms.
class GivenTextFormat final : public Transform {
 public:
  explicit GivenTextFormat(const CsvDialect& dialect) : dialect_(std::make_shared<const CsvDialect>(dialect)) {}
  Port bind(const BindArgs&) override { return {.type = PortType::text, .format = dialect_}; }
  void apply(Chunk&) const override { throw InternalError("the text is the program's"); }

 private:
  const std::shared_ptr<const CsvDialect> dialect_;
};

class GivenTextSource final : public IndexSource {
 public:
  explicit GivenTextSource(const CsvDialect& dialect)
      : IndexSource("text", {.rows = 0}, std::make_unique<GivenTextFormat>(dialect)) {}
};

}  // namespace

CsvDialect given_text_dialect(std::vector<std::string> names, std::string_view splits) {
  CsvDialect out;
  for (const char quote : {'"', '\'', '|', '`'}) {
    out.quote = quote;
    if (splits.find(quote) == splits.npos) break;
  }
  out.skip_blank_lines = false;
  out.columns = std::ssize(names);
  out.header = std::move(names);
  out.numbers_columns = false;
  return out;
}

OpRegistry::Entry given_text_op(const CsvDialect& dialect) {
  return {.doc = "gives the text that the program holds",
          .describe = describe_options<NoOptions>,
          .make = [dialect](const Spec& options, Spec* resolved) -> std::unique_ptr<Op> {
            read_options<NoOptions>(options, resolved);
            return std::make_unique<GivenTextSource>(dialect);
          }};
}

}  // namespace millrace
