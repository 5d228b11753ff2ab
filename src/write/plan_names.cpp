// SPDX-License-Identifier: Apache-2.0
// The words of a plan, each once: what name_of() says is what TOML files and FOREBAY_PLAN take.
#include "write/plan_names.hpp"

#include <array>

namespace forebay {

namespace {

template <class Enum, std::size_t count>
std::string_view name_in(const std::array<std::string_view, count>& names, Enum value) noexcept {
  return names[static_cast<std::size_t>(value)];
}

}  // namespace

std::string_view name_of(Strategy strategy) noexcept {
  return name_in(write::kStrategyNames, strategy);
}

std::string_view name_of(HandOff hand_off) noexcept {
  return name_in(write::kHandOffNames, hand_off);
}

std::string_view name_of(Schedule schedule) noexcept {
  return name_in(write::kScheduleNames, schedule);
}

std::string_view name_of(WhenFull when_full) noexcept {
  return name_in(write::kWhenFullNames, when_full);
}

std::string_view name_of(Codec codec) noexcept { return name_in(write::kCodecNames, codec); }

std::string_view name_of(ChecksumBy checksum_by) noexcept {
  return name_in(write::kChecksumByNames, checksum_by);
}

Result<Strategy> strategy_named(std::string_view name) {
  if (const auto strategy = write::named<Strategy>(name, write::kStrategyNames)) return *strategy;
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "choose a strategy of writing",
                  .cause = "\"" + std::string(name) + "\" is none of " +
                           write::list_of(write::kStrategyNames)});
}

WritePlan plan_of(Strategy strategy) {
  WritePlan plan{.strategy = strategy};
  switch (strategy) {
    case Strategy::kAuto:
      break;
    case Strategy::kSerial:
      plan.writers = 1;
      plan.files = 1;
      plan.schedule = Schedule::kIndependent;
      break;
    case Strategy::kFilePerProcess:
      plan.hand_off = HandOff::kNone;
      plan.schedule = Schedule::kIndependent;
      break;
    case Strategy::kBaton:
      plan.schedule = Schedule::kBaton;
      break;
    case Strategy::kCollective:
      plan.schedule = Schedule::kCollective;
      break;
    case Strategy::kReducedBlocking:
      plan.schedule = Schedule::kIndependent;
      break;
    case Strategy::kBrigade:
      plan.hand_off = HandOff::kBrigade;
      plan.schedule = Schedule::kIndependent;
      break;
    case Strategy::kGather:
      plan.hand_off = HandOff::kGather;
      plan.schedule = Schedule::kIndependent;
      break;
  }
  return plan;
}

}  // namespace forebay
