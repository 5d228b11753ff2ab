// SPDX-License-Identifier: Apache-2.0
// Simulation of a page cache under a stream of reads, with and without a predictor: how many reads
// fault, and what the predictions cost. Pure functions; no clock, no files.
//
// All predicted pages are assumed to arrive before the next read. So the results are bounds: late
// pages, bandwidth and queues are not simulated. The cache is that of the table in "The Server-Push
// I/O Architecture for High-End Computing" (Sun, Gropp, Thakur): 32 MB in pages of 64 KiB.
#pragma once

#include <forebay/range.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "push/predictor.hpp"
#include "push/recent_share.hpp"
#include "trace/signature_cursor.hpp"

namespace forebay::push {

struct CacheOptions {
  static constexpr std::uint64_t kPagesMax = std::uint64_t{1} << 20U;
  static constexpr std::size_t kLookaheadMax = 1024;

  std::uint64_t cache_bytes = 32_MiB;  ///< 1 to kPagesMax pages
  std::uint64_t page_bytes = 64_KiB;
  std::size_t lookahead = 1;  ///< predictions before each read, 1 to kLookaheadMax
};

struct CacheCounts {
  std::uint64_t reads = 0;         ///< without those that is_predictable() excludes
  std::uint64_t faults = 0;        ///< reads with a page that was not in the cache
  std::uint64_t misses = 0;        ///< reads whose offset and size were not predicted as next
  std::uint64_t pages_read = 0;    ///< brought in by faults
  std::uint64_t pages_pushed = 0;  ///< brought in by predictions
  std::uint64_t pages_wasted = 0;  ///< pushed, and not read before they left the cache or the end
};

/// Reads `stream` through an empty cache that evicts the least recently used page. Before each read
/// the pages of the next predictions are brought in, those of the nearest one last. The predictor
/// observes each read. Null: no predictions. Takes time for the pages of all reads and predictions,
/// of each at most those of the cache: only the last ones of a longer read are looked up, the first
/// ones of a longer prediction brought in.
CacheCounts simulate_cache(std::span<const trace::Access> stream,
                           const CacheOptions& options,
                           Predictor* predictor = nullptr);

/// Predicts the accesses of a signature that is known beforehand, from an earlier run. An access
/// that differs from the next one is searched among the 16 after it; if it is none of them, the
/// position stays.
class SignaturePredictor final : public Predictor {
 public:
  /// `signature` must satisfy check_signature().
  explicit SignaturePredictor(std::shared_ptr<const trace::Signature> signature)
      : cursor_(std::move(signature)) {}

  std::string_view name() const noexcept override { return "stored"; }
  /// See SignatureCursor for the time that it takes.
  void observe(const trace::Access& access) override;
  std::size_t predict(std::span<Prediction> into) const override;
  /// Without the signature, which is shared.
  std::size_t state_bytes() const noexcept override { return sizeof(*this); }

 private:
  static constexpr std::size_t kSkippedMax = 16;

  trace::SignatureCursor cursor_;
  RecentShare recent_{1};
};

}  // namespace forebay::push
