#include "millrace/cli/help/command_info.h"

#include <algorithm>

namespace millrace::cli {

std::vector<std::string> choices_of(const std::string& value) {
  if (value.find('|') == std::string::npos) return {};
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= value.size();) {
    const size_t end = std::min(value.find('|', begin), value.size());
    out.push_back(value.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::vector<const CommandInfo*> all_commands(const CommandInfo& command) {
  std::vector<const CommandInfo*> out = {&command};
  for (const CommandInfo& below : command.commands) {
    for (const CommandInfo* info : all_commands(below)) out.push_back(info);
  }
  return out;
}

std::string last_word(const std::string& path) { return path.substr(path.rfind(' ') + 1); }

std::string command_line(const CommandInfo& command) {
  return command.path.empty() ? std::string("trainer") : "trainer " + command.path;
}

}  // namespace millrace::cli
