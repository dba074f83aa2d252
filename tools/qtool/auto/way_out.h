#pragma once

#include <string>

#include "qtool/base/error.h"
#include "qtool/graph/graph.h"

namespace qtool::tool {

/// The error of `auto` that samples are not for a network, with the commands that quantize a
/// network of several inputs: by steps that feed outputs back as inputs, and without samples. The
/// first of them only if it would run, which needs `inputs` (--inputs) and one output for each
/// state. Errors of other kinds, and of networks with one input, are unchanged. `model`: its file.
Error with_way_out(const Error& error, const std::string& model, const std::string& inputs,
                   const Graph& graph);

/// The result of `list`, which lists samples for the network or prepares to read them. Throws its
/// errors by with_way_out().
template <typename List>
auto list_or_way_out(const std::string& model, const std::string& inputs, const Graph& graph,
                     const List& list) {
  try {
    return list();
  } catch (const Error& error) {
    throw with_way_out(error, model, inputs, graph);
  }
}

}  // namespace qtool::tool
