#include "millrace/input/compressed/text_units.h"

#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

TextUnits::TextUnits(CompressedFiles& files, CompressedText& text, Settings settings)
    : files_(files), text_(text), settings_(std::move(settings)), next_(text.before(settings_.begin)) {}

bool TextUnits::next(Unit& unit) {
  const ReadingTurn turn;
  const std::shared_ptr<const File> raw = files_.raw(text_.entry());
  while (!in_order_ && next_.at < text_.compressed().end) {
    const std::optional<TextRange> range = text_.range_at(next_, *raw, settings_.unit_bytes);
    if (!range) {
      in_order_ = std::make_shared<TextInOrder>(
          files_, text_,
          TextInOrder::Settings{next_, unit.begin, settings_.unit_bytes, settings_.cut, settings_.interrupted});
      break;
    }
    next_ = range->end;
    if (text_.wants(next_.text, next_.at) && !next_.window) text_.add(next_);
    text_.note(next_.text, next_.at);
    if (next_.text <= unit.begin) continue;  // only on the way to where it begins, or without text
    auto part = std::make_shared<TextPart>();
    part->begin = range->begin.text;
    part->at_record = range->begin.at_line.value_or(files_.shared().end_with_lines());
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
  if (next_.text >= unit.begin) return false;
  throw DataError(cat("the saved state is at offset ", unit.begin, ", but the text ends at ", next_.text),
                  {text_.entry().path});
}

}  // namespace millrace
