// SPDX-License-Identifier: Apache-2.0
// Values of the default plan of a stream, each with its source.
#include "stream/plan.hpp"

#include <forebay/range.hpp>

#include <algorithm>
#include <bit>
#include <string>

namespace forebay {

namespace {

// Two of 16 MiB. With fixed memory of two buffers all correct engines came within a tenth of the
// model; naive asynchrony, with fresh memory for each buffer, reached a quarter of it.
constexpr std::uint64_t kBufferBytes = 16_MiB;
constexpr std::uint32_t kBuffers = 2;
constexpr std::uint64_t kBufferBytesMin = 4_KiB;
constexpr std::uint64_t kBufferBytesMax = 1_GiB;
constexpr std::uint32_t kBuffersMax = 1U << 16U;
// Devices are busy from a few requests of 1 MiB on; larger ones cost less processor time.
constexpr std::uint64_t kRequestBytesSmall = 1_MiB;
constexpr std::uint64_t kRequestBytesLarge = 4_MiB;
constexpr std::uint64_t kRequestsPerBuffer = 4;
constexpr std::uint64_t kRequestBytesUnit = 4_KiB;
constexpr std::uint32_t kDirectDepth = 16;
// One thread copies into the page cache at a time; the next requests are queued behind it.
constexpr std::uint32_t kBufferedDepth = 4;
constexpr std::uint32_t kDepthMax = 1024;
constexpr std::uint64_t kInFlightBytes = 32_MiB;

tl::unexpected<Error> bad_plan(std::string cause) {
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "plan an output stream",
                  .cause = std::move(cause)});
}

std::string is(const char* field, std::uint64_t value) {
  return std::string(field) + " is " + std::to_string(value);
}

Status check_memory(const StreamPlan& plan) {
  if (plan.buffer_bytes < kBufferBytesMin || plan.buffer_bytes > kBufferBytesMax) {
    return bad_plan(is("buffer_bytes", plan.buffer_bytes) + "; it must be from " +
                    std::to_string(kBufferBytesMin) + " to " + std::to_string(kBufferBytesMax));
  }
  if (plan.buffers > kBuffersMax) {
    return bad_plan(is("buffers", plan.buffers) + "; at most " + std::to_string(kBuffersMax) +
                    " are possible");
  }
  return {};
}

Status check_requests(const StreamPlan& plan) {
  if (plan.tuning.request_bytes % kRequestBytesUnit != 0 ||
      plan.tuning.request_bytes > kBufferBytesMax) {
    return bad_plan(is("request_bytes", plan.tuning.request_bytes) + "; it must be a multiple of " +
                    std::to_string(kRequestBytesUnit) + ", and at most " +
                    std::to_string(kBufferBytesMax));
  }
  if (plan.tuning.queue_depth > kDepthMax) {
    return bad_plan(is("queue_depth", plan.tuning.queue_depth) + "; at most " +
                    std::to_string(kDepthMax) + " are possible");
  }
  if (plan.tuning.in_flight_bytes != 0 && plan.tuning.in_flight_bytes < plan.tuning.request_bytes) {
    return bad_plan(is("in_flight_bytes", plan.tuning.in_flight_bytes) +
                    ", less than one request of " + std::to_string(plan.tuning.request_bytes));
  }
  return {};
}

std::uint64_t choose_request(const StreamPlan& plan) {
  const std::uint64_t preferred = std::clamp(std::bit_floor(plan.buffer_bytes / kRequestsPerBuffer),
                                             kRequestBytesSmall, kRequestBytesLarge);
  const std::uint64_t limit =
      plan.tuning.in_flight_bytes == 0 ? preferred : plan.tuning.in_flight_bytes;
  return std::max(std::min(preferred, limit) / kRequestBytesUnit * kRequestBytesUnit,
                  kRequestBytesUnit);
}

/// Reserving space in memory fills it with zeros: twice the work.
Preallocation choose_preallocation(const OutputFacts& facts, Access access) {
  if (facts.is_in_memory) return Preallocation::kNone;
  if (access == Access::kDirect) return Preallocation::kGrowing;
  return facts.expected_bytes > 0 ? Preallocation::kExpected : Preallocation::kNone;
}

/// The default, or more if the storage's servers need more requests of this size.
std::uint32_t choose_depth(const OutputFacts& facts, const OutputPlan& chosen) {
  if (chosen.access == Access::kBuffered) return kBufferedDepth;
  const std::uint64_t busy = facts.saturation_bytes / chosen.request_bytes;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(busy, kDirectDepth, kDepthMax));
}

void choose_in_flight(OutputPlan& chosen, const OutputFacts& facts, const StreamPlan& plan) {
  const std::uint64_t limit = facts.in_flight_bytes == 0 ? kInFlightBytes : facts.in_flight_bytes;
  chosen.in_flight_bytes =
      plan.tuning.in_flight_bytes == 0 ? limit : std::min(plan.tuning.in_flight_bytes, limit);
  // One request may always be in flight.
  chosen.in_flight_bytes = std::max(chosen.in_flight_bytes, chosen.request_bytes);
  chosen.reason += "; at most " + std::to_string(chosen.in_flight_bytes) + " bytes under way";
  if (plan.tuning.in_flight_bytes != 0 && chosen.in_flight_bytes == plan.tuning.in_flight_bytes) {
    chosen.reason += ", as given";
  } else if (!facts.in_flight_reason.empty()) {
    chosen.reason += ", " + facts.in_flight_reason;
  }
}

}  // namespace

std::string_view name_of(Preallocation preallocation) noexcept {
  switch (preallocation) {
    case Preallocation::kNone:
      return "none";
    case Preallocation::kExpected:
      return "expected";
    case Preallocation::kGrowing:
      return "growing";
  }
  return "unknown";
}

Result<StreamPlan> plan_stream(const StreamPlan& requested) {
  StreamPlan plan = requested;
  if (plan.buffer_bytes == 0) plan.buffer_bytes = kBufferBytes;
  if (plan.buffers == 0) plan.buffers = kBuffers;
  if (const Status checked = check_memory(plan); !checked) return failure(checked.error());
  if (const Status checked = check_requests(plan); !checked) return failure(checked.error());
  return plan;
}

OutputPlan plan_output(const OutputFacts& facts, const StreamPlan& plan) {
  OutputPlan chosen;
  chosen.access = plan.access.value_or(facts.access);
  chosen.reason =
      plan.access ? std::string(name_of(*plan.access)) + ": as given" : facts.access_reason;
  chosen.request_bytes =
      plan.tuning.request_bytes != 0 ? plan.tuning.request_bytes : choose_request(plan);
  chosen.queue_depth =
      plan.tuning.queue_depth != 0 ? plan.tuning.queue_depth : choose_depth(facts, chosen);
  chosen.preallocation =
      plan.tuning.preallocation.value_or(choose_preallocation(facts, chosen.access));
  choose_in_flight(chosen, facts, plan);
  return chosen;
}

}  // namespace forebay
