// SPDX-License-Identifier: Apache-2.0
// What a lease must know of processes of this host: who this one is, and whether another one is
// still the one that it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace forebay::write {

/// When it began, in clock ticks since the host did; no value if there is none of this number, or
/// one that has ended and was not waited for yet.
std::optional<std::uint64_t> start_of_process(std::uint64_t process_id);

/// Of the host's current start.
std::string boot_id();

/// As errors say it: "2026-01-31 12:00:00 UTC".
std::string time_text(std::uint64_t since_1970_ns);

}  // namespace forebay::write
