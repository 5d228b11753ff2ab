// SPDX-License-Identifier: Apache-2.0
// StreamPlan: how an output stream writes, as a plain struct: its memory, its requests, its bytes
// in flight. An application provides what it writes; plan_stream() and plan_output() complete the
// plan from facts. Both are pure functions, so plans can be printed, searched by a tuner, and
// tested by the thousand.
#pragma once

#include <forebay/access.hpp>
#include <forebay/error.hpp>

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
std::string_view name_of(Preallocation preallocation) noexcept;

/// How one stream writes. Zero, or an absent optional, means that the library chooses.
struct StreamPlan {
  /// Past the page cache or through it. Absent: chosen for each file.
  std::optional<Access> access = std::nullopt;
  /// Size of a buffer of acquire(), from 4 KiB to 1 GiB. 0: 16 MiB.
  std::uint64_t buffer_bytes = 0;
  /// Number of buffers: all the memory that the stream ever has for data. 0: 2, so that one is
  /// filled while the other is written. With 1, nothing overlaps.
  std::uint32_t buffers = 0;
  /// Size of one request to storage, a multiple of 4 KiB.
  std::uint64_t request_bytes = 0;
  /// Limits of this stream for each device: requests in flight, and bytes in flight. All streams of
  /// a Runtime together also keep to the limit of the device.
  std::uint32_t queue_depth = 0;
  std::uint64_t in_flight_bytes = 0;
  CompletionOrder completion_order = CompletionOrder::kNone;
  std::optional<Preallocation> preallocation = std::nullopt;
};

/// Completes the part that belongs to the stream as a whole, its memory, and checks all values.
/// Pure. Fails with kInvalidArgument, naming field and limit.
Result<StreamPlan> plan_stream(const StreamPlan& wanted = {});

/// The input of plan_output() for one file.
struct OutputFacts {
  Access access = Access::kBuffered;   ///< recommended for this file
  std::string access_reason = {};      ///< why that access is recommended
  bool is_in_memory = false;           ///< its file system is memory (tmpfs)
  std::uint64_t expected_bytes = 0;    ///< bytes that the program will write; 0: unknown
  std::uint64_t in_flight_bytes = 0;   ///< limit of its device; 0: unknown
  std::string in_flight_reason = {};   ///< source of that limit
  std::uint64_t saturation_bytes = 0;  ///< bytes in flight that keep its servers busy; 0: unknown
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

/// Chooses for one file what `plan`, a result of plan_stream(), leaves open. Pure.
OutputPlan plan_output(const OutputFacts& facts, const StreamPlan& plan);

}  // namespace forebay
