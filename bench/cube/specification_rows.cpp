// SPDX-License-Identifier: Apache-2.0
// Counts the executed expressions of the specification that Score-P stored in a sample. The other
// rows of `bench cube` run programs (python/forebay/benchmarks).
#include <cstdlib>
#include <filesystem>

#include "bench/frame/benchmark.hpp"
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
  auto specification =
      cubepl::parse_specification(profile.text_of(*member).value(), profile.path()).value();
  return RemapContext::create(
      profile, forebay::cube::compile_remap(profile.anchor(), std::move(specification), {}).value(),
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

double count_evaluated(const forebay::cube::Profile& profile) {
  const auto source = source_of(profile).value();
  const auto& metrics = source->bound_program().program().specification.metrics;
  double count = 0;
  for (std::size_t metric = 0; metric < source->input().specified_count; ++metric) {
    if (is_derived(metrics[metric].kind) && is_evaluated(*source, metric)) ++count;
  }
  return count;
}

std::filesystem::path sample() {
  const char* const directory = std::getenv("FOREBAY_SAMPLES");  // NOLINT(concurrency-mt-unsafe)
  return directory == nullptr ? "" : std::filesystem::path(directory) / "cubex/time.p4.cubex";
}

std::string sample_unavailable_reason() {
  if (sample().empty()) return "FOREBAY_SAMPLES does not name a directory of samples";
  return exists(sample()) ? "" : "FOREBAY_SAMPLES has no cubex/time.p4.cubex";
}

Status bench_specification(Context& context) {
  const double count = count_evaluated(forebay::cube::open_profile(sample().string()).value());
  context.add({kId, "", summarize({count}), Goal{kExpressions, Better::kHigher}, {}});
  return {};
}

}  // namespace

FOREBAY_BENCHMARK(cube,
                  "remap of a profile, compared with the original and each optimization stage") {
  return run_each(context, {{{kId}, bench_specification, sample_unavailable_reason}});
}

}  // namespace forebay::bench::cube
