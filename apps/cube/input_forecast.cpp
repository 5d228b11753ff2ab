// SPDX-License-Identifier: Apache-2.0
#include "cube/input_forecast.hpp"

namespace forebay::cube {

InputForecast::InputForecast(const RemapSource& source)
    : source_(source),
      inputs_(source.inputs()),
      exclusive_places_(source.profile().anchor().call_tree.places_by_row(MetricKind::kExclusive)),
      inclusive_places_(source.profile().anchor().call_tree.places_by_row(MetricKind::kInclusive)),
      told_(source.profile().anchor().metrics.size() * source.profile().anchor().call_tree.size()) {
}

void InputForecast::expect(const RemapMetric& metric, std::uint64_t first, std::uint64_t count) {
  const auto& metrics = source_.profile().anchor().metrics;
  const MetricKind kind = metric.description.kind;
  const auto& places = kind == MetricKind::kInclusive ? inclusive_places_ : exclusive_places_;
  for (std::uint64_t i = first; i < first + count; ++i) {
    const std::uint32_t place = places[metric.index.rows[i]];
    if (metric.origin != RowOrigin::kComputed) {
      expect_inputs({metric.source, place, kind});
      continue;
    }
    for (const std::size_t input : inputs_)
      expect_inputs({input, place, metrics[input].kind});
  }
}

void InputForecast::expect_inputs(const FlavouredRow& which) {
  const Profile& profile = source_.profile();
  const std::size_t begin = which.metric * profile.anchor().call_tree.size();
  source_.rows().for_each_stored(which, [&](std::uint32_t row) {
    if (!told_[begin + row].exchange(true)) profile.expect_row(which.metric, row);
  });
}

}  // namespace forebay::cube
