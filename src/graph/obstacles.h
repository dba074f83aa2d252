#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "qtool/graph/graph.h"

namespace qtool {

/// Whether qtool can run an operator, either as it is or after upgrade_opset() has rewritten it.
bool is_runnable(std::string_view op_type, std::string_view domain);

/// The nodes that prevent a model from being used, counted by operator. One message names all their
/// operators.
class Obstacles {
 public:
  /// Counts a node. The message gives the `name` and `reason` of the first node of each operator.
  /// `reason` is empty if the operator itself is the obstacle.
  void add(std::string_view op_type, std::string_view domain, std::string_view name,
           std::string_view reason = {});

  [[nodiscard]] bool empty() const noexcept { return kinds_.empty(); }

  /// Throws Error(kUnsupported): "found operators that are not supported, in a model of opset 17:
  /// LSTM (2 nodes, the first is 'rnn'), com.acme.Foo (1 node 'foo')". The most frequent operators
  /// come first. If there are more than 30 operators, the message only gives the number of the
  /// others.
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
