#include "millrace/input/parquet/page_header.h"

#include "millrace/core/text.h"
#include "millrace/input/parquet/thrift_reader.h"

namespace millrace {

namespace {

uint32_t read_size(ThriftReader& reader) { return static_cast<uint32_t>(reader.integer(0, INT32_MAX)); }

PageEncoding read_encoding(ThriftReader& reader) {
  const int64_t number = reader.integer();
  const bool known = number >= 0 && number <= 9 && number != 1 && number != 4;
  if (!known) throw damaged_parquet(cat("a page has the encoding ", number, ", which is not known"));
  return static_cast<PageEncoding>(number);
}

bool read_is_old(ThriftReader& reader) { return reader.integer() != static_cast<int64_t>(PageEncoding::rle); }

// Of a data page of the first version.
void read_first_version(ThriftReader& reader, PageHeader& out) {
  reader.structure([&](int64_t field) {
    switch (field) {
      case 1: out.entries = read_size(reader); return;
      case 2: out.encoding = read_encoding(reader); return;
      case 3: out.old_definition = read_is_old(reader); return;
      case 4: out.old_repetition = read_is_old(reader); return;
      default: return reader.skip();
    }
  });
}

void read_second_version(ThriftReader& reader, PageHeader& out) {
  reader.structure([&](int64_t field) {
    switch (field) {
      case 1: out.entries = read_size(reader); return;
      case 4: out.encoding = read_encoding(reader); return;
      case 5: out.definition_bytes = read_size(reader); return;
      case 6: out.repetition_bytes = read_size(reader); return;
      case 7: out.packed = reader.boolean(); return;
      default: return reader.skip();
    }
  });
}

void read_dictionary(ThriftReader& reader, PageHeader& out) {
  reader.structure([&](int64_t field) {
    switch (field) {
      case 1: out.entries = read_size(reader); return;
      case 2: out.encoding = read_encoding(reader); return;
      default: return reader.skip();
    }
  });
}

PageHeader read_header(ThriftReader& reader) {
  enum : int64_t { kFirstVersion = 0, kDictionary = 2, kSecondVersion = 3 };
  PageHeader out;
  int64_t type = -1, described = -1;
  reader.structure([&](int64_t field) {
    switch (field) {
      case 1: type = reader.integer(); return;
      case 2: out.bytes = read_size(reader); return;
      case 3: out.packed_bytes = read_size(reader); return;
      case 4: out.crc = static_cast<uint32_t>(reader.integer(INT32_MIN, UINT32_MAX)); return;
      case 5: described = kFirstVersion; return read_first_version(reader, out);
      case 7: described = kDictionary; return read_dictionary(reader, out);
      case 8: described = kSecondVersion; return read_second_version(reader, out);
      default: return reader.skip();
    }
  });
  const uint64_t levels = uint64_t{out.definition_bytes} + out.repetition_bytes;
  if (levels > out.bytes || levels > out.packed_bytes) throw damaged_parquet("a page is shorter than its levels");
  const bool data = type == kFirstVersion || type == kSecondVersion;
  if ((data || type == kDictionary) && described != type) throw damaged_parquet("a page is not described");
  out.kind = data                  ? PageHeader::Kind::data
             : type == kDictionary ? PageHeader::Kind::dictionary
                                   : PageHeader::Kind::other;
  out.second_version = type == kSecondVersion;
  out.header_bytes = static_cast<uint32_t>(reader.at());
  return out;
}

}  // namespace

std::optional<PageHeader> read_page_header(std::string_view bytes) {
  ThriftReader reader(bytes);
  try {
    return read_header(reader);
  } catch (const DataError&) {
    if (!reader.ran_out()) throw;
    return {};
  }
}

}  // namespace millrace
