// SPDX-License-Identifier: Apache-2.0
// SignatureCursor: iterates over the accesses of a signature, one at a time. Small and copyable, so
// that a prediction can look ahead with a copy.
#pragma once

#include <forebay/detail/export.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "trace/signature.hpp"

namespace forebay::trace {

/// One thread at a time. advance() takes time for the depth of loops, not for repetitions. It is
/// done early if it finds no access in 2^16 steps from loop to loop: loops without accesses.
class SignatureCursor {
 public:
  /// `signature` must satisfy check_signature().
  FOREBAY_EXPORT explicit SignatureCursor(std::shared_ptr<const Signature> signature);

  FOREBAY_EXPORT bool is_done() const noexcept;
  /// Only while not is_done(). begin_ns is the sum of the intervals after the first access, at most
  /// 2^63 - 1; unknown ones count as 0.
  FOREBAY_EXPORT const Access& current() const noexcept;
  /// Only while not is_done().
  FOREBAY_EXPORT void advance();
  /// Number of accesses before current().
  std::uint64_t position() const noexcept;

 private:
  struct Level {
    const std::vector<Item>* items = nullptr;
    std::size_t item = 0;        ///< in `items`
    std::int64_t count = 1;      ///< repetitions of the loop
    std::size_t list_index = 0;  ///< if the item is a list
  };

  void leave_access();
  void find_access();
  void enter(const LoopItem& loop);
  void end_repetition();
  void load(const AccessItem& item);
  void load(const ByteRange& range);

  std::shared_ptr<const Signature> signature_;
  std::array<Level, kLoopDepthMax + 1> levels_ = {};  ///< [0]: the signature itself
  std::size_t depth_ = 0;
  LoopIndexes indexes_ = {};
  Access current_;
  std::uint64_t position_ = 0;
  bool is_done_ = false;
};

}  // namespace forebay::trace
