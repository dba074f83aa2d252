#include "other_runtime.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/file.h"
#include "base/text.h"
#include "qtool/quantize/target.h"
#include "support/places.h"

namespace qtool {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "qtool-interop-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

bool other_is_installed() {
  if (std::getenv("QTOOL_NO_OTHER_RUNTIME") != nullptr) return false;
  return fs::exists(QTOOL_NODE) && fs::exists(fs::path(QTOOL_INTEROP_PACKAGES) /
                                              "node_modules/onnxruntime-node/package.json");
}

bool other_is_exact() {
  std::ifstream cpu("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpu, line)) {
    if (line.find("vnni") != std::string::npos) return true;
  }
  return false;
}

bool other_is_exact_for(const QuantizeReport& report) {
  const bool counted = find_target(report.target).adds_pairs_in_16_bits;
  return (counted && report.saturating_pairs == 0) || other_is_exact();
}

namespace {

std::string command_for(const fs::path& model) {
  if (!other_is_installed())
    throw std::runtime_error(to_text(kNoOtherRuntime, "; ask for it first"));
  return to_text("cd '", QTOOL_INTEROP_PACKAGES, "' && '", QTOOL_NODE, "' '", kSourceFolder,
                 "/tests/interop/run.mjs' '", model.string(), "'");
}

}  // namespace

bool optimize_other(const fs::path& model, const std::string& level, const fs::path& optimized) {
  const std::string command =
      to_text(command_for(model), " --optimize '", optimized.string(), "' --level ", level);
  const bool done = std::system(command.c_str()) == 0 && fs::exists(optimized);
  if (!done) ADD_FAILURE() << "ONNX Runtime does not optimize " << model;
  return done;
}

OtherRun run_other(const fs::path& model, const std::vector<NamedTensor>& inputs,
                   const fs::path& folder) {
  std::string command = command_for(model);
  for (const auto& [name, values, shape] : inputs) {
    const fs::path data = folder / to_text(name, ".f32");
    write_file(data, {reinterpret_cast<const char*>(values.data()),
                      static_cast<std::size_t>(values.bytes())});
    std::string dims;
    for (const std::int64_t dim : shape.dims()) {
      dims += to_text(dims.empty() ? "" : "x", dim);
    }
    command += to_text(" --input '", name, "=", dims, "=", data.string(), "'");
  }
  command += to_text(" --output '", folder.string(), "' > '", folder.string(), "/run.json'");
  OtherRun run;
  if (std::system(command.c_str()) != 0) {
    ADD_FAILURE() << "ONNX Runtime does not run " << model;
    return run;
  }
  const auto json = nlohmann::json::parse(read_file(folder / "run.json", 1 << 26));
  for (const auto& node : json.at("nodes")) run.ops.push_back(node.at("op"));
  for (const auto& output : json.at("outputs")) {
    const std::string bytes = read_file(output.at("file").get<std::string>(), 1 << 28);
    run.outputs.emplace_back(bytes.size() / sizeof(float));
    std::memcpy(run.outputs.back().data(), bytes.data(), bytes.size());
  }
  return run;
}

}  // namespace qtool
