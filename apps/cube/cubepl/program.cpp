// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/program.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "cube/cubepl/fact_table.hpp"
#include "cube/cubepl/parser.hpp"

namespace forebay::cubepl {
namespace {

/// What a script may do.
enum class Stage : std::uint8_t { kInit, kExpression, kAggregation };

struct CalculationName {
  std::string_view name;
  Quantity what;
};

constexpr std::array<CalculationName, 5> kCalculations = {
    {{"calculation::metric::id", Quantity::kMetric},
     {"calculation::callpath::id", Quantity::kCallpath},
     {"calculation::region::id", Quantity::kRegion},
     {"calculation::sysres::id", Quantity::kResource},
     {"calculation::sysres::kind", Quantity::kResourceKind}}};

/// One script on its way from text to code.
struct Job {
  const MetricSpecification* metric = nullptr;
  std::string_view element;
  Stage stage = Stage::kExpression;
  Code* code = nullptr;
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
    // The order decides which mention of a variable is the first.
    each(&MetricSpecification::init, &MetricCode::init, "cubeplinit", Stage::kInit);
    each(&MetricSpecification::expression, &MetricCode::expression, "cubepl", Stage::kExpression);
    each(&MetricSpecification::plus, &MetricCode::plus, "cubeplaggr plus", Stage::kAggregation);
    each(&MetricSpecification::minus, &MetricCode::minus, "cubeplaggr minus", Stage::kAggregation);
    each(&MetricSpecification::aggregation, &MetricCode::aggregation, "cubeplaggr aggr",
         Stage::kAggregation);
    resolve_defined();
    check_rings();
    if (error_) return failure(std::move(*error_));
    program_.global_count = static_cast<std::uint32_t>(globals_.size());
    return std::move(program_);
  }

 private:
  void each(Script MetricSpecification::* script,
            Code MetricCode::* code,
            std::string_view element,
            Stage stage) {
    for (std::size_t i = 0; i < program_.metrics.size() && !error_; ++i) {
      const MetricSpecification& metric = program_.specification.metrics[i];
      Code& made = program_.metrics[i].*code;
      made.script = metric.*script;
      made.origin = {program_.specification.path, metric.unique_name, std::string(element)};
      if (is_derived(metric.kind)) {
        compile({&metric, element, stage, &made});
      } else if (!made.script.empty()) {
        program_.notes.push_back(fmt::format("{}: the metric is {}, so this script has no effect",
                                             place_of(0, made.script, made.origin),
                                             cubepl::name_of(metric.kind)));
      }
    }
  }

  void compile(const Job& job) {
    auto tree = parse(job.code->script.text());
    if (!tree) {
      fail(error_of(tree.error(), job.code->script, job.code->origin));
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
  void refuse(const Job& job, const Node& node, std::string what) {
    fail(job.code->error_at(node, ErrorClass::kUnsupported, std::move(what)));
  }
  void note(const Job& job, const Node& node, std::string_view what) {
    program_.notes.push_back(
        fmt::format("{}: {}", place_of(node.offset, job.code->script, job.code->origin), what));
  }

  void resolve(const Job& job, Node& node) {
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
          refuse(job, node, "arg1 and arg2 are what <cubeplaggr> puts together");
        return;
      case Op::kEnvironment:
        if (job.stage != Stage::kInit) refuse(job, node, "env() is for <cubeplinit>");
        return;
      default:
        return;
    }
  }

  static bool is_reserved(std::string_view name) {
    return name.starts_with("cube::") || name.starts_with("calculation::");
  }

  /// The form of later versions of Cube, for names of the first ones.
  static std::string other_name_of(std::string_view name) {
    constexpr std::string_view kBegin = "calculation::";
    const std::size_t end = name.rfind("::");
    if (!name.starts_with(kBegin) || end <= kBegin.size()) return {};
    const std::string_view kind = name.substr(kBegin.size(), end - kBegin.size());
    const std::string fact = fmt::format("cube::{}", name.substr(kBegin.size()));
    if (!find_fact(fact)) return {};
    return fmt::format("; write ${{{}}}[${{calculation::{}::id}}]", fact, kind);
  }

  void variable(const Job& job, Node& node) {
    if (!is_reserved(node.text)) {
      own_variable(node);
      return;
    }
    if (const auto number = find_fact(node.text)) {
      node.home = Home::kFact;
      node.slot = *number;
      return;
    }
    const auto* const found =
        std::ranges::find(kCalculations, std::string_view(node.text), &CalculationName::name);
    if (found != kCalculations.end()) {
      calculation(job, node, found->what);
    } else if (node.text.ends_with("sysid")) {
      refuse(job, node, fmt::format("{} is not known here; use the ids of its kind", node.text));
    } else if (node.text.starts_with("calculation::")) {
      refuse(job, node, fmt::format("{} does not exist{}", node.text, other_name_of(node.text)));
    } else {
      // Score-P's own specification asks for such.
      note(job, node, fmt::format("{} does not exist and has no value", node.text));
    }
  }

  void calculation(const Job& job, Node& node, Quantity what) {
    if (job.stage == Stage::kInit) {
      refuse(job, node, fmt::format("nothing is being computed yet; {} has no value", node.text));
      return;
    }
    node.home = Home::kCalculation;
    node.slot = static_cast<std::uint32_t>(what);
  }

  /// The first mention of a name makes it a variable of the script.
  void own_variable(Node& node) {
    mentioned_.emplace(node.text, Home::kLocal);
    node.home = mentioned_.at(node.text);
    auto& slots = node.home == Home::kGlobal ? globals_ : locals_;
    node.slot = slots.emplace(node.text, static_cast<std::uint32_t>(slots.size())).first->second;
  }

  void assignment(const Job& job, Node& node) {
    if (is_reserved(node.text)) {
      refuse(job, node, fmt::format("{} cannot be assigned", node.text));
      return;
    }
    own_variable(node);
    if (node.home == Home::kGlobal && job.stage != Stage::kInit)
      refuse(job, node,
             fmt::format("{} is global and can only be assigned in <cubeplinit>: values are "
                         "computed in any order",
                         node.text));
  }

  void declaration(const Job& job, const Node& node) {
    const Home wanted = node.op == Op::kGlobal ? Home::kGlobal : Home::kLocal;
    if (is_reserved(node.text)) {
      refuse(job, node, fmt::format("{} cannot be declared", node.text));
    } else if (mentioned_.emplace(node.text, wanted).first->second != wanted) {
      note(job, node,
           fmt::format("{} was {} before and stays so", node.text,
                       wanted == Home::kGlobal ? "local" : "global"));
    }
  }

  void pattern(const Job& job, Node& node) {
    const auto known = patterns_.find(node.text);
    if (known != patterns_.end()) {
      node.slot = known->second;
      return;
    }
    auto compiled = Pattern::compile(node.text);
    if (!compiled) {
      fail(job.code->error_at(node, compiled.error().kind, compiled.error().what));
      return;
    }
    node.slot = static_cast<std::uint32_t>(program_.patterns.size());
    patterns_.emplace(node.text, node.slot);
    program_.patterns.push_back(std::move(*compiled));
  }

  void metric(const Job& job, Node& node) {
    if (job.stage != Stage::kExpression) {
      refuse(job, node, fmt::format("<{}> cannot ask for values of metrics", job.element));
      return;
    }
    number(node);
    if (!program_.is_input(node.slot)) return;
    auto& missing = program_.inputs[node.slot - program_.metrics.size()].missing;
    if (missing) return;
    missing = job.code->error_at(
        node, ErrorClass::kNotFound,
        fmt::format("metric {} is neither in the specification nor in the profile", node.text));
  }

  /// The number of the metric that `node` names.
  void number(Node& node) {
    const auto [found, is_new] = numbers_.emplace(node.text, program_.metric_count());
    node.slot = static_cast<std::uint32_t>(found->second);
    if (is_new) program_.inputs.push_back({.name = node.text});
  }

  void property(const Job& job, Node& node) {
    if (node.op == Op::kProperty && job.stage != Stage::kInit) {
      refuse(job, node, "metrics can only be switched off in <cubeplinit>");
    } else if (node.op == Op::kProperty && node.property != "value") {
      refuse(job, node, fmt::format("\"{}\" cannot be set, only \"value\"", node.property));
    } else {
      number(node);
    }
  }

  /// defined(name) is about all scripts, so it waits for the last of them.
  void resolve_defined() {
    for (MetricCode& codes : program_.metrics) {
      for (Code* code :
           {&codes.expression, &codes.init, &codes.plus, &codes.minus, &codes.aggregation})
        for (Node& node : code->tree.nodes)
          if (node.op == Op::kDefined) node.number = is_known(node.text) ? 1 : 0;
    }
  }
  bool is_known(const std::string& name) const {
    return mentioned_.contains(name) || find_fact(name) ||
           std::ranges::find(kCalculations, std::string_view(name), &CalculationName::name) !=
               kCalculations.end();
  }

  /// Follows what each metric needs, and how deep that goes.
  void check_rings() {
    depths_.assign(program_.metrics.size(), std::nullopt);
    uses_.assign(program_.metrics.size(), 1);
    for (std::size_t i = 0; i < program_.metrics.size() && !error_; ++i)
      depth_of(i);
  }

  std::uint32_t depth_of(std::size_t metric) {
    if (program_.is_input(metric) || error_) return 0;
    if (depths_[metric]) return *depths_[metric];
    const Code& code = program_.metrics[metric].expression;
    if (code.empty()) return 0;
    if (std::ranges::find(open_, metric) != open_.end()) {
      fail(ring(metric));
      return 0;
    }
    if (open_.size() >= kTotalDepthMax) {
      fail(too_deep(code));
      return 0;
    }
    open_.push_back(metric);
    std::uint32_t below = 0;
    for (const Node& node : code.tree.nodes) {
      if (node.op != Op::kMetric) continue;
      below = std::max(below, depth_of(node.slot));
      uses_[metric] += program_.is_input(node.slot) ? 1 : uses_[node.slot];
    }
    open_.pop_back();
    if (uses_[metric] > kUsesMax) fail(too_many_uses(code));
    const std::uint32_t depth = below + code.tree[code.tree.root].depth;
    if (depth > kTotalDepthMax) fail(too_deep(code));
    depths_[metric] = depth;
    return depth;
  }

  static Error too_many_uses(const Code& code) {
    return code.error_at(
        code.tree[code.tree.root], ErrorClass::kLimit,
        fmt::format("more than {} values of other metrics for one, along metrics that use each "
                    "other; keep a value that is used twice in a variable",
                    kUsesMax));
  }

  static Error too_deep(const Code& code) {
    return code.error_at(
        code.tree[code.tree.root], ErrorClass::kLimit,
        fmt::format("more than {} operators along metrics that use each other", kTotalDepthMax));
  }

  Error ring(std::size_t metric) const {
    std::string way;
    for (auto one = std::ranges::find(open_, metric); one != open_.end(); ++one)
      way += program_.name_of(*one) + " needs ";
    const Code& code = program_.metrics[metric].expression;
    return code.error_at(code.tree[code.tree.root], ErrorClass::kInvalidArgument,
                         "metrics need each other in a ring: " + way + program_.name_of(metric));
  }

  Program program_;
  std::unordered_map<std::string, std::size_t> numbers_;
  std::unordered_map<std::string, Home> mentioned_;
  std::unordered_map<std::string, std::uint32_t> globals_;
  std::unordered_map<std::string, std::uint32_t> locals_;
  std::unordered_map<std::string, std::uint32_t> patterns_;
  std::vector<std::optional<std::uint32_t>> depths_;
  std::vector<std::uint64_t> uses_;
  std::vector<std::size_t> open_;
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

std::vector<std::string> needed_metrics(const Program& program) {
  std::vector<std::string> names;
  for (const MetricSpecification& metric : program.specification.metrics)
    if (!is_derived(metric.kind)) names.push_back(metric.unique_name);
  for (const InputMetric& input : program.inputs)
    if (input.missing) names.push_back(input.name);
  return names;
}

}  // namespace forebay::cubepl
