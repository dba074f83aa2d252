// Scan of opset 8. It scanned along the second axis of its inputs; the first axis was the batch.
#include <cstddef>
#include <utility>
#include <vector>

#include "base/text.h"
#include "graph/upgrade/upgrade.h"

namespace qtool {
namespace {

// Each element of a batch may have its own length. A batch of one element needs no lengths.
void require_one_element(const Upgrade& up, std::size_t index) {
  const auto& shape = up.value(up.input(index)).shape;
  if (shape && !shape->empty() && shape->front().size == 1) return;
  up.fail(to_text("the batch of input ", index,
                  " is not declared as 1; export the model again "
                  "with a newer opset"));
}

}  // namespace

void upgrade_scan(Upgrade& up) {
  if (up.from() >= 9) return;
  if (up.input(0) != kNoValue) up.fail("lengths of sequences are not supported");
  const std::size_t own = up.node().own_inputs();
  const std::size_t inputs = up.node().inputs.size();
  for (std::size_t i = 1; i < inputs; ++i) {
    ValueId input = up.input(i);
    if (i < own) {
      require_one_element(up, i);
      input = up.before("Squeeze", {input, up.add_ints("batch", {0})}, "element");
    }
    up.set_input(i - 1, input);
  }
  up.truncate_inputs(inputs - 1);
  const std::vector<ValueId> outputs = up.node().outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == kNoValue) continue;
    const ValueId element = up.add_value("element");
    up.set_output(i, element);
    up.after("Unsqueeze", {element, up.add_ints("batch", {0})}, outputs[i]);
  }
  if (auto directions = up.take_ints("directions")) {
    up.attributes()["scan_input_directions"] = std::move(*directions);
  }
}

}  // namespace qtool
