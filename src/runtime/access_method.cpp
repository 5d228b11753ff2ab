// SPDX-License-Identifier: Apache-2.0
#include "runtime/access_method.hpp"

#include <algorithm>
#include <utility>

#include "storage/access_rule.hpp"

namespace forebay {

namespace {

/// Share of an extent in the page cache from which on a read counts as a copy.
constexpr double kCachedFractionMin = 0.9;

}  // namespace

Result<std::shared_ptr<storage::File>> open_with_access(
    const std::shared_ptr<storage::File>& buffered, Access access) {
  if (access == Access::kBuffered) return buffered;
  auto direct = storage::reopen(*buffered, {.access = Access::kDirect});
  if (!direct) return failure(direct.error());
  return std::shared_ptr<storage::File>(std::move(*direct));
}

Result<AccessMethod> choose_access_method(const std::shared_ptr<storage::File>& buffered,
                                          const AccessRequest& request,
                                          const StorageInfoSource& storage) {
  AccessMethod method{.file = buffered, .access = Access::kBuffered, .reason = {}};
  if (!request.access) {
    storage::AccessFacts facts = storage::access_facts(*buffered, request.extent);
    facts.is_storage_known = storage.has_info(*buffered);
    // Each of its small reads costs a round trip, however few bytes the file has.
    if (request.mode == Mode::kOnDemand && is_remote(facts.file_system))
      facts.range_bytes = std::max(facts.range_bytes, storage::kDirectRangeBytesMinRemote);
    storage::AccessDecision decision = storage::choose_access(facts);
    method.cached = facts.cached_fraction.value_or(0) >= kCachedFractionMin;
    method.access = decision.access;
    method.reason = std::move(decision.reason);
  } else {
    method.access = *request.access;
    method.reason = "access as given";
  }
  auto file = open_with_access(buffered, method.access);
  if (!file) return failure(file.error());
  method.file = std::move(*file);
  return method;
}

}  // namespace forebay
