// SPDX-License-Identifier: Apache-2.0
// Code shared by all implementations: agreement on an outcome, and checks of arguments.
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

Status Communicator::agree(const Status& outcome) {
  const std::uint64_t failing = outcome ? size() : rank().number;
  const Result<std::uint64_t> first = all_reduce(Reduction::kMin, failing);
  if (!first) return failure(first.error());
  if (*first == size()) return {};
  const Rank first_failed{static_cast<std::uint32_t>(*first)};

  Bytes encoded;
  if (rank() == first_failed) encoded = to_bytes(with_rank(outcome.error(), first_failed.number));
  std::uint64_t encoded_bytes = encoded.size();
  if (Status sent = broadcast(std::as_writable_bytes(std::span(&encoded_bytes, 1)), first_failed);
      !sent) {
    return sent;
  }
  encoded.resize(encoded_bytes);
  if (Status sent = broadcast(encoded, first_failed); !sent) return sent;
  const Result<Error> error = error_from_bytes(encoded);
  return failure(error ? *error : error.error());
}

Status Communicator::check_rank(std::string_view operation, Rank rank) const {
  if (rank.number < size()) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = std::string(operation),
                  .cause = "rank " + std::to_string(rank.number) +
                           " is not below the number of ranks, " + std::to_string(size())});
}

Status Communicator::check_message(std::string_view operation, Rank peer, Tag tag) const {
  if (tag.number <= kTagMax) return check_rank(operation, peer);
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = std::string(operation),
                  .cause = "tag " + std::to_string(tag.number) + " exceeds the largest tag, " +
                           std::to_string(kTagMax)});
}

}  // namespace forebay::comm
