#include "millrace/core/errors.h"

#include <utility>

namespace millrace {

std::string Place::text() const {
  std::string text = file;
  if (line > 0) {
    text += ':' + std::to_string(line);
    if (column > 0) text += ':' + std::to_string(column);
  }
  return text;
}

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::config: return "config";
    case ErrorKind::data: return "data";
    case ErrorKind::missing: return "missing";
    case ErrorKind::io: return "io";
    case ErrorKind::device: return "device";
    case ErrorKind::internal: return "internal";
  }
  return "internal";
}

Error::Error(ErrorKind kind, std::string message, Place place, std::string hint)
    : kind_(kind), message_(std::move(message)), place_(std::move(place)), hint_(std::move(hint)) {
  compose();
}

Error::~Error() = default;
ConfigError::~ConfigError() = default;
ShapeError::~ShapeError() = default;
DataError::~DataError() = default;
IoError::~IoError() = default;
MissingError::~MissingError() = default;
DeviceError::~DeviceError() = default;
InternalError::~InternalError() = default;

Error& Error::add_context(std::string_view context) {
  message_ = std::string(context) + ": " + message_;
  compose();
  return *this;
}

Error& Error::set_place(const Place& place) {
  if (!place_.known()) place_ = place;
  compose();
  return *this;
}

Error& Error::set_hint(std::string hint) {
  if (hint_.empty()) hint_ = std::move(hint);
  compose();
  return *this;
}

void Error::compose() {
  text_ = place_.text();
  if (!text_.empty()) text_ += ": ";
  text_ += message_;
  if (!hint_.empty()) text_ += "; " + hint_;
}

}  // namespace millrace
