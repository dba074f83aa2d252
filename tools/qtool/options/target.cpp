#include "options/target.h"

#include <string_view>
#include <utility>
#include <vector>

#include "qtool/quantize/target.h"

namespace qtool::tool {

void add_target(Command& command, std::string& target) {
  std::vector<std::string> names;
  for (const Target& known : targets()) names.emplace_back(known.name);
  command.option("--target", target, "Back-end to quantize for, see qtool help targets")
      .placeholder("NAME")
      .show_default()
      .name_of(std::move(names),
               [](std::string_view name) { return std::string(find_target(name).name); });
}

}  // namespace qtool::tool
