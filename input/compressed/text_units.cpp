#include "millrace/input/compressed/text_units.h"

#include <algorithm>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/compressed/inflated_file.h"

namespace millrace {

namespace {

DataError ends_before(uint64_t begin, uint64_t end, const FileEntry& file) {
  return DataError(cat("the saved state is at offset ", begin, ", but the text ends at ", end), {file.path});
}

}  // namespace

TextUnits::TextUnits(CompressedFiles& files, CompressedText& text, const TextSettings& settings)
    : files_(files), text_(text), settings_(settings), next_(text.before(settings_.begin)) {}

bool TextUnits::next(Unit& unit) {
  const ReadingTurn turn;
  const std::shared_ptr<const File> raw = files_.raw(text_.entry());
  while (!in_order_ && next_.at < text_.compressed().end) {
    const std::optional<TextRange> range = text_.range_at(next_, *raw, settings_.unit_bytes);
    if (!range) {
      settings_.begin = unit.begin;
      in_order_ = std::make_shared<TextInOrder>(files_, text_, next_, settings_);
      break;
    }
    next_ = range->end;
    if (!next_.window) text_.add(next_);
    text_.note(next_.text, next_.at);
    if (next_.text <= unit.begin) continue;  // only on the way to where it begins, or without text
    auto part = std::make_shared<TextPart>();
    part->begin = range->begin.text;
    part->at_record = range->begin.at_line.value_or(text_.shared().end_with_lines());
    part->range = *range;
    unit.part = std::move(part);
    unit.end = next_.text;
    return true;
  }
  if (in_order_) {
    std::shared_ptr<const TextPart> part = in_order_->next(*raw);
    unit.end = part ? part->end() : unit.begin;
    unit.part = std::move(part);
    return unit.part != nullptr;
  }
  files_.end_text(text_, next_.text);
  unit.end = unit.begin;
  if (next_.text < unit.begin) throw ends_before(unit.begin, next_.text, text_.entry());
  return false;
}

TextPart::~TextPart() {
  if (in_order) in_order->reuse(std::move(bytes));
}

TextInOrder::TextInOrder(CompressedFiles& files, CompressedText& text, const TextPoint& from,
                         const TextSettings& settings)
    : files_(files),
      text_(text),
      settings_(settings),
      decoder_(text.shared().take(text, settings_.begin, from)),
      rest_begin_(settings_.begin) {}

TextInOrder::~TextInOrder() { text_.shared().give(&text_, std::move(decoder_)); }

std::shared_ptr<const TextPart> TextInOrder::next(const File& raw) {
  auto part = std::make_shared<TextPart>();
  part->in_order = shared_from_this();
  part->bytes = take_memory();
  std::string& bytes = part->bytes;

  const MutexLock lock(mutex_);
  if (!go_to_begin(raw)) return nullptr;
  const size_t held = rest_.size(), most = std::max<size_t>(held, settings_.unit_bytes);
  bytes.resize(most);
  rest_.copy(bytes.data(), held);
  size_t end = held;
  try {
    end += decode(raw, bytes.data() + held, most - held);
  } catch (const Error&) {
    if (held == 0) throw;
  }
  if (end == 0) return nullptr;
  const size_t filled = end;
  if (filled == most) {
    const size_t line_end = bytes.rfind('\n', filled - 1);
    if (line_end != bytes.npos) end = line_end + 1;
  }
  rest_.assign(bytes, end, filled - end);
  bytes.resize(end);
  part->begin = rest_begin_;
  part->at_record = at_line_;
  rest_begin_ += end;
  at_line_ = bytes.back() == '\n';
  while (!taken_.empty() && taken_.front().expired()) taken_.pop_front();
  taken_.push_back(part);
  return part;
}

// False if it was interrupted on the way.
bool TextInOrder::go_to_begin(const File& raw) {
  while (text_.skip(*decoder_, raw, settings_.begin)) {
    if (settings_.interrupted != nullptr && settings_.interrupted->load()) return false;
  }
  if (decoder_->text() >= settings_.begin) return true;
  throw ends_before(settings_.begin, decoder_->text(), text_.entry());
}

// Fewer bytes only at the end of the text, and before an error, which the next call throws.
size_t TextInOrder::decode(const File& raw, char* to, size_t bytes) const {
  const size_t got = text_.read(*decoder_, raw, to, bytes);
  if (got < bytes && !decoder_->failed()) files_.end_text(text_, decoder_->text());
  return got;
}

size_t TextInOrder::read(uint64_t offset, void* to, size_t bytes) const {
  const std::shared_ptr<const File> raw = files_.raw(text_.entry());
  {
    const MutexLock lock(mutex_);
    if (offset == rest_begin_ + rest_.size()) {
      rest_.reserve(rest_.size() + bytes);
      const size_t got = decode(*raw, static_cast<char*>(to), bytes);
      rest_.append(static_cast<char*>(to), got);
      return got;
    }
    if (const size_t got = copy_held(offset, static_cast<char*>(to), bytes); got > 0) return got;
    if (offset >= rest_begin_) return 0;
  }
  return InflatedFile(text_, raw).read(offset, to, bytes);
}

size_t TextInOrder::copy_held(uint64_t offset, char* to, size_t bytes) const {
  size_t done = 0;
  const auto copy_from = [&](uint64_t begin, const std::string& text) {
    if (done == bytes || offset < begin || offset >= begin + text.size()) return;
    const size_t count = text.copy(to + done, bytes - done, static_cast<size_t>(offset - begin));
    done += count;
    offset += count;
  };
  for (const auto& taken : taken_) {
    if (const auto part = taken.lock()) copy_from(part->begin, part->bytes);
  }
  copy_from(rest_begin_, rest_);
  return done;
}

std::string TextInOrder::take_memory() const {
  const MutexLock lock(memory_mutex_);
  if (memory_.empty()) return {};
  std::string out = std::move(memory_.back());
  memory_.pop_back();
  return out;
}

void TextInOrder::reuse(std::string bytes) const noexcept {
  // As many as wait to be decoded again, and no long ones.
  constexpr size_t kMost = 64;
  if (bytes.capacity() > 2 * settings_.unit_bytes) return;
  try {
    const MutexLock lock(memory_mutex_);
    if (memory_.size() < kMost) memory_.push_back(std::move(bytes));
  } catch (...) {  // then it is not used again
  }
}

}  // namespace millrace
