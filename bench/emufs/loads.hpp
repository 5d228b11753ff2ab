// SPDX-License-Identifier: Apache-2.0
// Closed-loop loads on an emulated storage. Each load runs on a mount, with threads and real time,
// and on the storage model, with simulated time. Both give response times of the same requests,
// which validate emufs.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "model/machine.hpp"
#include "model/storage_model.hpp"

namespace forebay::bench::emufs {

/// kRead, kWrite, or of names: kCreate, kStat, kUnlink.
using LoadKind = model::RequestKind;

/// The offsets that the clients of a file request.
enum class AccessPattern : std::uint8_t {
  kStripes,  ///< each client reads in order, starting one stripe after the previous client
  kBlocks,   ///< always the same block, next to that of the previous client
};

struct LoadSpec {
  std::string name;
  LoadKind kind = LoadKind::kRead;
  AccessPattern pattern = AccessPattern::kStripes;
  std::uint32_t clients = 1;                ///< threads, each with one request in flight
  std::uint32_t nodes = 1;                  ///< mounts over which threads are spread, round robin
  std::uint64_t request_bytes = 0;          ///< of kRead and kWrite
  std::uint32_t files = 1;                  ///< shared evenly by the clients
  std::uint32_t requests_per_client = 100;  ///< of each client
};

/// Seconds of each response, in no order.
using ResponseTimes = std::vector<double>;

/// Runs the load on mounts, one for each node, past the page cache. Blocks until it ends.
/// Throws an Error.
ResponseTimes run_on_mounts(const LoadSpec& load,
                            const model::Machine& machine,
                            const std::vector<std::filesystem::path>& mount_points);

/// Runs the same load on the model of the machine.
ResponseTimes run_on_model(const LoadSpec& load, const model::Machine& machine);

}  // namespace forebay::bench::emufs
