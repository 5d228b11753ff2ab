// SPDX-License-Identifier: Apache-2.0
// What a program was doing when the kernel asked us for attributes. It asks for those that a
// program wants and for those that it needs itself, to check rights on the way to something else,
// in the same words; only the first have a price.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <sys/types.h>

namespace forebay::emufs {

/// The system call in the text of /proc/THREAD/syscall; none if the thread is in none, or runs.
std::optional<long> parse_system_call(std::string_view text);

/// Whether it is one of those by which programs ask for attributes.
bool asks_for_attributes(long system_call);

enum class Purpose : std::uint8_t { kAttributes, kOther, kUnknown };

/// Why a thread that waits for us asks. Takes a few microseconds; at most 50 where it has not gone
/// to sleep yet.
Purpose purpose_of(pid_t thread);

/// Whether a signal is on its way to this thread that ends its program: in the text of
/// /proc/THREAD/status, one that is neither blocked nor ignored nor caught.
bool has_fatal_signal(std::string_view status);

/// The same of a thread that waits for us; false where that is not to be known.
bool is_dying(pid_t thread);

}  // namespace forebay::emufs
