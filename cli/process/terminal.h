// What the terminal, if there is one, can show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::cli {

bool is_terminal(int descriptor);
// Columns of the terminal; 80 if it does not tell.
size_t terminal_width(int descriptor);
// Whether it is a terminal that understands colours, and NO_COLOR is not set.
bool wants_color(int descriptor);

enum class Color { red, cyan };
// `text` in bold and in `color`; unchanged if `enabled` is false.
std::string paint(std::string_view text, Color color, bool enabled);

// The first `columns` characters.
std::string cut_to_width(std::string_view text, size_t columns);

}  // namespace millrace::cli
