// SPDX-License-Identifier: Apache-2.0
// Each Error names the field, its value, and what to write instead.
#include "write/plan_checks.hpp"

#include <array>
#include <bit>
#include <optional>

#include "write/plan_limits.hpp"

namespace forebay::write {

namespace {

std::string format_value(std::string_view field, std::uint64_t value) {
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
  return invalid_plan(format_value(number.field, number.value) + ": write a number from " +
                      std::to_string(number.limits.min) + " to " +
                      std::to_string(number.limits.max) + ", or leave it open");
}

Status check_power_of_two(std::string_view field, std::uint64_t value) {
  if (value == 0 || std::has_single_bit(value)) return {};
  return invalid_plan(format_value(field, value) + ", which is no power of two: write " +
                      std::to_string(std::bit_floor(value)));
}

Status check_sizes(const WritePlan& requested) {
  const std::uint64_t grain = std::max(requested.tuning.alignment_bytes, kAlignmentBytesLimits.min);
  if (requested.tuning.unit_bytes % grain != 0) {
    return invalid_plan(format_value("unit_bytes", requested.tuning.unit_bytes) +
                        ": write a multiple of alignment_bytes, " + std::to_string(grain));
  }
  const std::uint64_t least = kUnitsMin * std::max(requested.tuning.unit_bytes, grain);
  if (requested.memory_bytes != 0 && requested.memory_bytes < least) {
    return invalid_plan(format_value("memory_bytes", requested.memory_bytes) +
                        ": write at least two units, " + std::to_string(least) +
                        ", or make unit_bytes smaller");
  }
  return {};
}

/// Values that a strategy fixes.
struct StrategyConstraints {
  Strategy strategy;
  /// The only exchange besides kNone; no value: kSharedMemory or kMessage.
  std::optional<Exchange> exchange;
  TransferMode transfer_mode;
};

constexpr std::array<StrategyConstraints, 5> kStrategyConstraints{
    {{Strategy::kBaton, std::nullopt, TransferMode::kBaton},
     {Strategy::kCollective, std::nullopt, TransferMode::kCollective},
     {Strategy::kReducedBlocking, std::nullopt, TransferMode::kIndependent},
     {Strategy::kBrigade, Exchange::kBrigade, TransferMode::kIndependent},
     {Strategy::kGather, Exchange::kGather, TransferMode::kIndependent}}};

StrategyConstraints constraints_of(Strategy strategy) {
  for (const StrategyConstraints& one : kStrategyConstraints) {
    if (one.strategy == strategy) return one;
  }
  return {strategy, std::nullopt, TransferMode::kIndependent};
}

bool is_allowed(const StrategyConstraints& constraints, Exchange exchange) {
  if (exchange == Exchange::kNone) return constraints.strategy != Strategy::kSerial;
  if (constraints.strategy == Strategy::kFilePerProcess) return false;
  if (constraints.exchange) return exchange == *constraints.exchange;
  return exchange == Exchange::kSharedMemory || exchange == Exchange::kMessage;
}

Status check_strategy(const WriteFacts& facts, const WritePlan& requested) {
  if (requested.strategy == Strategy::kAuto) return {};
  const StrategyConstraints constraints = constraints_of(requested.strategy);
  const std::string strategy = "the strategy " + std::string(name_of(requested.strategy));
  const bool alone = facts.rank_layout.compute_rank_count() == 1 &&
                     requested.tuning.placement != Placement::kDedicated;
  if (requested.tuning.exchange && !is_allowed(constraints, *requested.tuning.exchange) &&
      !(alone && requested.tuning.exchange == Exchange::kNone)) {
    return invalid_plan("exchange is " + std::string(name_of(*requested.tuning.exchange)) +
                        ", which is not " + strategy + ": leave one of them open");
  }
  if (requested.tuning.transfer_mode &&
      *requested.tuning.transfer_mode != constraints.transfer_mode) {
    return invalid_plan("transfer_mode is " +
                        std::string(name_of(*requested.tuning.transfer_mode)) + ", which is not " +
                        strategy + ": leave one of them open");
  }
  return {};
}

Status check_count(std::string_view field, std::uint32_t value, std::uint32_t needed) {
  if (value == 0 || value == needed) return {};
  return invalid_plan(format_value(field, value) + ", and the strategy has exactly " +
                      std::to_string(needed) + ": leave it open, or choose reduced-blocking");
}

Status check_fixed_counts(const WriteFacts& facts, const WritePlan& requested) {
  const bool serial = requested.strategy == Strategy::kSerial;
  const bool is_fixed = serial || requested.strategy == Strategy::kFilePerProcess;
  const bool by_computing = is_fixed || requested.strategy == Strategy::kCollective;
  if (by_computing && requested.tuning.placement == Placement::kDedicated) {
    return invalid_plan("placement is dedicated, and with " +
                        std::string(name_of(requested.strategy)) +
                        " the compute ranks write: leave it open, or choose reduced-blocking");
  }
  if (!by_computing) return {};
  const std::uint32_t needed = serial ? 1 : facts.rank_layout.compute_rank_count();
  if (Status right = check_count("writers", requested.writers, needed); !right) return right;
  return is_fixed ? check_count("files", requested.files, needed) : Status();
}

Status check_counts(const WriteFacts& facts, const WritePlan& requested) {
  const bool dedicated = requested.tuning.placement == Placement::kDedicated;
  const std::uint32_t ranks =
      dedicated ? facts.rank_layout.io_rank_count() : facts.rank_layout.compute_rank_count();
  if (requested.writers > ranks) {
    return invalid_plan(format_value("writers", requested.writers) + ", and there are " +
                        std::to_string(ranks) + (dedicated ? " I/O ranks" : " compute ranks") +
                        ": write at most as many");
  }
  const std::uint32_t writers = requested.writers == 0 ? ranks : requested.writers;
  if (requested.files > writers) {
    return invalid_plan(format_value("files", requested.files) + ", and there are at most " +
                        std::to_string(writers) + " writers: write at most as many");
  }
  if (requested.tuning.exchange != Exchange::kNone) return {};
  if (dedicated) {
    return invalid_plan(
        "exchange is none, and I/O ranks have no bytes of their own: "
        "leave it open, or make placement in-rank");
  }
  if (writers == ranks) return {};
  return invalid_plan("exchange is none, and " + std::to_string(writers) + " of " +
                      std::to_string(ranks) +
                      " ranks write: leave one of exchange and writers open");
}

}  // namespace

tl::unexpected<Error> invalid_plan(std::string cause) {
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "plan how a dataset is written",
                  .cause = std::move(cause)});
}

Status check_numbers(const WritePlan& requested) {
  const std::array<Number, 8> numbers{
      {{"stripe_count", requested.tuning.stripe_count, kStripeCountLimits},
       {"stripe_bytes", requested.tuning.stripe_bytes, kStripeBytesLimits},
       {"unit_bytes", requested.tuning.unit_bytes, kUnitBytesLimits},
       {"alignment_bytes", requested.tuning.alignment_bytes, kAlignmentBytesLimits},
       {"memory_bytes", requested.memory_bytes, kMemoryBytesLimits},
       {"steps_in_flight", requested.steps_in_flight, kStepsInFlightLimits},
       {"steps_per_group", requested.tuning.steps_per_group, kStepsPerGroupLimits},
       {"retained_steps", requested.retained_steps, kRetainedStepsLimits}}};
  for (const Number& number : numbers) {
    if (Status right = check_number(number); !right) return right;
  }
  for (const auto& [field, value] :
       {std::pair{"stripe_bytes", requested.tuning.stripe_bytes},
        std::pair{"alignment_bytes", requested.tuning.alignment_bytes}}) {
    if (Status right = check_power_of_two(field, value); !right) return right;
  }
  if (requested.codec == Codec::kNone && requested.codec_level != 0) {
    return invalid_plan(format_value("codec_level", requested.codec_level) +
                        ", and there is no codec: make codec zstd, or leave the level open");
  }
  if (Status right = check_number({"codec_level", requested.codec_level, kCodecLevelLimits});
      !right)
    return right;
  const std::int64_t step_timeout_ms = requested.step_timeout.count();
  if (step_timeout_ms < 0) return invalid_plan("step_timeout_ms is negative: write 1 or more");
  const auto step_timeout = static_cast<std::uint64_t>(step_timeout_ms);
  if (Status right = check_number({"step_timeout_ms", step_timeout, kStepTimeoutMsLimits}); !right)
    return right;
  return check_sizes(requested);
}

Status check_shape(const WriteFacts& facts, const WritePlan& requested) {
  if (requested.tuning.placement == Placement::kDedicated &&
      facts.rank_layout.io_rank_count() == 0) {
    return invalid_plan(
        "placement is dedicated, and there are no I/O ranks: create the Runtime with "
        "the same placement (FOREBAY_PLACEMENT=dedicated), or leave it open");
  }
  const std::uint32_t servers = facts.server_count();
  if (servers > 0 && requested.tuning.stripe_count > servers) {
    return invalid_plan(format_value("stripe_count", requested.tuning.stripe_count) +
                        ", and there are " + std::to_string(servers) +
                        " servers: write at most as many");
  }
  if (Status right = check_strategy(facts, requested); !right) return right;
  if (Status right = check_fixed_counts(facts, requested); !right) return right;
  return check_counts(facts, requested);
}

}  // namespace forebay::write
