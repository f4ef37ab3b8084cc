#include "millrace/input/compressed/text_in_order.h"

#include <algorithm>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/compressed/inflated_file.h"

namespace millrace {

TextPart::~TextPart() {
  if (in_order) in_order->reuse(std::move(bytes));
}

TextInOrder::TextInOrder(CompressedFiles& files, CompressedText& text, Settings settings)
    : files_(files),
      text_(text),
      settings_(std::move(settings)),
      decoder_(files.shared().take(text, settings_.begin, settings_.from)),
      rest_begin_(settings_.begin) {}

TextInOrder::~TextInOrder() { files_.shared().give(text_, std::move(decoder_)); }

std::shared_ptr<const TextPart> TextInOrder::next(const File& raw) {
  auto part = std::make_shared<TextPart>();
  part->in_order = shared_from_this();
  part->bytes = take_memory();
  std::string& bytes = part->bytes;

  const MutexLock lock(mutex_);
  if (!go_to_begin(raw)) return nullptr;
  size_t filled = rest_.size();
  bytes.resize(std::max(filled, settings_.part_bytes));
  rest_.copy(bytes.data(), filled);
  bool goes_on = true;
  while (filled < settings_.part_bytes && goes_on) {
    try {
      const size_t got = decode(raw, bytes.data() + filled, settings_.part_bytes - filled);
      filled += got;
      goes_on = got > 0;
    } catch (const Error&) {
      // The decoder says it again when this text is used up.
      if (filled == 0) throw;
      goes_on = false;
    }
  }
  if (filled == 0) return nullptr;
  const size_t end = goes_on ? settings_.cut({bytes.data(), filled}) : filled;
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
  while (decoder_->skip(raw, settings_.begin)) {
    if (settings_.interrupted != nullptr && settings_.interrupted->load()) return false;
    text_.learn(*decoder_);
  }
  if (decoder_->text() >= settings_.begin) return true;
  throw DataError(cat("the saved state is at offset ", settings_.begin, ", but the text ends at ", decoder_->text()),
                  {text_.entry().path});
}

size_t TextInOrder::decode(const File& raw, char* to, size_t bytes) const {
  const size_t got = decoder_->read(raw, to, bytes);
  text_.learn(*decoder_);
  text_.note(decoder_->text(), decoder_->at());
  if (got == 0) files_.end_text(text_, decoder_->text());
  return got;
}

size_t TextInOrder::read(uint64_t offset, void* to, size_t bytes) const {
  const std::shared_ptr<const File> raw = files_.raw(text_.entry());
  {
    const MutexLock lock(mutex_);
    if (offset == rest_begin_ + rest_.size()) {
      const size_t before = rest_.size();
      rest_.resize(before + bytes);
      size_t got = 0;
      try {
        got = decode(*raw, rest_.data() + before, bytes);
      } catch (...) {
        rest_.resize(before);
        throw;
      }
      rest_.resize(before + got);
    }
    if (const size_t got = copy_held(offset, static_cast<char*>(to), bytes); got > 0) return got;
    if (offset >= rest_begin_) return 0;
  }
  return InflatedFile(files_.shared(), text_, raw).read(offset, to, bytes);
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
  if (bytes.capacity() > 2 * settings_.part_bytes) return;
  try {
    const MutexLock lock(memory_mutex_);
    if (memory_.size() < kMost) memory_.push_back(std::move(bytes));
  } catch (...) {  // then it is not used again
  }
}

}  // namespace millrace
