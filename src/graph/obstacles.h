#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "qtool/graph/graph.h"

namespace qtool {

/// Whether something runs nodes of an operator: itself, or what upgrade_opset() makes of it.
bool is_runnable(std::string_view op_type, std::string_view domain);

/// The nodes that keep a model from being used, counted by operator, so that one message names all
/// of them.
class Obstacles {
 public:
  /// Counts a node. `name` tells where the first one of its operator is; `reason`, which may be
  /// empty, says what stands in the way besides the operator itself.
  void add(std::string_view op_type, std::string_view domain, std::string_view name,
           std::string_view reason = {});

  [[nodiscard]] bool empty() const noexcept { return kinds_.empty(); }

  /// Throws Error(kUnsupported): "found operators that are not supported, in a model of opset 17:
  /// LSTM (2 nodes, the first is 'rnn'), com.acme.Foo (1 node 'foo')". The most frequent operators
  /// first; of very many kinds the last are only counted.
  [[noreturn]] void fail(const ModelInfo& model) const;

 private:
  struct Kind {
    std::int64_t nodes = 0;
    std::string first;
    std::string reason;
  };
  std::map<std::string, Kind> kinds_;  // by operator
};

}  // namespace qtool
