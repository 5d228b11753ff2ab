// SPDX-License-Identifier: Apache-2.0
// What a lease must know of processes of this host: who this one is, and whether another one is
// still the one that it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace forebay::write {

/// When it began, in clock ticks since the host did; no value if it has ended, or if this process
/// may not see that.
std::optional<std::uint64_t> start_of_process(std::uint64_t process_id);

enum class Fate : std::uint8_t {
  kLives,
  kGone,
  kUnknown,  ///< there is one of its number, and who it is may not be seen
};
/// Of the process of this number, in the namespace of this one, that began at `start`; 0: which is
/// not known.
Fate fate_of_process(std::uint64_t process_id, std::uint64_t start);

/// In which the numbers of processes count that this one sees; 0 if that cannot be known.
std::uint64_t process_namespace();

std::string host_name();

/// Of the host's current start.
std::string boot_id();

/// As errors say it: "2026-01-31 12:00:00 UTC".
std::string time_text(std::uint64_t since_1970_ns);

}  // namespace forebay::write
