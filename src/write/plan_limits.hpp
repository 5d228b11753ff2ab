// SPDX-License-Identifier: Apache-2.0
// What numbers of a plan may be, for who checks plans and for who reads them from files.
#pragma once

#include <forebay/range.hpp>

#include <chrono>
#include <cstdint>

namespace forebay::write {

/// Bounds of a number, both allowed.
struct Limits {
  std::uint64_t min;
  std::uint64_t max;
};

inline constexpr Limits kWritersLimits{0, UINT32_MAX};
inline constexpr Limits kTargetsLimits{0, 65'536};
inline constexpr Limits kStripeBytesLimits{4_KiB, 1_GiB};
inline constexpr Limits kUnitBytesLimits{4_KiB, 1_GiB};
inline constexpr Limits kAlignmentBytesLimits{4_KiB, 1_GiB};
inline constexpr Limits kMemoryBytesLimits{8_KiB, 1024_GiB};
inline constexpr Limits kStepsInFlightLimits{1, 64};
inline constexpr Limits kStepsPerGroupLimits{1, 1'000'000};
inline constexpr Limits kKeepLimits{0, 1'000'000};
inline constexpr Limits kCodecLevelLimits{1, 19};
inline constexpr Limits kDeadlineMsLimits{1, 86'400'000};

inline constexpr std::uint64_t kUnitBytesDefault = 4_MiB;
/// No unit is chosen below this: requests would cost more than bytes.
inline constexpr std::uint64_t kUnitBytesSmall = 64_KiB;
/// No unit is chosen below this because little memory is free: pieces have as much.
inline constexpr std::uint64_t kUnitBytesOfLittleMemory = 1_MiB;
/// For steps of which nothing is known, where free memory is not known either.
inline constexpr std::uint64_t kMemoryBytesDefault = 64_MiB;
/// No more is chosen for steps of which nothing is known.
inline constexpr std::uint64_t kMemoryBytesNewMax = 1_GiB;
/// One is filled while another is written.
inline constexpr std::uint64_t kUnitsMin = 2;
/// Chunks are no longer than this, so that each fits a message.
inline constexpr std::uint64_t kChunkBytesMax = 32_MiB;
/// Staging is divided into segments. A rank fills one while another is written; one that also takes
/// what others put needs as many for that.
inline constexpr std::uint64_t kSegmentsMin = 2;
inline constexpr std::uint32_t kStepsInFlightDefault = 2;
inline constexpr std::uint32_t kCodecLevelDefault = 3;
/// A rank that computes is no failure, and one that has died is known by its connection.
inline constexpr std::chrono::milliseconds kDeadlineDefault = std::chrono::minutes(10);
/// Nobody waits longer for what needs no rank to compute for it.
inline constexpr std::chrono::milliseconds kStallMax = std::chrono::seconds(60);
/// Ranks, of a node on local disks, in all elsewhere, up to which each writes a file.
inline constexpr std::uint32_t kRanksWithFilesMax = 8;

}  // namespace forebay::write
