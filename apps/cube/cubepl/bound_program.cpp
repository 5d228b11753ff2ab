// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/bound_program.hpp"

#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace forebay::cubepl {
namespace {

MetricInfo metric_info_of(const MetricSpecification& metric) {
  return {.unique_name = metric.unique_name,
          .display_name = metric.display_name,
          .dtype = metric.dtype,
          .uom = metric.uom,
          .url = metric.url,
          .description = metric.description,
          .expression = metric.expression.text(),
          .init_expression = metric.init.text(),
          .parent = metric.parent};
}

/// The metrics of the specification, then those that only the profile has; the latter are roots.
std::vector<MetricInfo> all_metrics(const Specification& specification, const ProfileInfo& info) {
  std::vector<MetricInfo> all;
  std::unordered_map<std::string_view, std::size_t> names;
  for (const MetricSpecification& metric : specification.metrics) {
    names.emplace(metric.unique_name, all.size());
    all.push_back(metric_info_of(metric));
  }
  for (const MetricInfo& metric : info.metrics) {
    if (names.contains(metric.unique_name)) continue;
    all.push_back(metric);
    all.back().parent.reset();
  }
  return all;
}

/// The number of call paths that can be reached from these.
template <class Children>
std::size_t count_reached(std::vector<std::size_t> open, const Children& children) {
  std::size_t count = 0;
  for (; !open.empty(); ++count) {
    const std::size_t at = open.back();
    open.pop_back();
    for (const std::size_t child : children(at))
      open.push_back(child);
  }
  return count;
}

}  // namespace

Result<std::unique_ptr<const BoundProgram>> BoundProgram::create(Program program,
                                                                 const ProfileView& profile,
                                                                 const BindOptions& options) {
  std::unique_ptr<BoundProgram> made(new BoundProgram);
  made->program_ = std::move(program);
  made->limits_ = options.limits;
  const ProfileInfo& info = profile.info();
  auto tables = build_profile_tables(info, all_metrics(made->program_.specification, info));
  if (!tables) return failure(tables.error());
  made->tables_ = std::move(*tables);
  for (const MetricSpecification& metric : made->program_.specification.metrics)
    made->metric_values_.push_back(metric.value);
  made->metric_values_.resize(made->program_.metric_count());
  if (const Status found = made->resolve_metrics(); !found) return failure(found.error());
  if (const Status linked = made->link_callpaths(); !linked) return failure(linked.error());
  if (const Status run = made->run_init(options); !run) return failure(run.error());
  return std::unique_ptr<const BoundProgram>(std::move(made));
}

Error BoundProgram::ambiguous_metric_error(std::string_view name, std::size_t count) const {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "run remapping specification",
                .path = tables_.info->filename,
                .cause = fmt::format("{} metrics of the profile are named '{}'", count, name)});
}

Status BoundProgram::resolve_metrics() {
  struct Stored {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  std::unordered_map<std::string_view, Stored> stored;
  const std::vector<MetricInfo>& metrics = tables_.info->metrics;
  for (std::size_t i = 0; i < metrics.size(); ++i)
    ++stored.try_emplace(metrics[i].unique_name, Stored{i, 0}).first->second.count;
  for (std::size_t i = 0; i < program_.metric_count(); ++i) {
    const auto found = stored.find(program_.name_of(i));
    stored_index_.push_back(found == stored.end() ? std::nullopt
                                                  : std::optional(found->second.first));
    if (is_derived(program_.kind_of(i))) continue;
    if (found != stored.end() && found->second.count > 1)
      return failure(ambiguous_metric_error(program_.name_of(i), found->second.count));
    if (!program_.is_input(i)) continue;
    const std::optional<Error>& missing =
        program_.inputs[i - program_.metrics.size()].missing_error;
    if (!stored_index_.back() && missing) return failure(*missing);
    input_info_.push_back(stored_index_.back() ? metrics[*stored_index_.back()] : MetricInfo{});
  }
  return {};
}

Status BoundProgram::link_callpaths() {
  const std::vector<CallpathInfo>& callpaths = tables_.info->callpaths;
  children_begin_.push_back(0);
  for (const std::uint32_t count : tables_.callpath_children)
    children_begin_.push_back(children_begin_.back() + count);
  children_.resize(children_begin_.back());
  std::vector<std::size_t> next(children_begin_.begin(), children_begin_.end() - 1);
  for (std::size_t i = 0; i < callpaths.size(); ++i) {
    if (callpaths[i].parent) {
      children_[next[*callpaths[i].parent]++] = i;
    } else {
      roots_.push_back(i);
    }
  }
  if (count_reached(roots_, [this](std::size_t at) { return children_of(at); }) == callpaths.size())
    return {};
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "run remapping specification",
                  .path = tables_.info->filename,
                  .cause = "the profile has call paths that are their own ancestors"});
}

Status BoundProgram::run_init(const BindOptions& options) {
  globals_.resize(program_.global_count);
  PatternCache patterns(program_.patterns);
  Scratch scratch;
  InterpreterState state{.program = &program_,
                         .tables = &tables_,
                         .globals = &globals_,
                         .metric_values = &metric_values_,
                         .input_info = &input_info_,
                         .patterns = &patterns,
                         .scratch = &scratch,
                         .limits = limits_,
                         .assignable_globals = &globals_,
                         .assignable_metric_values = &metric_values_,
                         .environment = options.environment};
  for (std::size_t i = 0; i < program_.metrics.size() && !state.error; ++i) {
    state.budget = StepBudget(limits_.init_steps, limits_, tables_.info->callpaths.size());
    Interpreter(state, program_.metrics[i].init, {.metric = i}).run();
  }
  if (state.error) return failure(std::move(*state.error));
  return {};
}

bool BoundProgram::is_disabled(std::size_t metric) const {
  return metric_values_[metric] == "VOID";
}

bool BoundProgram::is_excluded(std::size_t metric) const {
  if (program_.is_input(metric)) return is_disabled(metric);
  const std::vector<MetricSpecification>& metrics = program_.specification.metrics;
  for (std::optional<std::size_t> at = metric; at; at = metrics[*at].parent)
    if (is_disabled(*at)) return true;
  return false;
}

std::span<const std::size_t> BoundProgram::children_of(std::size_t callpath) const {
  return std::span(children_).subspan(children_begin_[callpath],
                                      children_begin_[callpath + 1] - children_begin_[callpath]);
}

}  // namespace forebay::cubepl
