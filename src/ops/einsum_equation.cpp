#include "ops/einsum_equation.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"
#include "ops/infer_rules.h"

namespace qtool {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The labels of one term, whose ellipsis stands for `dots` axes.
EinsumEquation::Labels read_term(const OpContext& op, std::string_view term, std::int64_t dots) {
  EinsumEquation::Labels labels;
  bool has_dots = false;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term.substr(i).starts_with("...") && !has_dots) {
      for (std::int64_t axis = dots; axis > 0; --axis) labels.push_back(static_cast<int>(-axis));
      has_dots = true;
      i += 2;
      continue;
    }
    op.require(is_letter(term[i]), to_text("the equation has a term '", term,
                                           "', expected letters and at most one ellipsis"));
    labels.push_back(term[i]);
  }
  return labels;
}

std::int64_t letters_of(std::string_view term) {
  return std::count_if(term.begin(), term.end(), is_letter);
}

// The output labels of an equation without an arrow: the axes of the ellipsis, then the letters
// that occur once.
EinsumEquation::Labels implied_output(const std::vector<EinsumEquation::Labels>& inputs,
                                      std::int64_t dots) {
  std::map<int, int> counts;
  for (const auto& labels : inputs) {
    for (const int label : labels) ++counts[label];
  }
  EinsumEquation::Labels output;
  for (std::int64_t axis = dots; axis > 0; --axis) output.push_back(static_cast<int>(-axis));
  for (const auto& [label, count] : counts) {
    if (label > 0 && count == 1) output.push_back(label);
  }
  return output;
}

void learn_extents(const OpContext& op, EinsumEquation& equation) {
  for (std::size_t i = 0; i < equation.inputs.size(); ++i) {
    const Shape& shape = op.input(i).shape;
    for (std::size_t axis = 0; axis < equation.inputs[i].size(); ++axis) {
      const std::int64_t extent = shape[static_cast<std::int64_t>(axis)];
      std::int64_t& known = equation.extents.try_emplace(equation.inputs[i][axis], 1).first->second;
      op.require(known == 1 || extent == 1 || extent == known,
                 to_text("axis ", axis, " of input ", i, " has extent ", extent, ", expected ",
                         known, " as other axes of its label"));
      if (known == 1) known = extent;
    }
  }
}

}  // namespace

Shape EinsumEquation::shape_of_labels(const OpContext& op, const Labels& labels) const {
  std::vector<std::int64_t> dims;
  for (const int label : labels) dims.push_back(extents.at(label));
  return shape_of(op, std::move(dims));
}

EinsumEquation read_equation(const OpContext& op) {
  std::string text = op.node.get_string("equation", "");
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  std::vector<std::string> terms(1);
  for (const char c : text.substr(0, arrow)) {
    c == ',' ? terms.emplace_back() : terms.back() += std::string(1, c);
  }
  op.require(terms.size() == op.input_count(),
             to_text("the equation has ", terms.size(), " terms, expected ", op.input_count(),
                     ", one per input"));
  EinsumEquation equation;
  std::int64_t most_dots = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Shape& shape = op.input(i).shape;
    const bool has_dots = terms[i].find("...") != std::string::npos;
    const std::int64_t dots = shape.rank() - letters_of(terms[i]);
    op.require(dots == 0 || (dots > 0 && has_dots),
               to_text("the term '", terms[i], "' does not fit input ", i, " of shape ",
                       shape.to_string()));
    most_dots = std::max(most_dots, dots);
    equation.inputs.push_back(read_term(op, terms[i], dots));
  }
  learn_extents(op, equation);
  equation.output = arrow == std::string::npos
                        ? implied_output(equation.inputs, most_dots)
                        : read_term(op, std::string_view(text).substr(arrow + 2), most_dots);
  EinsumEquation::Labels sorted = equation.output;
  std::sort(sorted.begin(), sorted.end());
  op.require(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(),
             "the equation repeats a label in its output");
  for (const int label : sorted) {
    op.require(equation.extents.contains(label), "the output has a label that no input has");
  }
  return equation;
}

}  // namespace qtool
