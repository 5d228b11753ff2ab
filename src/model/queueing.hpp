// SPDX-License-Identifier: Apache-2.0
// What the storage of a machine gives, as formulas: the answer to "what should this plan cost"
// without an event. They are those of docs/formats/machine.md, and tests hold the StorageModel to
// them.
#pragma once

#include <cstdint>

#include "model/layout.hpp"
#include "model/machine.hpp"
#include "model/storage_model.hpp"

namespace forebay::model {

/// Requests of one size at one server: as soon as one is answered, the next is there.
struct Load {
  RequestKind kind = RequestKind::kRead;  ///< or kWrite
  std::uint64_t request_bytes = 1_MiB;
  double in_flight = 1;  ///< at least 1; a share of what is spread over servers need not be whole
};

/// The mean time from asking to the answer, links aside.
double answer_time_us(const ServerGroup& server, const Load& load);

/// What one server delivers under this load; infinite if nothing limits it.
double rate_mb_per_s(const ServerGroup& server, const Load& load);

/// What no load gets more of: the sum of the servers' bandwidths, or of the links of all clients if
/// that is less. Infinite if neither limits.
double storage_limit_mb_per_s(const Machine& machine, RequestKind kind);

/// Operations on names that the machine does in a second, in_flight of them under way on each
/// metadata server; infinite if they cost nothing.
double name_operations_per_s(const Machine& machine, RequestKind kind, double in_flight);

/// What is asked for next.
enum class AskingOrder : std::uint8_t {
  kOfFile,    ///< what follows in the file, whichever server has it
  kByServer,  ///< what is next on a server: each has its share of the requests under way
};

/// A file that is read or written once, in requests of one size, so many of them under way.
struct TransferPlan {
  RequestKind kind = RequestKind::kRead;  ///< or kWrite
  std::uint64_t bytes = 0;
  std::uint32_t agents = 1;
  std::uint32_t depth = 1;  ///< requests under way for each agent
  std::uint64_t request_bytes = 1_MiB;
  std::uint32_t clients = 1;  ///< nodes that the agents are on, each with its link
  Layout layout;
  AskingOrder order = AskingOrder::kOfFile;
  double turnaround_us = 0;  ///< from an answer to the request that follows it
};

/// How long that takes; locks are not counted: a plan that follows units of locks changes none.
/// Exact where requests and stripes divide each other and requests under way spread evenly over
/// equal servers, and within 2 % for most other plans. Where many small requests lie on few stripes
/// it may be 1.6 times too long, where sizes fit badly a quarter too short; the exact answer for
/// all plans is played_transfer_time().
double transfer_time_us(const Machine& machine, const TransferPlan& plan);

}  // namespace forebay::model
