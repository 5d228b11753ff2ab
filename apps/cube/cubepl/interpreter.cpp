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

bool is_binary_op(Op op) { return op >= Op::kAdd && op <= Op::kXor; }

Lanes as_number(Value value) {
  return value.kind == ScriptValueKind::kText ? Lanes(parse_number(value.text))
                                              : std::move(value.lanes);
}

/// Whether the left operand alone determines the result.
bool is_short_circuit(Op op, double left) {
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

Interpreter::Interpreter(InterpreterState& state,
                         const CompiledScript& code,
                         const EvalContext& context,
                         Operands arguments)
    : state_(state),
      script_(code),
      context_(context),
      operands_(arguments),
      locals_(code.local_count) {}

std::optional<Lanes> Interpreter::run() {
  state_.budget.charge_operand();
  if (script_.empty() || state_.error) return Lanes();
  step(script_.tree[script_.tree.root]);
  Lanes result = number(script_.tree.root);
  if (has_diverged_) return std::nullopt;
  // A view of a local variable would dangle after this run.
  if (!result.is_uniform() && !result.owns_row())
    return copy_lanes(result, count(), *state_.scratch);
  return result;
}

void Interpreter::fail(const Node& node, ErrorClass kind, std::string what) {
  if (!state_.error) state_.error = script_.error_at(node, kind, std::move(what));
}

void Interpreter::step(const Node& node) {
  if (state_.budget.charge_step()) return;
  fail(node, ErrorClass::kLimit,
       fmt::format("more than {} steps; a step is a statement, an iteration of a loop, a computed "
                   "value of a metric, or {} operators and operands",
                   state_.budget.steps(), kOperandsPerStep));
}

Lanes Interpreter::number(NodeId id) {
  const Node& node = script_.tree[id];
  if (is_stopped()) return Lanes();
  state_.budget.charge_operand();
  if (is_binary_op(node.op)) return binary(node);
  switch (node.op) {
    case Op::kNumber:
    case Op::kDefined:
      return Lanes(node.number);
    case Op::kMetric:
      return metric(node);
    case Op::kArgument1:
      return operands_.first->view();
    case Op::kArgument2:
      return operands_.second->view();
    case Op::kSizeOf:
      return Lanes(size_of(node));
    case Op::kTextEqual:
      return Lanes(text(node.children[0]) == text(node.children[1]) ? 1 : 0);
    case Op::kTextEqualAnyCase:
      return Lanes(to_lower(text(node.children[0])) == to_lower(text(node.children[1])) ? 1 : 0);
    case Op::kMatches:
      return Lanes(state_.patterns->matches(node.slot, text(node.children[0])) ? 1 : 0);
    case Op::kVariable:
      return as_number(variable(node));
    case Op::kBlock:
      statements(node, node.children.size() - 1);
      return number(node.children.back());
    default:
      if (is_text_op(node.op)) return as_number(value(id));
      return apply(node.op, number(node.children[0]), count(), *state_.scratch);
  }
}

Value Interpreter::value(NodeId id) {
  const Node& node = script_.tree[id];
  switch (node.op) {
    case Op::kText:
      return Value::of(node.text);
    case Op::kLowerCase:
      return Value::of(to_lower(text(node.children[0])));
    case Op::kUpperCase:
      return Value::of(to_upper(text(node.children[0])));
    case Op::kEnvironment:
      return Value::of(state_.environment(text(node.children[0])));
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
  if (value.kind != ScriptValueKind::kNumber) return std::move(value.text);
  if (value.lanes.is_uniform()) return format_number(value.lanes.number());
  diverge();
  return {};
}

std::string Interpreter::text(NodeId id) { return as_text(value(id)); }

Lanes Interpreter::binary(const Node& node) {
  Lanes left = number(node.children[0]);
  if (left.is_uniform() && is_short_circuit(node.op, left.number()))
    return Lanes(node.op == Op::kOr ? 1 : 0);
  // Statements on the right are executed for some locations only, or change the left operand.
  if (!left.is_uniform() && script_.tree[node.children[1]].has_block) diverge();
  Lanes right = number(node.children[1]);
  if (is_stopped()) return Lanes();
  return apply(node.op, std::move(left), std::move(right), count(), *state_.scratch);
}

std::optional<double> Interpreter::index(const Node& node, std::size_t child) {
  if (node.children.size() <= child) return 0;
  const Lanes at = number(node.children[child]);
  if (at.is_uniform()) return at.number();
  diverge();
  return std::nullopt;
}

Value Interpreter::variable(const Node& node) {
  const auto at = index(node, 0);
  if (!at || is_stopped()) return {};
  if (node.kind == VariableKind::kProfile) return profile_variable_value(node, *at);
  // Also rejects NaN.
  if (!(*at > -1) || *at >= static_cast<double>(state_.limits.global_elements)) return {};
  const auto element = static_cast<std::size_t>(*at);
  switch (node.kind) {
    case VariableKind::kGlobal:
      return (*state_.globals)[node.slot].value(element);
    case VariableKind::kLocal: {
      const LocalArray& array = locals_[node.slot];
      return element < array.size() ? array[element].view() : Value{};
    }
    case VariableKind::kCalculation:
      return element == 0
                 ? Value::of(calculation_variable(static_cast<CalculationVariable>(node.slot)))
                 : Value{};
    default:
      return {};
  }
}

Value Interpreter::profile_variable_value(const Node& node, double index) const {
  const ProfileVariable& variable = profile_variable(node.slot);
  const ProfileTables& tables = *state_.tables;
  if (!(index > -1) || index >= static_cast<double>(variable.size(tables))) return {};
  const ProfileVariableValue found = variable.value(tables, static_cast<std::size_t>(index));
  if (const double* const number = std::get_if<double>(&found)) return Value::of(Lanes(*number));
  return Value::of(std::string(std::get<std::string_view>(found)));
}

Lanes Interpreter::calculation_variable(CalculationVariable what) {
  switch (what) {
    case CalculationVariable::kMetric:
      return Lanes(static_cast<double>(context_.metric));
    case CalculationVariable::kCallpath:
      return Lanes(static_cast<double>(context_.callpath));
    case CalculationVariable::kRegion:
      return Lanes(static_cast<double>(state_.tables->info->callpaths[context_.callpath].region));
    case CalculationVariable::kResourceKind:
      return Lanes(7);
    case CalculationVariable::kResource:
      break;
  }
  const auto first = static_cast<double>(context_.locations.first);
  if (count() == 1) return Lanes(first);
  Scratch::Row row = state_.scratch->acquire();
  for (std::size_t i = 0; i < count(); ++i)
    row.data()[i] = first + static_cast<double>(i);
  return Lanes(std::move(row));
}

Lanes Interpreter::metric(const Node& node) {
  EvalContext other = context_;
  other.metric = node.slot;
  if (node.flavor != Flavor::kSame) other.flavor = node.flavor;
  if (node.scope == ReferenceScope::kContext) return state_.metrics->value(other);
  return Lanes(state_.metrics->sum(node, other));
}

double Interpreter::size_of(const Node& node) const {
  switch (node.kind) {
    case VariableKind::kGlobal:
      return static_cast<double>((*state_.globals)[node.slot].size());
    case VariableKind::kLocal:
      return static_cast<double>(locals_[node.slot].size());
    case VariableKind::kProfile:
      return static_cast<double>(profile_variable(node.slot).size(*state_.tables));
    case VariableKind::kCalculation:
      return 1;
    case VariableKind::kUndefined:
      break;
  }
  return 0;
}

std::string Interpreter::property(const Node& node) const {
  const std::size_t own_count = state_.program->metrics.size();
  const MetricInfo& metric = node.slot < own_count ? state_.tables->metrics[node.slot]
                                                   : (*state_.input_info)[node.slot - own_count];
  if (node.property == "unique name") return metric.unique_name;
  if (node.property == "display name") return metric.display_name;
  if (node.property == "uom") return metric.uom;
  if (node.property == "dtype") return metric.dtype;
  if (node.property == "url") return metric.url;
  if (node.property == "description") return metric.description;
  return node.property == "value" ? (*state_.metric_values)[node.slot] : std::string();
}

void Interpreter::statements(const Node& node, std::size_t count) {
  for (std::size_t i = 0; i < count && !is_stopped(); ++i)
    statement(node.children[i]);
}

void Interpreter::statement(NodeId id) {
  const Node& node = script_.tree[id];
  step(node);
  if (is_stopped()) return;
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
      (*state_.assignable_metric_values)[node.slot] = script_.tree[node.children[0]].text;
      return;
    default:  // the compiler handles declarations
      return;
  }
}

void Interpreter::body(NodeId id, const Lanes& mask) {
  if (is_stopped() || !any_nonzero(mask, count())) return;
  Lanes outer = std::exchange(mask_, mask.view());
  const Node& node = script_.tree[id];
  statements(node, node.children.size());
  mask_ = std::move(outer);
}

void Interpreter::assign(const Node& node) {
  const auto at = index(node, 1);
  Value assigned = value(node.children[0]);
  if (!at || is_stopped()) return;
  if (!(*at > -1) || *at >= static_cast<double>(state_.limits.global_elements)) {
    fail(node, ErrorClass::kOutOfRange,
         fmt::format("${{{}}}[{}] cannot be assigned; an index must be from 0 to {}", node.text,
                     format_number(*at), state_.limits.global_elements - 1));
    return;
  }
  const auto element = static_cast<std::size_t>(*at);
  if (node.kind == VariableKind::kGlobal) {
    assign_global(node, element, std::move(assigned));
  } else {
    assign_local(node, element, std::move(assigned));
  }
}

void Interpreter::assign_global(const Node& node, std::size_t at, Value value) {
  GlobalArray& array = (*state_.assignable_globals)[node.slot];
  if (at >= array.size()) state_.global_element_count += at + 1 - array.size();
  if (state_.global_element_count > state_.limits.global_elements) {
    fail(node, ErrorClass::kLimit,
         fmt::format("global variables have more than {} elements", state_.limits.global_elements));
    return;
  }
  array.assign(at, std::move(value));
}

void Interpreter::assign_local(const Node& node, std::size_t at, Value value) {
  LocalArray& array = locals_[node.slot];
  if (at >= array.size()) {
    if (!mask_.is_uniform()) return diverge();
    local_element_count_ += at + 1 - array.size();
    if (local_element_count_ > state_.limits.local_elements)
      return fail(
          node, ErrorClass::kLimit,
          fmt::format("variables have more than {} elements", state_.limits.local_elements));
    array.resize(at + 1);
  }
  Value& element = array[at];
  if (!mask_.is_uniform()) {
    if (value.kind != ScriptValueKind::kNumber || element.kind != ScriptValueKind::kNumber)
      return diverge();
    value.lanes = blend(mask_, value.lanes, element.lanes, count(), *state_.scratch);
  } else if (!value.lanes.is_uniform() && !value.lanes.owns_row()) {
    // The viewed row may change before the variable does.
    value.lanes = copy_lanes(value.lanes, count(), *state_.scratch);
  }
  element = std::move(value);
}

void Interpreter::conditional(const Node& node) {
  // The locations for which no condition was true yet.
  Lanes open = mask_.view();
  Scratch& scratch = *state_.scratch;
  const std::size_t pair_count = node.children.size() / 2;
  for (std::size_t i = 0; i < pair_count && !is_stopped(); ++i) {
    // Statements in a later condition are executed for those locations only.
    if (!open.is_uniform() && script_.tree[node.children[2 * i]].has_block) return diverge();
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
  while (!is_stopped()) {
    const Lanes condition = number(node.children[0]);
    if (!condition.is_uniform()) return diverge();
    if (is_stopped() || condition.number() == 0) return;
    step(node);
    body(node.children[1], mask_);
  }
}

}  // namespace forebay::cubepl
