// SPDX-License-Identifier: Apache-2.0
// Loads on an emulated storage: clients that ask again as soon as they are answered. Each load can
// be put on a mount, with threads and a clock, and on the storage model, with invented time: both
// give answer times of the same requests, which is what emufs is validated by.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "model/machine.hpp"

namespace forebay::bench::emufs {

enum class LoadKind : std::uint8_t { kRead, kWrite, kCreate, kStat, kUnlink };

constexpr bool is_on_names(LoadKind kind) {
  return kind != LoadKind::kRead && kind != LoadKind::kWrite;
}

/// Which bytes the clients of a file ask for.
enum class Pattern : std::uint8_t {
  kStripes,  ///< each client reads on, from a stripe further than the one before it
  kBlocks,   ///< its own block each time, beside that of the client before it
};

struct LoadSpec {
  std::string name;
  LoadKind kind = LoadKind::kRead;
  Pattern pattern = Pattern::kStripes;
  std::uint32_t clients = 1;          ///< threads, each with one request under way
  std::uint32_t nodes = 1;            ///< mounts that the threads are spread over, in turns
  std::uint64_t request_bytes = 0;    ///< of kRead and kWrite
  std::uint32_t files = 1;            ///< that the clients share evenly
  std::uint32_t requests_each = 100;  ///< of each client
};

/// Seconds of each answer, in no order.
using AnswerTimes = std::vector<double>;

/// The load on mounts, one for each node, past the page cache. Blocks until it is over.
Result<AnswerTimes> put_on_mounts(const LoadSpec& load,
                                  const model::Machine& machine,
                                  const std::vector<std::filesystem::path>& mount_points);

/// The same load on the model of the machine.
AnswerTimes put_on_model(const LoadSpec& load, const model::Machine& machine);

}  // namespace forebay::bench::emufs
