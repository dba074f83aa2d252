#include "command_line.h"

namespace qtool::tool {
namespace {
std::vector<std::string> words;
}  // namespace

void keep_command_line(int argc, const char* const* argv) { words.assign(argv, argv + argc); }

const std::vector<std::string>& command_line() { return words; }

}  // namespace qtool::tool
