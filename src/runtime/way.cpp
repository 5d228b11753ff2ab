// SPDX-License-Identifier: Apache-2.0
#include "runtime/way.hpp"

#include <utility>

#include "storage/access_rule.hpp"

namespace forebay {

namespace {

/// With this share of an extent in the page cache, reading it counts as copying.
constexpr double kCachedFractionMin = 0.9;

}  // namespace

Result<std::shared_ptr<storage::File>> open_for(const std::shared_ptr<storage::File>& buffered,
                                                Access access) {
  if (access == Access::kBuffered) return buffered;
  auto direct = storage::reopen(*buffered, {.access = Access::kDirect});
  if (!direct) return failure(direct.error());
  return std::shared_ptr<storage::File>(std::move(*direct));
}

Result<Way> choose_way(const std::shared_ptr<storage::File>& buffered,
                       const Wish& wish,
                       const KnownStorage& storage) {
  Way way{.file = buffered, .access = Access::kBuffered, .reason = {}};
  if (!wish.access) {
    storage::AccessFacts facts = storage::access_facts(*buffered, wish.extent);
    facts.storage_known = storage.knows(*buffered);
    storage::AccessDecision decision = storage::choose_access(facts);
    way.cached = facts.cached_fraction.value_or(0) >= kCachedFractionMin;
    way.access = decision.access;
    way.reason = std::move(decision.reason);
  } else {
    way.access = *wish.access;
    way.reason = "access as given";
  }
  auto file = open_for(buffered, way.access);
  if (!file) return failure(file.error());
  way.file = std::move(*file);
  return way;
}

}  // namespace forebay
