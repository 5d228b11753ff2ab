// SPDX-License-Identifier: Apache-2.0
// next_in_series(): predicts the name of the next file of a numbered or dated series, so that it
// can be opened and read ahead. It catches numbers with a constant step, with or without leading
// zeros, and dates with a constant step of seconds or months.
//
// Cost: microseconds and some short strings for each call. No source: a scan of digits, and the
// civil calendar of <ctime>. No access to a file system.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace forebay::push {

/// The name that follows the last of `names`, oldest first. Of these, the newest 4 that differ from
/// the last one only in digits decide, and at least 2 are needed. If all of their numbers are equal
/// but one, that one must have a constant step; of 3 or more names, several numbers may have one.
///
/// A date is YYYYMMDD or YYYY-MM-DD, alone or with hours, minutes and seconds (20261103T0600,
/// 2026-11-03_06:00:00). If it follows no rule, its digits are numbers.
std::optional<std::string> next_in_series(std::span<const std::string> names);

}  // namespace forebay::push
