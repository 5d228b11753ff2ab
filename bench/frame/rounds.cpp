// SPDX-License-Identifier: Apache-2.0
// Runs variants in alternating order and pairs their values.
#include "bench/frame/rounds.hpp"

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"
#include "bench/frame/check.hpp"

namespace forebay::bench {
namespace {

Error prefix_operation(const Error& error, const std::string& variant) {
  return Error({.kind = error.kind(),
                .operation = variant + ": " + error.operation(),
                .path = error.path(),
                .offset_bytes = error.offset_bytes(),
                .error_number = error.error_number(),
                .cause = error.cause()});
}

Result<double> run_once(const Variant& variant) {
  try {
    if (variant.prepare) check(variant.prepare());
    const double value = variant.measure().value();
    FOREBAY_ASSERT(std::isfinite(value));
    return value;
  } catch (const tl::bad_expected_access<Error>& failed) {
    return failure(prefix_operation(failed.error(), variant.name));
  }
}

}  // namespace

std::vector<std::size_t> order_of_round(std::size_t round, std::size_t variant_count) {
  std::vector<std::size_t> order(variant_count);
  for (std::size_t i = 0; i < variant_count; ++i)
    order[i] = (round / 2 + i) % variant_count;
  if (round % 2 == 1) std::reverse(order.begin(), order.end());
  return order;
}

const std::vector<double>& Rounds::values(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  FOREBAY_ASSERT(found != names_.end());
  return values_[static_cast<std::size_t>(found - names_.begin())];
}

Summary Rounds::ratio(std::string_view over, std::string_view under) const {
  return summarize(ratios(values(over), values(under)));
}

Summary Rounds::difference(std::string_view from, std::string_view what) const {
  return summarize(differences(values(from), values(what)));
}

RoundValue value_of(std::string variant) {
  return [variant = std::move(variant)](const Rounds& rounds) { return rounds.summary(variant); };
}

RoundValue ratio_of(std::string over, std::string under) {
  return [over = std::move(over), under = std::move(under)](const Rounds& rounds) {
    return rounds.ratio(over, under);
  };
}

RoundValue difference_of(std::string from, std::string what) {
  return [from = std::move(from), what = std::move(what)](const Rounds& rounds) {
    return rounds.difference(from, what);
  };
}

Result<Rounds> run_rounds(const std::vector<Variant>& variants, const RoundOptions& options) {
  FOREBAY_ASSERT(!variants.empty());
  FOREBAY_ASSERT(options.rounds > 0);
  std::vector<std::string> names;
  for (const Variant& variant : variants)
    names.push_back(variant.name);
  Rounds result(std::move(names));
  const std::size_t all_rounds = options.warm_ups + options.rounds;
  std::size_t done = 0;
  for (std::size_t round = 0; round < all_rounds; ++round) {
    for (const std::size_t index : order_of_round(round, variants.size())) {
      const Result<double> value = run_once(variants[index]);
      if (!value) return tl::unexpected(value.error());
      if (round >= options.warm_ups) result.add(index, *value);
      if (options.on_progress) options.on_progress(++done, all_rounds * variants.size());
    }
  }
  return result;
}

}  // namespace forebay::bench
