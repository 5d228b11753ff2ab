// SPDX-License-Identifier: Apache-2.0
// Shared code of tests of decoders: bytes that no sender produces. For tests only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>

#include <gmock/gmock.h>

#include "comm/communicator.hpp"

namespace forebay::comm {

inline constexpr std::uint32_t kMutationSeed = 20261126;
inline constexpr int kMutations = 3000;

/// Calls `decode`, which returns a Result, with every truncation of `whole`, with bytes appended,
/// and with random changes. Input that is certainly invalid gives an Error of class kDamage that
/// names message and field. For other input `decode` must only return.
template <class Decode>
void expect_safe_decoding(const Bytes& whole, const Decode& decode) {
  ASSERT_TRUE(decode(std::span<const std::byte>(whole)));
  const auto expect_refused = [&](std::span<const std::byte> bytes) {
    const auto decoded = decode(bytes);
    ASSERT_FALSE(decoded) << bytes.size() << " of " << whole.size() << " bytes";
    EXPECT_EQ(decoded.error().kind(), ErrorClass::kDamage);
    EXPECT_THAT(decoded.error().message(), testing::ContainsRegex("message '.+': field '.+' is "));
  };
  for (std::size_t size = 0; size < whole.size(); ++size)
    expect_refused(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
  for (const std::size_t more : {1U, 8U, 100'000U}) {
    Bytes longer = whole;
    longer.resize(whole.size() + more);
    expect_refused(longer);
  }
  std::mt19937 random(kMutationSeed);
  for (int round = 0; round < kMutations; ++round) {
    Bytes changed = whole;
    for (auto changes = 1 + random() % 4; changes > 0; --changes)
      changed[random() % changed.size()] =
          static_cast<std::byte>(random() % 3 == 0 ? 0xFF : random());
    if (random() % 4 == 0) changed.resize(random() % (2 * whole.size()));
    SCOPED_TRACE("seed " + std::to_string(kMutationSeed) + ", round " + std::to_string(round));
    const auto decoded = decode(std::span<const std::byte>(changed));
    if (decoded) continue;
    EXPECT_THAT(decoded.error().message(), testing::ContainsRegex("field '.+' is "));
  }
}

}  // namespace forebay::comm
