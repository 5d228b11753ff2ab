// SPDX-License-Identifier: Apache-2.0
#include "push/cache_simulation.hpp"

#include <algorithm>
#include <list>
#include <ranges>
#include <unordered_map>
#include <vector>

#include "base/assert.hpp"

namespace forebay::push {

namespace {

using trace::Access;

/// Least recently used pages leave first.
class PageCache {
 public:
  enum class Use { kPush, kRead };

  explicit PageCache(std::uint64_t pages_max) : pages_max_(pages_max) {}

  /// Makes the page the most recently used one. Returns whether it was brought in.
  bool use(std::uint64_t number, Use use) {
    const auto known = index_.find(number);
    if (known != index_.end()) {
      pages_.splice(pages_.begin(), pages_, known->second);
      if (use == Use::kRead) known->second->is_read = true;
      return false;
    }
    if (pages_.size() == pages_max_) evict();
    pages_.push_front({number, use == Use::kRead});
    index_.emplace(number, pages_.begin());
    return true;
  }

  /// Pages that were never read: evicted ones, and those in the cache.
  std::uint64_t wasted() const {
    const auto unread = std::ranges::count(pages_, false, &Page::is_read);
    return evicted_unread_ + static_cast<std::uint64_t>(unread);
  }

 private:
  struct Page {
    std::uint64_t number = 0;
    bool is_read = false;
  };

  void evict() {
    evicted_unread_ += pages_.back().is_read ? 0 : 1;
    index_.erase(pages_.back().number);
    pages_.pop_back();
  }

  std::uint64_t pages_max_;
  std::list<Page> pages_;  ///< most recently used first
  std::unordered_map<std::uint64_t, std::list<Page>::iterator> index_;
  std::uint64_t evicted_unread_ = 0;
};

class Simulation {
 public:
  explicit Simulation(const CacheOptions& options)
      : page_bytes_(options.page_bytes),
        pages_max_(options.cache_bytes / options.page_bytes),
        cache_(pages_max_) {}

  void push(const Prediction& prediction) {
    const std::uint64_t first = prediction.offset / page_bytes_;
    const std::uint64_t end = end_page(prediction.offset, prediction.size);
    for (std::uint64_t page = first; page < std::min(end, first + pages_max_); ++page)
      counts_.pages_pushed += cache_.use(page, PageCache::Use::kPush) ? 1 : 0;
  }

  void read(const Access& access, bool is_predicted) {
    const std::uint64_t end = end_page(access.offset, access.size);
    const std::uint64_t pages = end - access.offset / page_bytes_;
    const std::uint64_t looked_up = std::min(pages, pages_max_);
    std::uint64_t absent = pages - looked_up;
    for (std::uint64_t page = end - looked_up; page < end; ++page)
      absent += cache_.use(page, PageCache::Use::kRead) ? 1 : 0;
    ++counts_.reads;
    counts_.faults += absent > 0 ? 1 : 0;
    counts_.misses += is_predicted ? 0 : 1;
    counts_.pages_read += absent;
  }

  CacheCounts counts() const {
    CacheCounts counts = counts_;
    counts.pages_wasted = cache_.wasted();
    return counts;
  }

 private:
  std::uint64_t end_page(std::uint64_t offset, std::uint64_t size) const noexcept {
    return (offset + size - 1) / page_bytes_ + 1;
  }

  std::uint64_t page_bytes_;
  std::uint64_t pages_max_;
  PageCache cache_;
  CacheCounts counts_;
};

bool is_same(const Access& access, std::uint64_t offset, std::uint64_t size) noexcept {
  return access.offset == offset && access.size == size;
}

}  // namespace

CacheCounts simulate_cache(std::span<const Access> stream,
                           const CacheOptions& options,
                           Predictor* predictor) {
  FOREBAY_ASSERT(options.page_bytes > 0);
  FOREBAY_ASSERT(options.cache_bytes >= options.page_bytes);
  FOREBAY_ASSERT(options.cache_bytes / options.page_bytes <= CacheOptions::kPagesMax);
  FOREBAY_ASSERT(options.lookahead >= 1);
  FOREBAY_ASSERT(options.lookahead <= CacheOptions::kLookaheadMax);
  Simulation simulation(options);
  std::vector<Prediction> buffer(options.lookahead);
  for (const Access& access : stream) {
    if (!is_predictable(access.offset, access.size)) continue;
    const std::size_t count = predictor == nullptr ? 0 : predictor->predict(buffer);
    for (const Prediction& next : std::span(buffer).first(count) | std::views::reverse)
      simulation.push(next);
    const bool is_predicted = count > 0 && is_same(access, buffer[0].offset, buffer[0].size);
    simulation.read(access, is_predicted);
    if (predictor != nullptr) predictor->observe(access);
  }
  return simulation.counts();
}

void SignaturePredictor::observe(const Access& access) {
  if (!is_predictable(access.offset, access.size)) return;
  trace::SignatureCursor cursor = cursor_;
  for (std::size_t skipped = 0; skipped <= kSkippedMax && !cursor.is_done(); ++skipped) {
    const Access next = cursor.current();
    cursor.advance();
    if (!is_same(next, access.offset, access.size)) continue;
    skipped == 0 ? recent_.record_hit() : recent_.record_miss();
    cursor_ = cursor;
    return;
  }
  recent_.record_miss();
}

std::size_t SignaturePredictor::predict(std::span<Prediction> into) const {
  std::size_t count = 0;
  for (trace::SignatureCursor cursor = cursor_; count < into.size() && !cursor.is_done();
       cursor.advance()) {
    const Access& next = cursor.current();
    if (!is_predictable(next.offset, next.size)) break;
    into[count++] = {next.offset, next.size, recent_.value()};
  }
  return count;
}

}  // namespace forebay::push
