// SPDX-License-Identifier: Apache-2.0
#include "cube/input_prefetcher.hpp"

namespace forebay::cube {

InputPrefetcher::InputPrefetcher(const RemapContext& source)
    : source_(source),
      inputs_(source.inputs()),
      exclusive_call_paths_(
          source.profile().anchor().call_tree.call_paths_by_row(MetricKind::kExclusive)),
      inclusive_call_paths_(
          source.profile().anchor().call_tree.call_paths_by_row(MetricKind::kInclusive)),
      is_prefetched_(source.profile().anchor().metrics.size() *
                     source.profile().anchor().call_tree.size()) {}

void InputPrefetcher::prefetch(const RemapMetric& metric,
                               std::uint64_t first,
                               std::uint64_t count) {
  const auto& metrics = source_.profile().anchor().metrics;
  const MetricKind kind = metric.description.kind;
  const auto& indices =
      kind == MetricKind::kInclusive ? inclusive_call_paths_ : exclusive_call_paths_;
  for (std::uint64_t i = first; i < first + count; ++i) {
    const std::uint32_t index = indices[metric.index.rows[i]];
    if (metric.origin != RowOrigin::kComputed) {
      prefetch_inputs({metric.source, index, kind});
      continue;
    }
    for (const std::size_t input : inputs_)
      prefetch_inputs({input, index, metrics[input].kind});
  }
}

void InputPrefetcher::prefetch_inputs(const FlavoredRow& which) {
  const Profile& profile = source_.profile();
  const std::size_t begin = which.metric * profile.anchor().call_tree.size();
  source_.rows().for_each_stored(which, [&](std::uint32_t row) {
    if (!is_prefetched_[begin + row].exchange(true)) profile.prefetch_row(which.metric, row);
  });
}

}  // namespace forebay::cube
