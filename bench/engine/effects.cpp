// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/effects.hpp"

#include "base/assert.hpp"

namespace forebay::bench::engine {

Status measure_effect(Context& context, const Effect& effect) {
  // From nine rounds on, the spread is the interquartile range, which one slow round does not move.
  constexpr unsigned kRounds = 9;
  FOREBAY_ASSERT(effect.variants.size() >= 2);
  const auto rounds = context.run(effect.id, context.choose(kRounds, 2U), effect.variants);
  if (!rounds) return failure(rounds.error());
  ResultRow row{.id = effect.id,
                .unit = "1",
                .measured = rounds->ratio(effect.variants[1].name, effect.variants[0].name)};
  for (const Variant& variant : effect.variants)
    row.peers.push_back({variant.name, "s", rounds->summary(variant.name)});
  context.add(std::move(row));
  return {};
}

}  // namespace forebay::bench::engine
