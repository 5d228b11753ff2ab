// SPDX-License-Identifier: Apache-2.0
#include "cube/script_dependencies.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "cube/cubepl/parser.hpp"

namespace forebay::cube {

namespace {

using cubepl::Node;
using cubepl::Op;

/// Whether `c` may be part of a variable's name.
bool is_name_char(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || (c >= '0' && c <= '9') || c == ':' || c == '_' || c == '-' || c == '#';
}

bool has_name(std::string_view text, std::string_view name) {
  for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || !is_name_char(text[at - 1]);
    if (begins && (end == text.size() || !is_name_char(text[end]))) return true;
  }
  return false;
}

/// Adds the variables that a script reads and does not assign.
void add_read_variables(std::string_view script, std::set<std::string>& names) {
  const auto tree = cubepl::parse(script);
  if (!tree) return;
  std::set<std::string> assigned;
  for (const Node& node : tree->nodes)
    if (node.op == Op::kAssign) assigned.insert(node.text);
  for (const Node& node : tree->nodes) {
    const bool is_read = node.op == Op::kVariable || node.op == Op::kSizeOf;
    const bool is_reserved =
        node.text.starts_with("cube::") || node.text.starts_with("calculation::");
    if (is_read && !is_reserved && !assigned.contains(node.text)) names.insert(node.text);
  }
}

}  // namespace

std::vector<std::size_t> initializer_metrics(const Anchor& anchor, const Metric& metric) {
  std::set<std::string> names;
  const Expressions& own = metric.expressions;
  for (const std::string* script : {&own.value, &own.init, &own.plus, &own.minus, &own.aggregate})
    add_read_variables(*script, names);
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < anchor.metrics.size(); ++i) {
    const Metric& other = anchor.metrics[i];
    if (is_measured(other.kind) || other.id == metric.id) continue;
    const bool is_needed = std::ranges::any_of(
        names, [&](const std::string& name) { return has_name(other.expressions.init, name); });
    if (is_needed) indices.push_back(i);
  }
  return indices;
}

}  // namespace forebay::cube
