// SPDX-License-Identifier: Apache-2.0
// StreamPlan: how a stream writes, as a plain struct. An application says what it writes; the plan
// says how: through how much memory, in which requests, how many bytes under way. plan_stream()
// and plan_output() fill it in from facts; both are pure functions, so a plan can be printed,
// searched by a tuner and tested by the thousand.
#pragma once

#include <forebay/access.hpp>
#include <forebay/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace forebay {

/// What OutputStream::written() tells of the buffers that were submitted.
enum class Completions : std::uint8_t {
  kNone,      ///< nothing: errors and drain() say enough
  kAnyOrder,  ///< each as it is written
  kInOrder,   ///< each when it and all that were submitted before it are written
};

/// How much space of a file is reserved before the first byte is written there. What was reserved
/// and not written is given back by drain().
enum class Preallocation : std::uint8_t {
  kNone,      ///< none: the file grows as it is written
  kExpected,  ///< what the program says it will write; nothing beyond
  kGrowing,   ///< the same, and beyond it steps that grow with the file
};

/// "none", "expected", "growing".
std::string_view name_of(Preallocation preallocation) noexcept;

/// How one stream writes. Zero, or an absent optional, means "choose for me".
struct StreamPlan {
  /// Past the page cache or through it; absent: chosen for each file.
  std::optional<Access> access = std::nullopt;
  /// What acquire() hands out, from 4 KiB to 1 GiB; 0: 16 MiB.
  std::uint64_t buffer_bytes = 0;
  /// How many of them there are: all the memory that the stream ever has for data. 0: 2, so that
  /// one is filled while the other is written; with 1 nothing overlaps.
  std::uint32_t buffers = 0;
  /// Size of one request to storage, a multiple of 4 KiB.
  std::uint64_t request_bytes = 0;
  /// How many requests of this stream may be under way on one device, and how many bytes. All
  /// streams of a Runtime together keep to the limit of the device besides.
  std::uint32_t queue_depth = 0;
  std::uint64_t in_flight_bytes = 0;
  Completions completions = Completions::kNone;
  std::optional<Preallocation> preallocation = std::nullopt;
};

/// Completes what belongs to the stream as a whole: its memory. Checks all that is given.
/// Pure. Fails with kInvalidArgument, naming field and limit.
Result<StreamPlan> plan_stream(const StreamPlan& wanted = {});

/// What plan_output() needs to know of one file.
struct OutputFacts {
  Access access = Access::kBuffered;  ///< what suits this file
  std::string access_reason = {};     ///< why
  bool in_memory = false;             ///< its file system is memory (tmpfs)
  std::uint64_t expected_bytes = 0;   ///< what the program says it will write; 0: it does not say
  std::uint64_t in_flight_bytes = 0;  ///< the limit of its device; 0: not known
  std::string in_flight_reason = {};  ///< who says so
  std::uint64_t busy_bytes = 0;       ///< under way, that keep its servers busy; 0: not known
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

/// Chooses for one file what `plan`, which plan_stream() gave, leaves open. Pure.
OutputPlan plan_output(const OutputFacts& facts, const StreamPlan& plan);

}  // namespace forebay
