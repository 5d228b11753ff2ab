// SPDX-License-Identifier: Apache-2.0
// What is the same for all makes: how ranks agree on an outcome, and the checks of arguments.
#include "comm/communicator.hpp"

#include "comm/error_bytes.hpp"

namespace forebay::comm {

std::string_view name_of(ThreadSupport support) noexcept {
  switch (support) {
    case ThreadSupport::kSingle:
      return "single";
    case ThreadSupport::kFunneled:
      return "funneled";
    case ThreadSupport::kSerialized:
      return "serialized";
    case ThreadSupport::kMultiple:
      return "multiple";
  }
  return "unknown";
}

Status Communicator::agree(const Status& mine) {
  const std::uint64_t failing = mine ? size() : rank().number;
  const Result<std::uint64_t> first = all_reduce(Reduction::kMin, failing);
  if (!first) return failure(first.error());
  if (*first == size()) return {};
  const Rank teller{static_cast<std::uint32_t>(*first)};

  Bytes told;
  if (rank() == teller) told = to_bytes(on_rank(mine.error(), teller.number));
  std::uint64_t told_bytes = told.size();
  if (Status sent = broadcast(std::as_writable_bytes(std::span(&told_bytes, 1)), teller); !sent) {
    return sent;
  }
  told.resize(told_bytes);
  if (Status sent = broadcast(told, teller); !sent) return sent;
  const Result<Error> error = error_from(told);
  return failure(error ? *error : error.error());
}

Status Communicator::check_rank(std::string_view operation, Rank rank) const {
  if (rank.number < size()) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = std::string(operation),
                  .cause = "there is no rank " + std::to_string(rank.number) + " among " +
                           std::to_string(size())});
}

Status Communicator::check_message(std::string_view operation, Rank peer, Tag tag) const {
  if (tag.number <= kTagMax) return check_rank(operation, peer);
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = std::string(operation),
                  .cause = "tag " + std::to_string(tag.number) + " is above the largest, " +
                           std::to_string(kTagMax)});
}

}  // namespace forebay::comm
