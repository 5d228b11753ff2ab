// SPDX-License-Identifier: Apache-2.0
// Counts the executed expressions of the specification that Score-P stored in a sample.
#include <cstdlib>
#include <filesystem>

#include "bench/cube/cube.hpp"
#include "cube/profile_file.hpp"
#include "cube/remap.hpp"
#include "cube/remap_context.hpp"

namespace forebay::bench::cube {

namespace {

constexpr const char* kId = "cube.spec.evaluated";
constexpr double kExpressions = 105;

using forebay::cube::MetricKind;
using forebay::cube::RemapContext;

Result<std::unique_ptr<RemapContext>> source_of(const forebay::cube::Profile& profile) {
  const auto* const member = profile.container().find(forebay::cube::kSpecificationName);
  if (member == nullptr) {
    return failure({.kind = ErrorClass::kNotFound,
                    .operation = "read the specification in",
                    .path = profile.path()});
  }
  const auto text = profile.text_of(*member);
  if (!text) return failure(text.error());
  auto specification = cubepl::parse_specification(*text, profile.path());
  if (!specification) return failure(specification.error());
  auto program = forebay::cube::compile_remap(profile.anchor(), std::move(*specification), {});
  if (!program) return failure(program.error());
  return RemapContext::create(profile, std::move(*program),
                              forebay::cube::RemapOptions{}.cache_bytes);
}

/// Whether a metric's expression has a value everywhere, in both flavors.
bool is_evaluated(const RemapContext& source, std::size_t metric) {
  const auto& anchor = source.profile().anchor();
  forebay::cube::RowBuilder builder(source);
  forebay::cube::RemapMetric wanted{.description = {.attributes = {}},
                                    .origin = forebay::cube::RowOrigin::kComputed,
                                    .index = {}};
  wanted.source = metric;
  wanted.index.rows = forebay::cube::RowNumbers::dense(anchor.call_tree.size());
  std::vector<std::byte> rows(anchor.row_bytes(wanted.description) * anchor.call_tree.size());
  for (const MetricKind kind : {MetricKind::kExclusive, MetricKind::kInclusive}) {
    wanted.description.kind = kind;
    if (!builder.fill(wanted, 0, rows)) return false;
  }
  return true;
}

Result<double> count_evaluated(const forebay::cube::Profile& profile) {
  const auto source = source_of(profile);
  if (!source) return failure(source.error());
  const auto& metrics = (*source)->bound_program().program().specification.metrics;
  double count = 0;
  for (std::size_t metric = 0; metric < (*source)->input().specified_count; ++metric) {
    if (is_derived(metrics[metric].kind) && is_evaluated(**source, metric)) ++count;
  }
  return count;
}

}  // namespace

Status bench_specification(Context& context) {
  if (!context.is_selected(kId)) return {};
  const char* const directory = std::getenv("FOREBAY_SAMPLES");  // NOLINT(concurrency-mt-unsafe)
  if (directory == nullptr) {
    context.skip(kId, "FOREBAY_SAMPLES does not name a directory of samples");
    return {};
  }
  const std::string path = (std::filesystem::path(directory) / "cubex/time.p4.cubex").string();
  const auto profile = forebay::cube::open_profile(path);
  if (!profile && profile.error().kind() == ErrorClass::kNotFound) {
    context.skip(kId, "FOREBAY_SAMPLES has no cubex/time.p4.cubex");
    return {};
  }
  if (!profile) return failure(profile.error());
  const auto count = count_evaluated(*profile);
  if (!count) return failure(count.error());
  context.add({.id = kId,
               .unit = "",
               .measured = summarize({*count}),
               .goal = Goal{kExpressions, Better::kHigher}});
  return {};
}

}  // namespace forebay::bench::cube
