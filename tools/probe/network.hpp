// SPDX-License-Identifier: Apache-2.0
// The network between hosts: how fast it is, and what came over it. What a library says it did is
// checked against what the interfaces counted, by benchmarks and tests alike.
#pragma once

#include <cstdint>
#include <optional>

namespace forebay::probe {

/// All that ever came to this host by its interfaces, without loopback; 0 if nobody counts.
std::uint64_t received_bytes_of_this_host();

/// What the link between two hosts carries, in 10^6 bytes a second, if whoever made them limited
/// and told it (FOREBAY_HOSTS_RATE_MBYTE).
std::optional<double> link_mbyte_per_second();

}  // namespace forebay::probe
