// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/interpreter.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace forebay::cubepl {
namespace {

bool is_text_op(Op op) {
  return op == Op::kText || op == Op::kLowerCase || op == Op::kUpperCase ||
         op == Op::kEnvironment || op == Op::kMetricProperty;
}

bool has_two_numbers(Op op) { return op >= Op::kAdd && op <= Op::kXor; }

Lanes as_number(Value value) {
  return value.kind == ValueKind::kText ? Lanes(number_of(value.text)) : std::move(value.lanes);
}

/// The left operand alone decides.
bool is_decided(Op op, double left) {
  switch (op) {
    case Op::kMultiply:
    case Op::kDivide:
    case Op::kAnd:
      return left == 0;
    case Op::kOr:
      return left != 0;
    default:
      return false;
  }
}

}  // namespace

Interpreter::Interpreter(Machine& machine,
                         const Code& code,
                         const Place& place,
                         Arguments arguments)
    : machine_(machine),
      code_(code),
      place_(place),
      arguments_(arguments),
      locals_(code.local_count) {}

std::optional<Lanes> Interpreter::run() {
  machine_.budget.take_part();
  if (code_.empty() || machine_.error) return Lanes();
  step(code_.tree[code_.tree.root]);
  Lanes result = number(code_.tree.root);
  if (parted_) return std::nullopt;
  // A view of a variable would end with this run.
  if (!result.is_uniform() && !result.owns_row())
    return copy_of(result, count(), *machine_.scratch);
  return result;
}

void Interpreter::fail(const Node& node, ErrorClass kind, std::string what) {
  if (!machine_.error) machine_.error = code_.error_at(node, kind, std::move(what));
}

void Interpreter::step(const Node& node) {
  if (machine_.budget.take_step()) return;
  fail(node, ErrorClass::kLimit,
       fmt::format("more than {} steps; one is a statement, a turn of a loop, a computed value of "
                   "a metric, or {} operators and operands",
                   machine_.budget.steps(), kPartsPerStep));
}

Lanes Interpreter::number(NodeId id) {
  const Node& node = code_.tree[id];
  if (stopped()) return Lanes();
  machine_.budget.take_part();
  if (has_two_numbers(node.op)) return two(node);
  switch (node.op) {
    case Op::kNumber:
    case Op::kDefined:
      return Lanes(node.number);
    case Op::kMetric:
      return metric(node);
    case Op::kArgument1:
      return arguments_.first->view();
    case Op::kArgument2:
      return arguments_.second->view();
    case Op::kSizeOf:
      return Lanes(size_of(node));
    case Op::kTextEqual:
      return Lanes(text(node.children[0]) == text(node.children[1]) ? 1 : 0);
    case Op::kTextEqualAnyCase:
      return Lanes(
          in_lower_case(text(node.children[0])) == in_lower_case(text(node.children[1])) ? 1 : 0);
    case Op::kMatches:
      return Lanes(machine_.patterns->matches(node.slot, text(node.children[0])) ? 1 : 0);
    case Op::kVariable:
      return as_number(variable(node));
    case Op::kBlock:
      statements(node, node.children.size() - 1);
      return number(node.children.back());
    default:
      if (is_text_op(node.op)) return as_number(value(id));
      return apply(node.op, number(node.children[0]), count(), *machine_.scratch);
  }
}

Value Interpreter::value(NodeId id) {
  const Node& node = code_.tree[id];
  switch (node.op) {
    case Op::kText:
      return Value::of(node.text);
    case Op::kLowerCase:
      return Value::of(in_lower_case(text(node.children[0])));
    case Op::kUpperCase:
      return Value::of(in_upper_case(text(node.children[0])));
    case Op::kEnvironment:
      return Value::of(machine_.environment(text(node.children[0])));
    case Op::kMetricProperty:
      return Value::of(property(node));
    case Op::kVariable:
      return variable(node);
    case Op::kBlock:
      statements(node, node.children.size() - 1);
      return value(node.children.back());
    default:
      return Value::of(number(id));
  }
}

std::string Interpreter::as_text(Value value) {
  if (value.kind != ValueKind::kNumber) return std::move(value.text);
  if (value.lanes.is_uniform()) return text_of(value.lanes.number());
  part();
  return {};
}

std::string Interpreter::text(NodeId id) { return as_text(value(id)); }

Lanes Interpreter::two(const Node& node) {
  Lanes left = number(node.children[0]);
  if (left.is_uniform() && is_decided(node.op, left.number()))
    return Lanes(node.op == Op::kOr ? 1 : 0);
  // Statements on the right are for some locations only, or change what the left one looks at.
  if (!left.is_uniform() && code_.tree[node.children[1]].has_block) part();
  Lanes right = number(node.children[1]);
  if (stopped()) return Lanes();
  return apply(node.op, std::move(left), std::move(right), count(), *machine_.scratch);
}

std::optional<double> Interpreter::index(const Node& node, std::size_t child) {
  if (node.children.size() <= child) return 0;
  const Lanes at = number(node.children[child]);
  if (at.is_uniform()) return at.number();
  part();
  return std::nullopt;
}

Value Interpreter::variable(const Node& node) {
  const auto at = index(node, 0);
  if (!at || stopped()) return {};
  if (node.home == Home::kFact) return fact_value(node, *at);
  // Also refuses what is no number.
  if (!(*at > -1) || *at >= static_cast<double>(machine_.limits.global_elements)) return {};
  const auto element = static_cast<std::size_t>(*at);
  switch (node.home) {
    case Home::kGlobal:
      return (*machine_.globals)[node.slot].value(element);
    case Home::kLocal: {
      const LocalArray& array = locals_[node.slot];
      return element < array.size() ? array[element].view() : Value{};
    }
    case Home::kCalculation:
      return element == 0 ? Value::of(quantity(static_cast<Quantity>(node.slot))) : Value{};
    default:
      return {};
  }
}

Value Interpreter::fact_value(const Node& node, double index) const {
  const Fact& wanted = fact(node.slot);
  const Knowledge& knowledge = *machine_.knowledge;
  if (!(index > -1) || index >= static_cast<double>(wanted.size(knowledge))) return {};
  const FactValue found = wanted.value(knowledge, static_cast<std::size_t>(index));
  if (const double* const number = std::get_if<double>(&found)) return Value::of(Lanes(*number));
  return Value::of(std::string(std::get<std::string_view>(found)));
}

Lanes Interpreter::quantity(Quantity what) {
  switch (what) {
    case Quantity::kMetric:
      return Lanes(static_cast<double>(place_.metric));
    case Quantity::kCallpath:
      return Lanes(static_cast<double>(place_.callpath));
    case Quantity::kRegion:
      return Lanes(
          static_cast<double>(machine_.knowledge->facts->callpaths[place_.callpath].region));
    case Quantity::kResourceKind:
      return Lanes(7);
    case Quantity::kResource:
      break;
  }
  const auto first = static_cast<double>(place_.locations.first);
  if (count() == 1) return Lanes(first);
  Scratch::Row row = machine_.scratch->take();
  for (std::size_t i = 0; i < count(); ++i)
    row.data()[i] = first + static_cast<double>(i);
  return Lanes(std::move(row));
}

Lanes Interpreter::metric(const Node& node) {
  Place there = place_;
  there.metric = node.slot;
  if (node.flavour != Flavour::kSame) there.flavour = node.flavour;
  if (node.reach == Reach::kContext) return machine_.metrics->value(there);
  return Lanes(machine_.metrics->sum(node, there));
}

double Interpreter::size_of(const Node& node) const {
  switch (node.home) {
    case Home::kGlobal:
      return static_cast<double>((*machine_.globals)[node.slot].size());
    case Home::kLocal:
      return static_cast<double>(locals_[node.slot].size());
    case Home::kFact:
      return static_cast<double>(fact(node.slot).size(*machine_.knowledge));
    case Home::kCalculation:
      return 1;
    case Home::kNothing:
      break;
  }
  return 0;
}

std::string Interpreter::property(const Node& node) const {
  const std::size_t own_count = machine_.program->metrics.size();
  const MetricFacts& metric = node.slot < own_count
                                  ? machine_.knowledge->metrics[node.slot]
                                  : (*machine_.input_facts)[node.slot - own_count];
  if (node.property == "unique name") return metric.unique_name;
  if (node.property == "display name") return metric.display_name;
  if (node.property == "uom") return metric.uom;
  if (node.property == "dtype") return metric.dtype;
  if (node.property == "url") return metric.url;
  if (node.property == "description") return metric.description;
  return node.property == "value" ? (*machine_.metric_values)[node.slot] : std::string();
}

void Interpreter::statements(const Node& node, std::size_t count) {
  for (std::size_t i = 0; i < count && !stopped(); ++i)
    statement(node.children[i]);
}

void Interpreter::statement(NodeId id) {
  const Node& node = code_.tree[id];
  step(node);
  if (stopped()) return;
  switch (node.op) {
    case Op::kAssign:
      assign(node);
      return;
    case Op::kIf:
      conditional(node);
      return;
    case Op::kWhile:
      loop(node);
      return;
    case Op::kProperty:
      (*machine_.assignable_metric_values)[node.slot] = code_.tree[node.children[0]].text;
      return;
    default:  // declarations are for the compiler
      return;
  }
}

void Interpreter::body(NodeId id, const Lanes& mask) {
  if (stopped() || !any(mask, count())) return;
  Lanes outer = std::exchange(mask_, mask.view());
  const Node& node = code_.tree[id];
  statements(node, node.children.size());
  mask_ = std::move(outer);
}

void Interpreter::assign(const Node& node) {
  const auto at = index(node, 1);
  Value assigned = value(node.children[0]);
  if (!at || stopped()) return;
  if (!(*at > -1) || *at >= static_cast<double>(machine_.limits.global_elements)) {
    fail(node, ErrorClass::kOutOfRange,
         fmt::format("${{{}}}[{}] cannot be assigned: indices go from 0 to {}", node.text,
                     text_of(*at), machine_.limits.global_elements - 1));
    return;
  }
  const auto element = static_cast<std::size_t>(*at);
  if (node.home == Home::kGlobal) {
    assign_global(node, element, std::move(assigned));
  } else {
    assign_local(node, element, std::move(assigned));
  }
}

void Interpreter::assign_global(const Node& node, std::size_t at, Value value) {
  GlobalArray& array = (*machine_.assignable_globals)[node.slot];
  if (at >= array.size()) machine_.global_element_count += at + 1 - array.size();
  if (machine_.global_element_count > machine_.limits.global_elements) {
    fail(node, ErrorClass::kLimit,
         fmt::format("global variables have more than {} elements",
                     machine_.limits.global_elements));
    return;
  }
  array.assign(at, std::move(value));
}

void Interpreter::assign_local(const Node& node, std::size_t at, Value value) {
  LocalArray& array = locals_[node.slot];
  if (at >= array.size()) {
    if (!mask_.is_uniform()) return part();
    local_element_count_ += at + 1 - array.size();
    if (local_element_count_ > machine_.limits.local_elements)
      return fail(
          node, ErrorClass::kLimit,
          fmt::format("variables have more than {} elements", machine_.limits.local_elements));
    array.resize(at + 1);
  }
  Value& element = array[at];
  if (!mask_.is_uniform()) {
    if (value.kind != ValueKind::kNumber || element.kind != ValueKind::kNumber) return part();
    value.lanes = blend(mask_, value.lanes, element.lanes, count(), *machine_.scratch);
  } else if (!value.lanes.is_uniform() && !value.lanes.owns_row()) {
    // What is looked at may change before the variable does.
    value.lanes = copy_of(value.lanes, count(), *machine_.scratch);
  }
  element = std::move(value);
}

void Interpreter::conditional(const Node& node) {
  // The locations that no condition has claimed yet.
  Lanes open = mask_.view();
  Scratch& scratch = *machine_.scratch;
  const std::size_t pair_count = node.children.size() / 2;
  for (std::size_t i = 0; i < pair_count && !stopped(); ++i) {
    // Statements in a later condition are for those locations only.
    if (!open.is_uniform() && code_.tree[node.children[2 * i]].has_block) return part();
    Lanes condition = number(node.children[2 * i]);
    if (condition.is_uniform()) {
      if (condition.number() == 0) continue;
      body(node.children[2 * i + 1], open);
      return;
    }
    const Lanes taken = apply(Op::kAnd, open.view(), condition.view(), count(), scratch);
    open = apply(Op::kAnd, open.view(), apply(Op::kNot, std::move(condition), count(), scratch),
                 count(), scratch);
    body(node.children[2 * i + 1], taken);
  }
  if (node.children.size() % 2 == 1) body(node.children.back(), open);
}

void Interpreter::loop(const Node& node) {
  while (!stopped()) {
    const Lanes condition = number(node.children[0]);
    if (!condition.is_uniform()) return part();
    if (stopped() || condition.number() == 0) return;
    step(node);
    body(node.children[1], mask_);
  }
}

}  // namespace forebay::cubepl
