// RowCodec: the byte form of a chunk: rows with their ids, notes, and how the text was cut. Another process reads it,
// or the same one later. Any bytes may be decoded: every count is checked against the bytes that are there before it
// takes memory, so n bytes take at most about 64 n. Pure functions, for any thread.
//
// A frame (frame_bytes.h) holds in this order:
//   numbers  first_record, end_record, lines, and how many rows there are
//   ids      offset, line, lines and length of each row, as differences from what the row before makes likely: most
//            often a byte each; source, pass and file are the unit's
//   fields   one after another, each with all its rows, without the padding between them; numbers are little-endian; if
//            a field's size varies, each row has a count before its values
//   notes    an error note is the last one, and its error follows
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "millrace/input/rows/chunk.h"
#include "millrace/input/rows/row_block.h"

namespace millrace {

class RowCodec {
 public:
  // The version of the form; a reader takes no other one.
  static constexpr uint8_t kVersion = 1;

  // Adds the chunk's rows, notes, first_record, end_record and lines to `out`; the reader knows the unit already. If a
  // note's exception is not an Error, what as_error() makes of it is written. Throws InternalError, and leaves `out` as
  // it is, if an id does not have the unit's source, pass and file, or if a stream could not use the notes: they are
  // out of order, an error is not the last. Throws ShapeError if a row has another number of texts than its field.
  static void encode(const Chunk& chunk, std::string& out);
  // Fills the chunk, whose unit is the one that was asked for. Its rows get the fields `rows`, which the encoded rows
  // must have had. Throws DataError for bytes that encode() did not write; the chunk may hold anything then. The caller
  // checks whether first_record, end_record, lines and offsets lie in the unit.
  static void decode(std::string_view bytes, const SharedRowSpec& rows, Chunk& chunk);

  // An error by itself, not null, with its type, message, place and hint. decode_error() throws DataError for bytes
  // that encode_error() did not write.
  static void encode_error(const std::exception_ptr& error, std::string& out);
  static std::exception_ptr decode_error(std::string_view bytes);
};

}  // namespace millrace
