// SPDX-License-Identifier: Apache-2.0
// Ends a process that detected a bug of its own: one line on standard error, then abort(), for a
// core dump or a debugger.
#include "base/assert.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace forebay {

namespace {
constexpr int kNoRank = -1;
std::atomic<int> assertion_rank{kNoRank};  // NOLINT: the one global, written once at start
}  // namespace

void set_assertion_rank(int rank) noexcept { assertion_rank.store(rank); }

void detail::assertion_failed(const char* expression, const char* file, int line) noexcept {
  const int rank = assertion_rank.load();
  if (rank == kNoRank) {
    std::fprintf(stderr, "forebay: %s:%d: assertion failed: %s\n", file, line, expression);
  } else {
    std::fprintf(stderr, "forebay: rank %d: %s:%d: assertion failed: %s\n", rank, file, line,
                 expression);
  }
  std::abort();
}

}  // namespace forebay
