// SPDX-License-Identifier: Apache-2.0
// Formulas for the storage of a machine: estimates of the cost of a plan without simulation.
// docs/formats/machine.md defines them, and tests compare the StorageModel with them.
#pragma once

#include <cstdint>

#include "model/layout.hpp"
#include "model/machine.hpp"
#include "model/storage_model.hpp"

namespace forebay::model {

/// Time for `bytes` at a rate; 0 MB/s: not limited. 1 MB/s is one byte in a microsecond.
constexpr double transfer_us(double bytes, double mb_per_s) {
  return mb_per_s == 0 ? 0 : bytes / mb_per_s;
}

/// Requests of one size at one server; each completion is followed by the next request at once.
struct Load {
  RequestKind kind = RequestKind::kRead;  ///< or kWrite
  std::uint64_t request_bytes = 1_MiB;
  double in_flight = 1;  ///< at least 1; need not be whole if requests are spread over servers
};

/// Mean time from request to completion, without links.
double response_time_us(const ServerGroup& server, const Load& load);

/// Bandwidth of one server under this load; infinite if nothing limits it.
double rate_mb_per_s(const ServerGroup& server, const Load& load);

/// Upper bound of any load's bandwidth: the sum over servers, or the links of all clients if that
/// is less. Infinite if neither is limited.
double storage_limit_mb_per_s(const Machine& machine, RequestKind kind);

/// Metadata operations per second of the machine, with in_flight of them in flight at each metadata
/// server; infinite if they cost nothing.
double metadata_operations_per_s(const Machine& machine, RequestKind kind, double in_flight);

/// Which request is sent next.
enum class RequestOrder : std::uint8_t {
  kByOffset,  ///< the next one in the file, on any server
  kByServer,  ///< the next one on a server; each server has its share of the requests in flight
};

/// A file that is read or written once, in requests of one size, with a fixed number in flight.
struct TransferPlan {
  RequestKind kind = RequestKind::kRead;  ///< or kWrite
  std::uint64_t bytes = 0;
  std::uint32_t agents = 1;
  std::uint32_t depth = 1;  ///< requests in flight for each agent
  std::uint64_t request_bytes = 1_MiB;
  std::uint32_t clients = 1;  ///< nodes of the agents, each with a link
  Layout layout;
  RequestOrder order = RequestOrder::kByOffset;
  double think_time_us = 0;  ///< from a completion to the request that follows it
};

/// Duration of a transfer. Locks are not counted: plans that follow lock units change none. Exact
/// if requests and stripes divide each other and requests in flight spread evenly over equal
/// servers. Within 2 % for most other plans. Up to 1.6 times too long if many small requests are on
/// few stripes, and a quarter too short if sizes fit badly. simulate_transfer() is exact for all
/// plans.
double transfer_time_us(const Machine& machine, const TransferPlan& plan);

}  // namespace forebay::model
