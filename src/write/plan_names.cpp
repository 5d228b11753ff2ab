// SPDX-License-Identifier: Apache-2.0
// The names of a plan's enumerators, each once: TOML files and FOREBAY_PLAN take what name_of()
// returns.
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

std::string_view name_of(Exchange exchange) noexcept {
  return name_in(write::kExchangeNames, exchange);
}

std::string_view name_of(TransferMode transfer_mode) noexcept {
  return name_in(write::kTransferModeNames, transfer_mode);
}

std::string_view name_of(StagingFullPolicy staging_full_policy) noexcept {
  return name_in(write::kStagingFullPolicyNames, staging_full_policy);
}

std::string_view name_of(Codec codec) noexcept { return name_in(write::kCodecNames, codec); }

std::string_view name_of(ChecksumStage checksum_stage) noexcept {
  return name_in(write::kChecksumStageNames, checksum_stage);
}

Result<Strategy> parse_strategy(std::string_view name) {
  if (const auto strategy = write::parse_enum<Strategy>(name, write::kStrategyNames))
    return *strategy;
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "choose a write strategy",
                  .cause = "\"" + std::string(name) + "\" is none of " +
                           write::join_names(write::kStrategyNames)});
}

WritePlan plan_of(Strategy strategy) {
  WritePlan plan{.strategy = strategy};
  switch (strategy) {
    case Strategy::kAuto:
      break;
    case Strategy::kSerial:
      plan.writers = 1;
      plan.files = 1;
      plan.tuning.transfer_mode = TransferMode::kIndependent;
      break;
    case Strategy::kFilePerProcess:
      plan.tuning.exchange = Exchange::kNone;
      plan.tuning.transfer_mode = TransferMode::kIndependent;
      break;
    case Strategy::kBaton:
      plan.tuning.transfer_mode = TransferMode::kBaton;
      break;
    case Strategy::kCollective:
      plan.tuning.transfer_mode = TransferMode::kCollective;
      break;
    case Strategy::kReducedBlocking:
      plan.tuning.transfer_mode = TransferMode::kIndependent;
      break;
    case Strategy::kBrigade:
      plan.tuning.exchange = Exchange::kBrigade;
      plan.tuning.transfer_mode = TransferMode::kIndependent;
      break;
    case Strategy::kGather:
      plan.tuning.exchange = Exchange::kGather;
      plan.tuning.transfer_mode = TransferMode::kIndependent;
      break;
  }
  return plan;
}

}  // namespace forebay
