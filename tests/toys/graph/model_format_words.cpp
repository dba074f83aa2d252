// A toy: a model is a line with operators of one operand, which follow each other.
#include <sstream>

#include "base/file.h"
#include "qtool/graph/model_format.h"

namespace qtool {
namespace {

constexpr std::string_view kMark = "words:";
constexpr std::int64_t kMaxBytes = 4096;

bool recognises(std::string_view bytes) { return bytes.starts_with(kMark); }

Graph load_files(const ModelFiles& files, std::string_view /*name*/, const StopCheck& /*stop*/) {
  Graph graph;
  graph.info.opsets = {{"", 17}};
  ValueId last = graph.add_value("x");
  graph.declare(last, DType::kFloat32, std::vector<Dim>{{1, {}}, {2, {}}, {4, {}}, {4, {}}});
  graph.add_input(last);
  std::istringstream words(files.model.substr(kMark.size()));
  for (std::string word; words >> word;) {
    const ValueId next = graph.add_value(word);
    Node node;
    node.op_type = word;
    node.inputs = {last};
    node.outputs = {next};
    graph.add_node(std::move(node));
    last = next;
  }
  graph.add_output(last);
  return graph;
}

Graph load(const std::filesystem::path& path, std::vector<std::filesystem::path>& /*data_files*/,
           const StopCheck& stop) {
  return load_files({read_file(path, kMaxBytes), {}, {}}, path.native(), stop);
}

}  // namespace

ModelFormat model_format_words() {
  return {.name = "words",
          .ending = ".words",
          .recognises = recognises,
          .load = load,
          .load_files = load_files,
          .save = nullptr};
}

}  // namespace qtool
