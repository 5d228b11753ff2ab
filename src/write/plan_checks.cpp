// SPDX-License-Identifier: Apache-2.0
// Each complaint names the field, what it is, and what to write instead: who has a plan that cannot
// work reads nothing else.
#include "write/plan_checks.hpp"

#include <array>
#include <bit>
#include <optional>

#include "write/plan_limits.hpp"

namespace forebay::write {

namespace {

std::string is(std::string_view field, std::uint64_t value) {
  return std::string(field) + " is " + std::to_string(value);
}

struct Number {
  std::string_view field;
  std::uint64_t value;
  Limits limits;
};

Status check_number(const Number& number) {
  if (number.value == 0) return {};
  if (number.value >= number.limits.min && number.value <= number.limits.max) return {};
  return bad_plan(is(number.field, number.value) + ": write a number from " +
                  std::to_string(number.limits.min) + " to " + std::to_string(number.limits.max) +
                  ", or leave it open");
}

Status check_power_of_two(std::string_view field, std::uint64_t value) {
  if (value == 0 || std::has_single_bit(value)) return {};
  return bad_plan(is(field, value) + ", which is no power of two: write " +
                  std::to_string(std::bit_floor(value)));
}

Status check_sizes(const WritePlan& wanted) {
  const std::uint64_t grain = std::max(wanted.alignment_bytes, kAlignmentBytesLimits.min);
  if (wanted.unit_bytes % grain != 0) {
    return bad_plan(is("unit_bytes", wanted.unit_bytes) +
                    ": write a multiple of alignment_bytes, " + std::to_string(grain));
  }
  const std::uint64_t least = kUnitsMin * std::max(wanted.unit_bytes, grain);
  if (wanted.memory_bytes != 0 && wanted.memory_bytes < least) {
    return bad_plan(is("memory_bytes", wanted.memory_bytes) + ": write at least two units, " +
                    std::to_string(least) + ", or make unit_bytes smaller");
  }
  return {};
}

/// What a strategy leaves to be said.
struct Freedom {
  Strategy strategy;
  std::optional<HandOff> hand_off;  ///< the only one, besides none; absent: by memory or message
  Schedule schedule;
};

constexpr std::array<Freedom, 5> kFreedoms{
    {{Strategy::kBaton, std::nullopt, Schedule::kBaton},
     {Strategy::kCollective, std::nullopt, Schedule::kCollective},
     {Strategy::kReducedBlocking, std::nullopt, Schedule::kIndependent},
     {Strategy::kBrigade, HandOff::kBrigade, Schedule::kIndependent},
     {Strategy::kGather, HandOff::kGather, Schedule::kIndependent}}};

Freedom freedom_of(Strategy strategy) {
  for (const Freedom& one : kFreedoms) {
    if (one.strategy == strategy) return one;
  }
  return {strategy, std::nullopt, Schedule::kIndependent};
}

bool fits(const Freedom& freedom, HandOff hand_off) {
  if (hand_off == HandOff::kNone) return freedom.strategy != Strategy::kSerial;
  if (freedom.strategy == Strategy::kFilePerProcess) return false;
  if (freedom.hand_off) return hand_off == *freedom.hand_off;
  return hand_off == HandOff::kSharedMemory || hand_off == HandOff::kMessage;
}

Status check_words(const WriteFacts& facts, const WritePlan& wanted) {
  if (wanted.strategy == Strategy::kAuto) return {};
  const Freedom freedom = freedom_of(wanted.strategy);
  const std::string strategy = "the strategy " + std::string(name_of(wanted.strategy));
  const bool alone = facts.crew.computing() == 1 && wanted.placement != Placement::kDedicated;
  if (wanted.hand_off && !fits(freedom, *wanted.hand_off) &&
      !(alone && wanted.hand_off == HandOff::kNone)) {
    return bad_plan("hand_off is " + std::string(name_of(*wanted.hand_off)) + ", which is not " +
                    strategy + ": leave one of them open");
  }
  if (wanted.schedule && *wanted.schedule != freedom.schedule) {
    return bad_plan("schedule is " + std::string(name_of(*wanted.schedule)) + ", which is not " +
                    strategy + ": leave one of them open");
  }
  return {};
}

Status check_count(std::string_view field, std::uint32_t value, std::uint32_t needed) {
  if (value == 0 || value == needed) return {};
  return bad_plan(is(field, value) + ", and the strategy has exactly " + std::to_string(needed) +
                  ": leave it open, or choose reduced-blocking");
}

Status check_fixed(const WriteFacts& facts, const WritePlan& wanted) {
  const bool serial = wanted.strategy == Strategy::kSerial;
  const bool is_fixed = serial || wanted.strategy == Strategy::kFilePerProcess;
  const bool by_computing = is_fixed || wanted.strategy == Strategy::kCollective;
  if (by_computing && wanted.placement == Placement::kDedicated) {
    return bad_plan("placement is dedicated, and with " + std::string(name_of(wanted.strategy)) +
                    " ranks write that compute: leave it open, or choose reduced-blocking");
  }
  if (!by_computing) return {};
  const std::uint32_t needed = serial ? 1 : facts.crew.computing();
  if (Status right = check_count("writers", wanted.writers, needed); !right) return right;
  return is_fixed ? check_count("files", wanted.files, needed) : Status();
}

Status check_counts(const WriteFacts& facts, const WritePlan& wanted) {
  const bool dedicated = wanted.placement == Placement::kDedicated;
  const std::uint32_t ranks = dedicated ? facts.crew.dedicated() : facts.crew.computing();
  if (wanted.writers > ranks) {
    return bad_plan(is("writers", wanted.writers) + ", and there are " + std::to_string(ranks) +
                    (dedicated ? " ranks given to I/O" : " ranks that compute") +
                    ": write at most as many");
  }
  const std::uint32_t writers = wanted.writers == 0 ? ranks : wanted.writers;
  if (wanted.files > writers) {
    return bad_plan(is("files", wanted.files) + ", and there are at most " +
                    std::to_string(writers) + " writers: write at most as many");
  }
  if (wanted.hand_off != HandOff::kNone) return {};
  if (dedicated) {
    return bad_plan(
        "hand_off is none, and ranks that are given to I/O have nothing of their own: "
        "leave it open, or make placement in-rank");
  }
  if (writers == ranks) return {};
  return bad_plan("hand_off is none, and " + std::to_string(writers) + " of " +
                  std::to_string(ranks) + " ranks write: leave one of hand_off and writers open");
}

}  // namespace

tl::unexpected<Error> bad_plan(std::string cause) {
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "plan how a dataset is written",
                  .cause = std::move(cause)});
}

Status check_numbers(const WritePlan& wanted) {
  const std::array<Number, 8> numbers{
      {{"targets", wanted.targets, kTargetsLimits},
       {"stripe_bytes", wanted.stripe_bytes, kStripeBytesLimits},
       {"unit_bytes", wanted.unit_bytes, kUnitBytesLimits},
       {"alignment_bytes", wanted.alignment_bytes, kAlignmentBytesLimits},
       {"memory_bytes", wanted.memory_bytes, kMemoryBytesLimits},
       {"steps_in_flight", wanted.steps_in_flight, kStepsInFlightLimits},
       {"steps_per_group", wanted.steps_per_group, kStepsPerGroupLimits},
       {"keep", wanted.keep, kKeepLimits}}};
  for (const Number& number : numbers) {
    if (Status right = check_number(number); !right) return right;
  }
  for (const auto& [field, value] : {std::pair{"stripe_bytes", wanted.stripe_bytes},
                                     std::pair{"alignment_bytes", wanted.alignment_bytes}}) {
    if (Status right = check_power_of_two(field, value); !right) return right;
  }
  if (wanted.codec == Codec::kNone && wanted.codec_level != 0) {
    return bad_plan(is("codec_level", wanted.codec_level) +
                    ", and there is no codec: make codec zstd, or leave the level open");
  }
  if (Status right = check_number({"codec_level", wanted.codec_level, kCodecLevelLimits}); !right)
    return right;
  const std::int64_t deadline_ms = wanted.deadline.count();
  if (deadline_ms < 0) return bad_plan("deadline is negative: write 1 ms or more");
  const auto deadline = static_cast<std::uint64_t>(deadline_ms);
  if (Status right = check_number({"deadline", deadline, kDeadlineMsLimits}); !right) return right;
  return check_sizes(wanted);
}

Status check_shape(const WriteFacts& facts, const WritePlan& wanted) {
  if (wanted.placement == Placement::kDedicated && facts.crew.dedicated() == 0) {
    return bad_plan(
        "placement is dedicated, and no rank is given to I/O: make the Runtime with "
        "Placement::kDedicated (FOREBAY_PLACEMENT=dedicated), or leave it open");
  }
  const std::uint32_t servers = facts.server_count();
  if (servers > 0 && wanted.targets > servers) {
    return bad_plan(is("targets", wanted.targets) + ", and there are " + std::to_string(servers) +
                    " servers: write at most as many");
  }
  if (Status right = check_words(facts, wanted); !right) return right;
  if (Status right = check_fixed(facts, wanted); !right) return right;
  return check_counts(facts, wanted);
}

}  // namespace forebay::write
