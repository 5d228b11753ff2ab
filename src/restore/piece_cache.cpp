// SPDX-License-Identifier: Apache-2.0
#include "restore/piece_cache.hpp"

#include <algorithm>

namespace forebay::restore {

PieceCache::Loading::Loading(PieceCache& cache, PieceKey key) : cache_(&cache), key_(key) {
  const std::lock_guard lock(cache.mutex_);
  cache.loading_.push_back(key);
}

PieceCache::Loading::~Loading() {
  if (cache_ == nullptr) return;
  const std::lock_guard lock(cache_->mutex_);
  cache_->loading_.erase(std::ranges::find(cache_->loading_, key_));
}

void PieceCache::Loading::finish(Bytes bytes) {
  const std::lock_guard lock(cache_->mutex_);
  auto& entries = cache_->entries_;
  auto at = std::ranges::find(entries, key_, &Entry::key);
  if (at == entries.end()) --at;
  *at = {key_, std::move(bytes)};
  std::rotate(entries.begin(), at, at + 1);
}

PieceCache::Bytes PieceCache::find(PieceKey key) {
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.bytes && entry.key == key; });
  if (at == entries_.end()) return nullptr;
  std::rotate(entries_.begin(), at, at + 1);
  return entries_.front().bytes;
}

bool PieceCache::is_loading(PieceKey key) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::find(loading_, key) != loading_.end();
}

}  // namespace forebay::restore
