// SPDX-License-Identifier: Apache-2.0
// Limits of the numbers of a plan, for the checks of plans and for the reader of plan files.
#pragma once

#include <forebay/range.hpp>

#include <chrono>
#include <cstdint>

namespace forebay::write {

/// Bounds of a number, both inclusive.
struct Limits {
  std::uint64_t min;
  std::uint64_t max;
};

inline constexpr Limits kWritersLimits{0, UINT32_MAX};
inline constexpr Limits kStripeCountLimits{0, 65'536};
inline constexpr Limits kStripeBytesLimits{4_KiB, 1_GiB};
inline constexpr Limits kUnitBytesLimits{4_KiB, 1_GiB};
inline constexpr Limits kAlignmentBytesLimits{4_KiB, 1_GiB};
inline constexpr Limits kMemoryBytesLimits{8_KiB, 1024_GiB};
inline constexpr Limits kStepsInFlightLimits{1, 64};
inline constexpr Limits kStepsPerGroupLimits{1, 1'000'000};
inline constexpr Limits kRetainedStepsLimits{0, 1'000'000};
inline constexpr Limits kCodecLevelLimits{1, 19};
inline constexpr Limits kStepTimeoutMsLimits{1, 86'400'000};

inline constexpr std::uint64_t kUnitBytesDefault = 4_MiB;
/// Minimum of a unit that is chosen for a small step. For smaller ones, requests would cost more
/// than bytes.
inline constexpr std::uint64_t kUnitBytesSmall = 64_KiB;
/// Minimum of a unit that is chosen for lack of free memory. Pieces have this size in any case.
inline constexpr std::uint64_t kUnitBytesLowMemory = 1_MiB;
/// Staging memory for steps of unknown size, if the free memory is also unknown.
inline constexpr std::uint64_t kMemoryBytesDefault = 64_MiB;
/// Maximum of the staging memory for steps of unknown size.
inline constexpr std::uint64_t kMemoryBytesUnknownMax = 1_GiB;
/// One unit is filled while another is written.
inline constexpr std::uint64_t kUnitsMin = 2;
/// Maximum size of a chunk, so that each fits a message.
inline constexpr std::uint64_t kChunkBytesMax = 32_MiB;
/// Staging is divided into segments. A rank fills one while another is written. A rank that also
/// takes bytes of other ranks needs as many for these.
inline constexpr std::uint64_t kSegmentsMin = 2;
inline constexpr std::uint32_t kStepsInFlightDefault = 2;
inline constexpr std::uint32_t kCodecLevelDefault = 3;
/// A rank that computes for long is no failure, and a rank that has died is detected by its
/// connection.
inline constexpr std::chrono::milliseconds kStepTimeoutDefault = std::chrono::minutes(10);
/// Maximum wait for events that need no rank to compute.
inline constexpr std::chrono::milliseconds kStallMax = std::chrono::seconds(60);
/// Maximum number of ranks for which file-per-process is the default: on each node for local disks,
/// of the job for other storage.
inline constexpr std::uint32_t kFilePerProcessRanksMax = 8;

}  // namespace forebay::write
