#include "cli/command_line.h"

namespace qtool::tool {
namespace {
std::vector<std::string> kept_words;
}  // namespace

void keep_command_line(int argc, const char* const* argv) { kept_words.assign(argv, argv + argc); }

const std::vector<std::string>& command_line() { return kept_words; }

}  // namespace qtool::tool
