// SPDX-License-Identifier: Apache-2.0
// The network between hosts: its bandwidth, and the bytes received. Benchmarks and tests compare
// what a library reports with the counters of the interfaces.
#pragma once

#include <cstdint>
#include <optional>

namespace forebay::probe {

/// Bytes received by all interfaces of this host since its start, without loopback; 0 if there are
/// no counters.
std::uint64_t host_received_bytes();

/// Bandwidth of the link between two hosts in 10^6 bytes a second, if the creator of the hosts
/// limited it and set FOREBAY_HOSTS_RATE_MBYTE.
std::optional<double> link_mbyte_per_second();

}  // namespace forebay::probe
