// SPDX-License-Identifier: Apache-2.0
#include "cube/remap_metrics.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cube/metric_rows.hpp"
#include "cube/script_dependencies.hpp"

namespace forebay::cube {

namespace {

using cubepl::MetricSpecification;

MetricKind kind_of(cubepl::MetricKind kind) { return static_cast<MetricKind>(kind); }
static_assert(static_cast<int>(cubepl::MetricKind::kPostderived) ==
              static_cast<int>(MetricKind::kPostderived));
static_assert(static_cast<int>(cubepl::MetricKind::kInclusive) ==
              static_cast<int>(MetricKind::kInclusive));

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_chosen(const std::vector<std::string>& selectors, const Metric& metric) {
  return std::ranges::any_of(
      selectors, [&](const std::string& selector) { return is_selected(metric, selector); });
}

/// Globals that a script reads or assigns; with `only_assigned`, only those it assigns.
std::set<std::uint32_t> globals_in(const cubepl::CompiledScript& code, bool only_assigned) {
  std::set<std::uint32_t> slots;
  for (const cubepl::Node& node : code.tree.nodes) {
    const bool counts =
        node.op == cubepl::Op::kAssign || (node.op == cubepl::Op::kVariable && !only_assigned);
    if (counts && node.kind == cubepl::VariableKind::kGlobal) slots.insert(node.slot);
  }
  return slots;
}

class MetricPlanner {
 public:
  MetricPlanner(const RemapInput& input, const RemapSelection& selection)
      : bound_program_(input.bound_program),
        program_(input.bound_program.program()),
        profile_(input.profile),
        specified_count_(input.specified_count),
        selection_(selection),
        rows_(input.profile) {}

  Result<std::vector<RemapMetric>> run() {
    if (const Status known = check_excluded(); !known) return failure(known.error());
    const auto& metrics = program_.specification.metrics;
    for (std::size_t i = 0; i < specified_count_; ++i) {
      if (!is_wanted(metrics[i].unique_name) || bound_program_.is_excluded(i)) continue;
      if (const Status added = add_specified(i); !added) {
        return failure(added.error());
      }
    }
    const Anchor& anchor = profile_.anchor();
    for (std::size_t i = 0; i < anchor.metrics.size(); ++i) {
      if (!is_wanted(anchor.metrics[i]) || !is_profile_only(i)) continue;
      if (const Status added = add_other(i); !added) return failure(added.error());
    }
    return std::move(planned_);
  }

 private:
  bool is_wanted(const std::string& name) const {
    return selection_.select.empty() || is_named(name);
  }
  bool is_named(const std::string& name) const {
    return has(selection_.select, name) || has(selection_.inclusive, name) ||
           has(selection_.exclusive, name);
  }
  bool is_wanted(const Metric& metric) const {
    return selection_.select.empty() || is_chosen(selection_.select, metric) ||
           is_chosen(selection_.inclusive, metric) || is_chosen(selection_.exclusive, metric);
  }
  /// Whether the specification does not name the metric.
  bool is_profile_only(std::size_t i) const {
    const auto number = program_.find(profile_.anchor().metrics[i].unique_name);
    if (!number) return true;
    const bool is_specified = *number < specified_count_;
    return !is_specified && !bound_program_.is_excluded(*number);
  }

  Status check_excluded() const {
    for (const auto* names : {&selection_.select, &selection_.inclusive, &selection_.exclusive}) {
      const auto off = std::ranges::find_if(*names, [&](const std::string& name) {
        const auto number = program_.find(name);
        return number && bound_program_.is_excluded(*number);
      });
      if (off == names->end()) continue;
      return fail(
          ErrorClass::kNotFound,
          fmt::format("the specification switches {} off for this profile; do not select it, "
                      "or use another specification",
                      *off));
    }
    return {};
  }

  tl::unexpected<Error> fail(ErrorClass kind, std::string cause) const {
    return failure(
        {.kind = kind, .operation = "remap", .path = profile_.path(), .cause = std::move(cause)});
  }

  Status add_specified(std::size_t i) {
    const MetricSpecification& wanted = program_.specification.metrics[i];
    RemapMetric metric;
    Metric& description = metric.description;
    description.id = kNone;
    description.unique_name = wanted.unique_name;
    description.display_name = wanted.display_name;
    description.unit = wanted.uom;
    description.url = wanted.url;
    description.description = wanted.description;
    if (wanted.visibility == cubepl::Visibility::kGhost) {
      description.attributes.emplace_back("viztype", "GHOST");
    }
    std::optional<std::size_t> above = wanted.parent;
    while (above && !specified_index_.contains(*above))
      above = program_.specification.metrics[*above].parent;
    if (above) description.parent = specified_index_.at(*above);
    specified_index_[i] = static_cast<std::uint32_t>(planned_.size());
    if (!is_derived(wanted.kind)) return add_stored(std::move(metric), i);
    const bool stays =
        wanted.conversion == cubepl::Conversion::kForbidden && !is_named(wanted.unique_name);
    return stays ? add_expression(std::move(metric), i) : add_computed(std::move(metric), i);
  }

  Status add_other(std::size_t i) {
    const Metric& known = profile_.anchor().metrics[i];
    RemapMetric metric{.description = known, .index = {}};
    std::uint32_t above = known.parent;
    while (above != kNone && !profile_index_.contains(above))
      above = profile_.anchor().metrics[above].parent;
    metric.description.parent = above == kNone ? kNone : profile_index_.at(above);
    profile_index_[i] = static_cast<std::uint32_t>(planned_.size());
    if (is_measured(known.kind)) return add_measured(std::move(metric), i);
    const auto number = program_.find(known.unique_name);
    if (number && is_named(known.unique_name)) return add_computed(std::move(metric), *number);
    if (const Status stays = check_initializers(known); !stays) return stays;
    return add(std::move(metric));
  }

  /// Checks that globals which an expression of the profile reads are still assigned in the new
  /// one.
  Status check_initializers(const Metric& metric) const {
    for (const std::size_t index : initializer_metrics(profile_.anchor(), metric)) {
      const std::string& other = profile_.anchor().metrics[index].unique_name;
      const bool stays = is_profile_only(index) && !is_named(other);
      if (stays) continue;
      return fail(
          ErrorClass::kUnsupported,
          fmt::format("metric {0} keeps its expression, which uses globals that {1} assigns, "
                      "but the initialization of {1} is not kept; name {0} in --exclusive "
                      "or --inclusive to store its values",
                      metric.unique_name, other));
    }
    return {};
  }

  /// A metric that is stored according to the specification.
  Status add_stored(RemapMetric metric, std::size_t number) {
    if (const auto index = bound_program_.stored_index(number)) {
      const Metric& known = profile_.anchor().metrics[*index];
      metric.description.kind = known.kind;
      metric.description.type = known.type;
      return add_measured(std::move(metric), *index);
    }
    const MetricSpecification& wanted = program_.specification.metrics[number];
    const auto type = parse_value_type(wanted.dtype.empty() ? "DOUBLE" : wanted.dtype);
    if (!type) return unknown_type(wanted, type.error());
    metric.description.type = *type;
    metric.description.kind = wanted_kind(metric.description, kind_of(wanted.kind));
    return add(std::move(metric));
  }

  tl::unexpected<Error> unknown_type(const MetricSpecification& metric, const Error& error) const {
    return failure({.kind = error.kind(),
                    .operation = "remap",
                    .path = program_.specification.path,
                    .cause = fmt::format("metric {}: {}", metric.unique_name, error.cause())});
  }

  MetricKind wanted_kind(const Metric& metric, MetricKind otherwise) const {
    if (is_chosen(selection_.inclusive, metric)) return MetricKind::kInclusive;
    if (is_chosen(selection_.exclusive, metric)) return MetricKind::kExclusive;
    return otherwise;
  }

  Status add_measured(RemapMetric metric, std::size_t index) {
    const auto& stored = profile_.rows(index);
    const MetricKind kind = wanted_kind(metric.description, metric.description.kind);
    const bool is_same = kind == metric.description.kind;
    // An index without rows means the same as no index, and some readers reject it.
    const bool has_rows = stored && !stored->index.rows.empty();
    metric.source = index;
    if (is_same && has_rows) {
      metric.origin = RowOrigin::kCopied;
      metric.index = stored->index;
      metric.index.order = ByteOrder::kLittle;
    } else if (!is_same) {
      const auto type = rows_.converted_type({index, 0, kind});
      if (!type) return failure(type.error());
      metric.description.type = *type;
      metric.description.kind = kind;
      if (has_rows) {
        metric.origin = RowOrigin::kConverted;
        metric.index.rows = nonzero_rows(index, kind);
      }
    }
    return add(std::move(metric));
  }

  /// Numbers of the rows that are not known to be zero.
  std::vector<std::uint32_t> nonzero_rows(std::size_t metric, MetricKind kind) const {
    std::vector<std::uint32_t> rows;
    const auto indices = profile_.anchor().call_tree.call_paths_by_row(kind);
    for (std::uint32_t row = 0; row < indices.size(); ++row)
      if (!rows_.is_zero({metric, indices[row], kind})) rows.push_back(row);
    return rows;
  }

  Status add_computed(RemapMetric metric, std::size_t number) {
    const bool is_inclusive = program_.kind_of(number) == cubepl::MetricKind::kPrederivedInclusive;
    metric.description.kind = wanted_kind(
        metric.description, is_inclusive ? MetricKind::kInclusive : MetricKind::kExclusive);
    metric.description.type = {ValueKind::kDouble, 1};
    metric.description.expressions = {};
    metric.origin = RowOrigin::kComputed;
    metric.source = number;
    metric.index.rows = RowNumbers::dense(profile_.anchor().call_tree.size());
    return add(std::move(metric));
  }

  /// A metric whose values must not be stored. Its scripts are kept if they mean the same without
  /// those of other metrics.
  Status add_expression(RemapMetric metric, std::size_t number) {
    const MetricSpecification& wanted = program_.specification.metrics[number];
    const cubepl::MetricScripts& scripts = program_.metrics[number];
    const auto own = globals_in(scripts.init, true);
    for (const cubepl::CompiledScript* code :
         {&scripts.expression, &scripts.plus, &scripts.minus}) {
      if (std::ranges::includes(own, globals_in(*code, false))) continue;
      return fail(ErrorClass::kUnsupported,
                  fmt::format("metric {} is not convertible and uses globals that other metrics "
                              "assign; name it in --exclusive or --inclusive to store its values",
                              wanted.unique_name));
    }
    const auto type = parse_value_type(wanted.dtype.empty() ? "DOUBLE" : wanted.dtype);
    if (!type) return unknown_type(wanted, type.error());
    metric.description.type = *type;
    metric.description.kind = kind_of(wanted.kind);
    metric.description.attributes.emplace_back("convertible", "false");
    metric.description.expressions = {
        .value = wanted.expression.text(),
        .init = wanted.init.text(),
        .plus = wanted.plus.text(),
        .minus = wanted.minus.text(),
        .aggregate = wanted.aggregation.text(),
        .is_row_wise = wanted.evaluation == cubepl::Evaluation::kByRow};
    return add(std::move(metric));
  }

  Status add(RemapMetric metric) {
    metric.description.id = static_cast<std::uint32_t>(planned_.size());
    planned_.push_back(std::move(metric));
    return {};
  }

  const cubepl::BoundProgram& bound_program_;
  const cubepl::Program& program_;
  const Profile& profile_;
  const std::size_t specified_count_;
  const RemapSelection& selection_;
  const MetricRows rows_;
  std::vector<RemapMetric> planned_;
  std::map<std::size_t, std::uint32_t> specified_index_;
  std::map<std::size_t, std::uint32_t> profile_index_;
};

}  // namespace

std::string_view name_of(RowOrigin origin) noexcept {
  static constexpr std::array<std::string_view, 4> kNames{"none", "copied", "converted",
                                                          "computed"};
  return kNames[static_cast<std::size_t>(origin)];
}

Result<std::vector<RemapMetric>> plan_metrics(const RemapInput& input,
                                              const RemapSelection& selection) {
  return MetricPlanner(input, selection).run();
}

}  // namespace forebay::cube
