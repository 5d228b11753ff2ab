// SPDX-License-Identifier: Apache-2.0
// StreamPlan: how an output stream writes, as a plain struct: its memory, its requests, its bytes
// in flight. An application provides what it writes; the library completes the plan from facts
// (src/stream/plan.hpp). OutputStream::plan() and OutputFile::plan() return the result.
#pragma once

#include <forebay/access.hpp>
#include <forebay/detail/export.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace forebay {

/// Which submitted buffers OutputStream::poll_completions() reports, and when.
enum class CompletionOrder : std::uint8_t {
  kNone,      ///< none: errors and drain() are enough
  kAnyOrder,  ///< each when it is written
  kInOrder,   ///< each when it and all earlier submissions are written
};

/// How much space of a file is reserved before its first byte is written. drain() returns space
/// that was reserved and not written.
enum class Preallocation : std::uint8_t {
  kNone,      ///< none: the file grows as it is written
  kExpected,  ///< the bytes that the program announced, and nothing beyond
  kGrowing,   ///< the same, and beyond it increments that grow with the file
};

/// "none", "expected", "growing".
FOREBAY_EXPORT std::string_view name_of(Preallocation preallocation) noexcept;

/// Values of a StreamPlan that depend on hardware rather than on the program. Zero, or an absent
/// optional, means that the library chooses.
struct StreamTuning {
  /// Size of one request to storage, a multiple of 4 KiB.
  std::uint64_t request_bytes = 0;
  /// Limits of this stream for each device: requests in flight, and bytes in flight. All streams of
  /// a Runtime together also keep to the limit of the device.
  std::uint32_t queue_depth = 0;
  std::uint64_t in_flight_bytes = 0;
  std::optional<Preallocation> preallocation = std::nullopt;
};

/// How one stream writes. Zero, or an absent optional, means that the library chooses.
struct StreamPlan {
  /// Past the page cache or through it. Absent: chosen for each file.
  std::optional<Access> access = std::nullopt;
  /// Size of a buffer of acquire(), from 4 KiB to 1 GiB. 0: 16 MiB.
  std::uint64_t buffer_bytes = 0;
  /// Number of buffers: all the memory that the stream ever has for data. 0: 2, so that one is
  /// filled while the other is written. With 1, nothing overlaps.
  std::uint32_t buffers = 0;
  CompletionOrder completion_order = CompletionOrder::kNone;
  StreamTuning tuning = {};
};

/// How one file of a stream is written.
struct OutputPlan {
  Access access = Access::kBuffered;
  std::uint64_t request_bytes = 0;
  std::uint32_t queue_depth = 0;
  std::uint64_t in_flight_bytes = 0;
  Preallocation preallocation = Preallocation::kNone;
  /// Why these values were chosen, for people.
  std::string reason = {};
};

}  // namespace forebay
