// SPDX-License-Identifier: Apache-2.0
// A second interpreter for tests: one location, plain recursion, no rows and no optimizations. It
// implements docs/formats/remapping.md and shares only the syntax tree with the first one.
#pragma once

#include <cfloat>
#include <climits>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "cube/cubepl/program.hpp"
#include "cube/cubepl/testing.hpp"

namespace forebay::cubepl::testing {

class ReferenceInterpreter {
 public:
  ReferenceInterpreter(const CompiledScript& code,
                       MemoryProfile& profile,
                       const EvalContext& context)
      : tree_(code.tree), profile_(profile), context_(context) {}

  double run() { return tree_.empty() ? 0 : number(tree_.root); }

 private:
  using Any = std::variant<std::monostate, double, std::string>;

  double number(NodeId id) {
    const Any value = any(id);
    if (const auto* const text = std::get_if<std::string>(&value)) return std::atof(text->c_str());
    const auto* const number = std::get_if<double>(&value);
    return number != nullptr ? *number : 0;
  }
  std::string text(NodeId id) {
    const Any value = any(id);
    if (const auto* const text = std::get_if<std::string>(&value)) return *text;
    const auto* const number = std::get_if<double>(&value);
    return number != nullptr ? fmt::format("{:.14g}", *number) : "";
  }
  bool truth(NodeId id) { return number(id) != 0; }

  Any any(NodeId id) {
    const Node& node = tree_[id];
    switch (node.op) {
      case Op::kText:
        return node.text;
      case Op::kVariable:
        if (node.kind == VariableKind::kCalculation)
          return static_cast<double>(node.text.ends_with("sysres::id") ? context_.locations.first
                                                                       : context_.callpath);
        return variables_[{node.text, index(node, 0)}];
      case Op::kBlock:
        for (std::size_t i = 0; i + 1 < node.children.size(); ++i)
          statement(node.children[i]);
        return any(node.children.back());
      default:
        return computed(node);
    }
  }

  long index(const Node& node, std::size_t child) {
    if (node.children.size() <= child) return 0;
    const double at = number(node.children[child]);
    const bool is_far = !(std::abs(at) < 1e15);
    return is_far ? LONG_MIN : static_cast<long>(at);  // out of range: no element
  }

  double metric(const Node& node) {
    const std::size_t index = node.text == "time" ? 0 : 1;
    const auto row = profile_.row({index, context_.callpath, node.flavor});
    return row->empty() ? 0 : (*row)[context_.locations.first];
  }

  double computed(const Node& node) {
    const auto child = [&](std::size_t i) { return number(node.children[i]); };
    switch (node.op) {
      case Op::kNumber:
        return node.number;
      case Op::kMetric:
        return metric(node);
      case Op::kNegate:
        return -child(0);
      case Op::kNot:
        return truth(node.children[0]) ? 0 : 1;
      case Op::kAbsolute:
        return std::abs(child(0));
      case Op::kSquareRoot:
        return child(0) < 0 ? 0 : std::sqrt(child(0));
      case Op::kTextEqual: {
        const std::string left = text(node.children[0]);
        return left == text(node.children[1]) ? 1 : 0;
      }
      case Op::kAnd:
        return truth(node.children[0]) && truth(node.children[1]) ? 1 : 0;
      case Op::kOr:
        return truth(node.children[0]) || truth(node.children[1]) ? 1 : 0;
      case Op::kMultiply:
      case Op::kDivide:
        return product(node);
      default: {
        const double left = child(0);
        return binary(node.op, left, child(1));
      }
    }
  }

  double product(const Node& node) {
    const double left = number(node.children[0]);
    if (left == 0) return 0;
    const double right = number(node.children[1]);
    if (node.op == Op::kDivide && right == 0) return left > 0 ? DBL_MAX : -DBL_MAX;
    if (node.op == Op::kDivide) return left / right;
    const double result = left * right;
    if (result == HUGE_VAL) return DBL_MAX;
    return result == -HUGE_VAL ? -DBL_MAX : result;
  }

  static double binary(Op op, double left, double right) {
    switch (op) {
      case Op::kAdd:
        return left + right;
      case Op::kSubtract:
        return left - right;
      case Op::kMinimum:
        return std::min(left, right);
      case Op::kMaximum:
        return std::max(left, right);
      case Op::kLess:
        return left < right ? 1 : 0;
      case Op::kGreaterEqual:
        return left >= right ? 1 : 0;
      case Op::kEqual:
        return left == right ? 1 : 0;
      default:
        ADD_FAILURE() << "the reference interpreter lacks " << static_cast<int>(op);
        return 0;
    }
  }

  void statements(NodeId body) {
    for (const NodeId id : tree_[body].children)
      statement(id);
  }

  void statement(NodeId id) {
    const Node& node = tree_[id];
    if (node.op == Op::kAssign) {
      const long at = index(node, 1);
      Any value = any(node.children[0]);
      variables_[{node.text, at}] = std::move(value);
    } else if (node.op == Op::kWhile) {
      while (truth(node.children[0]))
        statements(node.children[1]);
    } else if (node.op == Op::kIf) {
      conditional(node);
    }
  }

  void conditional(const Node& node) {
    std::size_t i = 0;
    while (i + 1 < node.children.size()) {
      if (truth(node.children[i])) {
        statements(node.children[i + 1]);
        return;
      }
      i += 2;
    }
    if (i < node.children.size()) statements(node.children[i]);
  }

  const Tree& tree_;
  MemoryProfile& profile_;
  EvalContext context_;
  std::map<std::pair<std::string, long>, Any> variables_;
};

}  // namespace forebay::cubepl::testing
