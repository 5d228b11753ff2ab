// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/effects.hpp"

#include "base/assert.hpp"

namespace forebay::bench::engine {

Status show_effect(Context& context, const Effect& effect) {
  // From nine on the spread is that of the middle half, which one late round does not move.
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
