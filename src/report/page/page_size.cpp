#include "report/page/page_size.h"

#include <cstdint>

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;

/// With fewer drawings than this, whole kinds of drawings are left out.
constexpr std::size_t kLeastDrawn = 8;

/// Keeps the drawings of the `most` worst sources.
void keep_drawings(std::size_t most, Json& figures) {
  for (const char* drawings : {"channels", "weights", "scatter", "histograms"}) {
    Json::array_t& list = figures[drawings].get_ref<Json::array_t&>();
    if (list.size() > most) list.resize(most);
  }
  figures["drawings_left_out"] = true;
}

/// Shortens every list with one entry per tensor or node to at most `most` entries. If `most` is 0,
/// everything else that holds names is removed too.
void keep(std::size_t most, Json& figures) {
  Json& analysis = figures["analysis"];
  const auto shorten = [most](Json& list) {
    if (list.size() > most) list.get_ref<Json::array_t&>().resize(most);
  };
  const std::size_t before = analysis["sources"].size();
  for (const char* list : {"sources", "layers", "not_compared", "left_out"}) {
    shorten(analysis[list]);
  }
  if (analysis.contains("baseline")) shorten(analysis["baseline"]["sources"]);
  shorten(figures["strip"]);
  shorten(figures["latency"]["nodes"]);
  const std::int64_t left_out = figures["sources_left_out"].get<std::int64_t>();
  figures["sources_left_out"] =
      left_out + static_cast<std::int64_t>(before - analysis["sources"].size());
  if (most > 0) return;
  figures["verdict"] = Json();
  figures["set"] = Json();
  analysis.erase("suggestions");
  analysis.erase("baseline");
  analysis["outputs"] = Json::array();
  analysis["faults"] = Json::array();
  analysis["passed_over"]["first"] = Json::array();
  figures["evaluation"]["outputs"] = Json::array();
  figures["provenance"] = Json::array();
  figures["doubts"] = Json::array();
}

/// The figures as JSON without any character that has a meaning in HTML.
std::string block_of(const Json& figures) {
  const std::string text = figures.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string block;
  block.reserve(text.size());
  for (const char c : text) {  // the characters below occur only within strings
    switch (c) {
      case '<':
        block += "\\u003c";
        break;
      case '>':
        block += "\\u003e";
        break;
      case '&':
        block += "\\u0026";
        break;
      default:
        block += c;
    }
  }
  return block;
}

}  // namespace

std::string block_within(std::size_t room, Json figures) {
  std::string block = block_of(figures);
  std::size_t most = figures["analysis"]["sources"].size();
  for (std::size_t drawn = most; block.size() > room && drawn > kLeastDrawn;) {
    drawn /= 2;
    keep_drawings(drawn, figures);
    block = block_of(figures);
  }
  for (const char* drawings : {"channels", "weights", "scatter", "histograms", "worst"}) {
    if (block.size() <= room) break;
    figures[drawings] = Json::array();
    block = block_of(figures);
  }
  while (block.size() > room && most > 0) {
    most /= 2;
    keep(most, figures);
    block = block_of(figures);
  }
  return block;
}

}  // namespace qtool
