#include "millrace/input/run/buffer_stream.h"

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

RowSpan BufferStream::pull(int64_t at_most) {
  RowSpan rows;
  try {
    rows = buffer_.pull(at_most);
  } catch (const Error&) {
    throw;
  } catch (...) {
    std::rethrow_exception(as_error(std::current_exception(), name_));
  }
  if (rows.count <= at_most) return rows;
  throw InternalError(
      cat(name_, ": pull() gave ", count_of(rows.count, "row"), ", asked for were ", at_most, " at most"));
}

}  // namespace millrace
