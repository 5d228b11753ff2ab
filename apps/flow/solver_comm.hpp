// SPDX-License-Identifier: Apache-2.0
// Communication of the solver's ranks: messages that are sent during computation, and gathering of
// values on all ranks. Implemented by ranks of an MPI job, and by threads of one process, so that
// the solver can be tested and run without MPI.
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

/// The communicator of one rank; one thread of the rank makes all calls. Messages do not fail: an
/// MPI error ends the job, as the default error handler of MPI does.
class SolverComm {
 public:
  SolverComm() = default;
  SolverComm(const SolverComm&) = delete;
  SolverComm& operator=(const SolverComm&) = delete;
  virtual ~SolverComm() = default;

  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t size() const = 0;

  /// Starts to send and to receive, without waiting for other ranks. At most one message for each
  /// rank and direction, none to the own rank. The receiver must expect the same number of values.
  /// The implementation uses the memory until finish_exchange(), which must precede the next
  /// start_exchange().
  virtual void start_exchange(std::span<const OutgoingMessage> out,
                              std::span<const IncomingMessage> in) = 0;
  /// Returns when all messages of start_exchange() have been sent and received.
  virtual void finish_exchange() = 0;

  /// Collective, also between start_exchange() and finish_exchange(). Gathers the bytes of all
  /// ranks, in order of ranks, on all ranks. All pass the same sizes, one for each rank; the length
  /// of `gathered` is their sum.
  virtual void allgatherv(std::span<const std::byte> local,
                          std::span<const std::size_t> sizes,
                          std::span<std::byte> gathered) = 0;

  /// Collective: the failure of the lowest rank that has one, the same on all ranks.
  Status agree(const Status& local);

  /// Collective: one value of each rank.
  template <class Value>
    requires std::is_trivially_copyable_v<Value>
  std::vector<Value> allgather(const Value& local) {
    std::vector<Value> values(size());
    allgatherv(std::as_bytes(std::span(&local, 1)), std::vector<std::size_t>(size(), sizeof(Value)),
               std::as_writable_bytes(std::span(values)));
    return values;
  }
};

}  // namespace forebay::flow
