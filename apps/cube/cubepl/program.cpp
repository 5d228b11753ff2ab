// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/program.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "cube/cubepl/parser.hpp"
#include "cube/cubepl/profile_variables.hpp"

namespace forebay::cubepl {
namespace {

/// The kinds of scripts, which allow different constructs.
enum class Stage : std::uint8_t { kInit, kExpression, kAggregation };

struct CalculationName {
  std::string_view name;
  CalculationVariable what;
};

constexpr std::array<CalculationName, 5> kCalculations = {
    {{"calculation::metric::id", CalculationVariable::kMetric},
     {"calculation::callpath::id", CalculationVariable::kCallpath},
     {"calculation::region::id", CalculationVariable::kRegion},
     {"calculation::sysres::id", CalculationVariable::kResource},
     {"calculation::sysres::kind", CalculationVariable::kResourceKind}}};

/// A script being compiled.
struct CompileJob {
  const MetricSpecification* metric = nullptr;
  std::string_view element;
  Stage stage = Stage::kExpression;
  CompiledScript* code = nullptr;
};

class Compiler {
 public:
  explicit Compiler(Specification specification) {
    program_.specification = std::move(specification);
    program_.metrics.resize(program_.specification.metrics.size());
    for (std::size_t i = 0; i < program_.metrics.size(); ++i)
      numbers_.emplace(program_.specification.metrics[i].unique_name, i);
  }

  Result<Program> run() {
    // The order determines which mention of a variable is the first.
    compile_each(&MetricSpecification::init, &MetricScripts::init, "cubeplinit", Stage::kInit);
    compile_each(&MetricSpecification::expression, &MetricScripts::expression, "cubepl",
                 Stage::kExpression);
    compile_each(&MetricSpecification::plus, &MetricScripts::plus, "cubeplaggr plus",
                 Stage::kAggregation);
    compile_each(&MetricSpecification::minus, &MetricScripts::minus, "cubeplaggr minus",
                 Stage::kAggregation);
    compile_each(&MetricSpecification::aggregation, &MetricScripts::aggregation, "cubeplaggr aggr",
                 Stage::kAggregation);
    resolve_defined();
    check_cycles();
    if (error_) return failure(std::move(*error_));
    program_.global_count = static_cast<std::uint32_t>(globals_.size());
    return std::move(program_);
  }

 private:
  void compile_each(Script MetricSpecification::* script,
                    CompiledScript MetricScripts::* code,
                    std::string_view element,
                    Stage stage) {
    for (std::size_t i = 0; i < program_.metrics.size() && !error_; ++i) {
      const MetricSpecification& metric = program_.specification.metrics[i];
      CompiledScript& made = program_.metrics[i].*code;
      made.script = metric.*script;
      made.origin = {program_.specification.path, metric.unique_name, std::string(element)};
      if (is_derived(metric.kind)) {
        compile({&metric, element, stage, &made});
      } else if (!made.script.empty()) {
        program_.notes.push_back(fmt::format("{}: the metric is {}, so this script has no effect",
                                             describe_position(0, made.script, made.origin),
                                             cubepl::name_of(metric.kind)));
      }
    }
  }

  void compile(const CompileJob& job) {
    auto tree = parse(job.code->script.text());
    if (!tree) {
      fail(make_error(tree.error(), job.code->script, job.code->origin));
      return;
    }
    job.code->tree = std::move(*tree);
    locals_.clear();
    for (Node& node : job.code->tree.nodes)
      if (!error_) resolve(job, node);
    job.code->local_count = static_cast<std::uint32_t>(locals_.size());
  }

  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  void fail_unsupported(const CompileJob& job, const Node& node, std::string what) {
    fail(job.code->error_at(node, ErrorClass::kUnsupported, std::move(what)));
  }
  void note(const CompileJob& job, const Node& node, std::string_view what) {
    program_.notes.push_back(fmt::format(
        "{}: {}", describe_position(node.offset, job.code->script, job.code->origin), what));
  }

  void resolve(const CompileJob& job, Node& node) {
    switch (node.op) {
      case Op::kVariable:
      case Op::kSizeOf:
        variable(job, node);
        return;
      case Op::kAssign:
        assignment(job, node);
        return;
      case Op::kGlobal:
      case Op::kLocal:
        declaration(job, node);
        return;
      case Op::kMatches:
        pattern(job, node);
        return;
      case Op::kMetric:
        metric(job, node);
        return;
      case Op::kMetricProperty:
      case Op::kProperty:
        property(job, node);
        return;
      case Op::kArgument1:
      case Op::kArgument2:
        if (job.stage != Stage::kAggregation)
          fail_unsupported(job, node, "arg1 and arg2 exist in <cubeplaggr> only");
        return;
      case Op::kEnvironment:
        if (job.stage != Stage::kInit)
          fail_unsupported(job, node, "env() can only be used in <cubeplinit>");
        return;
      default:
        return;
    }
  }

  static bool is_reserved(std::string_view name) {
    return name.starts_with("cube::") || name.starts_with("calculation::");
  }

  /// Suggests the form of later versions of Cube for a name of the first versions.
  static std::string suggest_name(std::string_view name) {
    constexpr std::string_view kBegin = "calculation::";
    const std::size_t end = name.rfind("::");
    if (!name.starts_with(kBegin) || end <= kBegin.size()) return {};
    const std::string_view kind = name.substr(kBegin.size(), end - kBegin.size());
    const std::string fact = fmt::format("cube::{}", name.substr(kBegin.size()));
    if (!find_profile_variable(fact)) return {};
    return fmt::format("; write ${{{}}}[${{calculation::{}::id}}]", fact, kind);
  }

  void variable(const CompileJob& job, Node& node) {
    if (!is_reserved(node.text)) {
      resolve_variable(node);
      return;
    }
    if (const auto number = find_profile_variable(node.text)) {
      node.kind = VariableKind::kProfile;
      node.slot = *number;
      return;
    }
    const auto* const found =
        std::ranges::find(kCalculations, std::string_view(node.text), &CalculationName::name);
    if (found != kCalculations.end()) {
      calculation(job, node, found->what);
    } else if (node.text.ends_with("sysid")) {
      fail_unsupported(job, node,
                       fmt::format("{} is not supported; use the ids of its kind", node.text));
    } else if (node.text.starts_with("calculation::")) {
      fail_unsupported(job, node,
                       fmt::format("{} does not exist{}", node.text, suggest_name(node.text)));
    } else {
      // Score-P's own specification uses such names.
      note(job, node, fmt::format("{} does not exist and has no value", node.text));
    }
  }

  void calculation(const CompileJob& job, Node& node, CalculationVariable what) {
    if (job.stage == Stage::kInit) {
      fail_unsupported(
          job, node, fmt::format("{} has no value in <cubeplinit>; use it in <cubepl>", node.text));
      return;
    }
    node.kind = VariableKind::kCalculation;
    node.slot = static_cast<std::uint32_t>(what);
  }

  /// The first mention of a name makes it a local variable of the script.
  void resolve_variable(Node& node) {
    variables_.emplace(node.text, VariableKind::kLocal);
    node.kind = variables_.at(node.text);
    auto& slots = node.kind == VariableKind::kGlobal ? globals_ : locals_;
    node.slot = slots.emplace(node.text, static_cast<std::uint32_t>(slots.size())).first->second;
  }

  void assignment(const CompileJob& job, Node& node) {
    if (is_reserved(node.text)) {
      fail_unsupported(job, node, fmt::format("{} cannot be assigned", node.text));
      return;
    }
    resolve_variable(node);
    if (node.kind == VariableKind::kGlobal && job.stage != Stage::kInit)
      fail_unsupported(
          job, node,
          fmt::format("{} is global and can only be assigned in <cubeplinit>; values are "
                      "computed in any order",
                      node.text));
  }

  void declaration(const CompileJob& job, const Node& node) {
    const VariableKind wanted =
        node.op == Op::kGlobal ? VariableKind::kGlobal : VariableKind::kLocal;
    if (is_reserved(node.text)) {
      fail_unsupported(job, node, fmt::format("{} cannot be declared", node.text));
    } else if (variables_.emplace(node.text, wanted).first->second != wanted) {
      note(job, node,
           fmt::format("{} is already {}; this declaration has no effect", node.text,
                       wanted == VariableKind::kGlobal ? "local" : "global"));
    }
  }

  void pattern(const CompileJob& job, Node& node) {
    const auto known = patterns_.find(node.text);
    if (known != patterns_.end()) {
      node.slot = known->second;
      return;
    }
    auto compiled = Pattern::compile(node.text);
    if (!compiled) {
      fail(job.code->error_at(node, compiled.error().kind, compiled.error().message));
      return;
    }
    node.slot = static_cast<std::uint32_t>(program_.patterns.size());
    patterns_.emplace(node.text, node.slot);
    program_.patterns.push_back(std::move(*compiled));
  }

  void metric(const CompileJob& job, Node& node) {
    if (job.stage != Stage::kExpression) {
      fail_unsupported(job, node, fmt::format("<{}> cannot read values of metrics", job.element));
      return;
    }
    number(node);
    if (!program_.is_input(node.slot)) return;
    auto& missing = program_.inputs[node.slot - program_.metrics.size()].missing_error;
    if (missing) return;
    missing = job.code->error_at(
        node, ErrorClass::kNotFound,
        fmt::format("metric {} is neither in the specification nor in the profile", node.text));
  }

  /// Sets the number of the metric that `node` names.
  void number(Node& node) {
    const auto [found, is_new] = numbers_.emplace(node.text, program_.metric_count());
    node.slot = static_cast<std::uint32_t>(found->second);
    if (is_new) program_.inputs.push_back({.name = node.text});
  }

  void property(const CompileJob& job, Node& node) {
    if (node.op == Op::kProperty && job.stage != Stage::kInit) {
      fail_unsupported(job, node, "metrics can only be switched off in <cubeplinit>");
    } else if (node.op == Op::kProperty && node.property != "value") {
      fail_unsupported(job, node,
                       fmt::format("\"{}\" cannot be set, only \"value\"", node.property));
    } else {
      number(node);
    }
  }

  /// defined(name) depends on all scripts, so it is resolved after the last of them.
  void resolve_defined() {
    for (MetricScripts& scripts : program_.metrics) {
      for (CompiledScript* code : {&scripts.expression, &scripts.init, &scripts.plus,
                                   &scripts.minus, &scripts.aggregation})
        for (Node& node : code->tree.nodes)
          if (node.op == Op::kDefined) node.number = is_known(node.text) ? 1 : 0;
    }
  }
  bool is_known(const std::string& name) const {
    return variables_.contains(name) || find_profile_variable(name) ||
           std::ranges::find(kCalculations, std::string_view(name), &CalculationName::name) !=
               kCalculations.end();
  }

  /// Checks the dependencies of each metric for cycles and depth.
  void check_cycles() {
    depths_.assign(program_.metrics.size(), std::nullopt);
    uses_.assign(program_.metrics.size(), 1);
    for (std::size_t i = 0; i < program_.metrics.size() && !error_; ++i)
      depth_of(i);
  }

  std::uint32_t depth_of(std::size_t metric) {
    if (program_.is_input(metric) || error_) return 0;
    if (depths_[metric]) return *depths_[metric];
    const CompiledScript& code = program_.metrics[metric].expression;
    if (code.empty()) return 0;
    if (std::ranges::find(visiting_, metric) != visiting_.end()) {
      fail(cycle_error(metric));
      return 0;
    }
    if (visiting_.size() >= kTotalDepthMax) {
      fail(too_deep(code));
      return 0;
    }
    visiting_.push_back(metric);
    std::uint32_t below = 0;
    for (const Node& node : code.tree.nodes) {
      if (node.op != Op::kMetric) continue;
      below = std::max(below, depth_of(node.slot));
      uses_[metric] += program_.is_input(node.slot) ? 1 : uses_[node.slot];
    }
    visiting_.pop_back();
    if (uses_[metric] > kUsesMax) fail(too_many_uses(code));
    const std::uint32_t depth = below + code.tree[code.tree.root].depth;
    if (depth > kTotalDepthMax) fail(too_deep(code));
    depths_[metric] = depth;
    return depth;
  }

  static Error too_many_uses(const CompiledScript& code) {
    return code.error_at(
        code.tree[code.tree.root], ErrorClass::kLimit,
        fmt::format("one value needs more than {} values of other metrics that use each "
                    "other; store a value that is used twice in a variable",
                    kUsesMax));
  }

  static Error too_deep(const CompiledScript& code) {
    return code.error_at(
        code.tree[code.tree.root], ErrorClass::kLimit,
        fmt::format("more than {} operators along metrics that use each other", kTotalDepthMax));
  }

  Error cycle_error(std::size_t metric) const {
    std::string chain;
    for (auto one = std::ranges::find(visiting_, metric); one != visiting_.end(); ++one)
      chain += program_.name_of(*one) + " needs ";
    const CompiledScript& code = program_.metrics[metric].expression;
    return code.error_at(
        code.tree[code.tree.root], ErrorClass::kInvalidArgument,
        "metrics depend on each other in a cycle: " + chain + program_.name_of(metric));
  }

  Program program_;
  std::unordered_map<std::string, std::size_t> numbers_;
  std::unordered_map<std::string, VariableKind> variables_;
  std::unordered_map<std::string, std::uint32_t> globals_;
  std::unordered_map<std::string, std::uint32_t> locals_;
  std::unordered_map<std::string, std::uint32_t> patterns_;
  std::vector<std::optional<std::uint32_t>> depths_;
  std::vector<std::uint64_t> uses_;
  std::vector<std::size_t> visiting_;
  std::optional<Error> error_;
};

}  // namespace

MetricKind Program::kind_of(std::size_t metric) const {
  return is_input(metric) ? MetricKind::kExclusive : specification.metrics[metric].kind;
}

const std::string& Program::name_of(std::size_t metric) const {
  return is_input(metric) ? inputs[metric - metrics.size()].name
                          : specification.metrics[metric].unique_name;
}

std::optional<std::size_t> Program::find(std::string_view name) const {
  if (const auto found = specification.find(name)) return found;
  const auto input = std::ranges::find(inputs, name, &InputMetric::name);
  if (input == inputs.end()) return std::nullopt;
  return metrics.size() + static_cast<std::size_t>(input - inputs.begin());
}

Result<Program> compile(Specification specification) {
  return Compiler(std::move(specification)).run();
}

std::vector<std::string> required_metrics(const Program& program) {
  std::vector<std::string> names;
  for (const MetricSpecification& metric : program.specification.metrics)
    if (!is_derived(metric.kind)) names.push_back(metric.unique_name);
  for (const InputMetric& input : program.inputs)
    if (input.missing_error) names.push_back(input.name);
  return names;
}

}  // namespace forebay::cubepl
