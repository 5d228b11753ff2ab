// SPDX-License-Identifier: Apache-2.0
// The ranks of a run as the solver needs them: messages that travel while it computes, and numbers
// that all ranks get from all. Two makes: ranks of an MPI job, and threads of one process, so that
// everything above is tested, and runs, without MPI.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace forebay::flow {

struct OutgoingMessage {
  std::uint32_t to = 0;
  std::span<const double> values;
};

struct IncomingMessage {
  std::uint32_t from = 0;
  std::span<double> values;
};

/// One rank's view. All calls by one thread of the rank. Messages do not fail: where they do, the
/// job is over, as MPI's usual handler of errors sees to.
class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  virtual ~Team() = default;

  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t size() const = 0;

  /// Begins to send and to receive, at most one message for each rank and direction, none to
  /// itself; the other side must expect as many values. The memory is the team's until finish(),
  /// which must come before the next start(). Does not wait for other ranks.
  virtual void start(std::span<const OutgoingMessage> out, std::span<const IncomingMessage> in) = 0;
  /// Comes back when all messages of start() have arrived and have been sent.
  virtual void finish() = 0;

  /// Collective, also between start() and finish(): the bytes of all ranks, those of rank 0 first,
  /// on all ranks. All name the same sizes, one for each rank; `all` is as long as their sum.
  virtual void gather_bytes(std::span<const std::byte> mine,
                            std::span<const std::size_t> sizes,
                            std::span<std::byte> all) = 0;

  /// Collective: the failure of the lowest rank that has one, on all ranks the same.
  Status agree(const Status& mine);

  /// Collective: one value of each rank.
  template <class Value>
    requires std::is_trivially_copyable_v<Value>
  std::vector<Value> gather(const Value& mine) {
    std::vector<Value> all(size());
    gather_bytes(std::as_bytes(std::span(&mine, 1)),
                 std::vector<std::size_t>(size(), sizeof(Value)),
                 std::as_writable_bytes(std::span(all)));
    return all;
  }
};

}  // namespace forebay::flow
