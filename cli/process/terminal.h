// What the terminal, if there is one, can show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::cli {

bool is_terminal(int descriptor);
// Columns of the terminal, 80 when it does not say.
size_t terminal_width(int descriptor);
// A terminal that understands colours, and NO_COLOR is not set.
bool wants_color(int descriptor);

enum class Color { red, cyan };
// `text` in bold and in `color`; as it is when `enabled` is false.
std::string paint(std::string_view text, Color color, bool enabled);

// The first `columns` characters.
std::string cut_to_width(std::string_view text, size_t columns);

}  // namespace millrace::cli
