// SPDX-License-Identifier: Apache-2.0
// What the first rank decides when a dataset is opened for writing (the plan, what is there
// already), with what only it holds (the right to write, the publisher), and how others hear of it.
#pragma once

#include <forebay/error.hpp>
#include <forebay/log.hpp>
#include <forebay/write_plan.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "comm/communicator.hpp"
#include "format/records.hpp"
#include "write/lease.hpp"
#include "write/plan.hpp"
#include "write/publisher.hpp"

namespace forebay::write {

/// What the first rank has found.
struct Found {
  format::DatasetId dataset = {};
  std::uint64_t first_group = 0;
  std::uint64_t newest_step = 0;
  std::uint64_t newest_bytes = 0;  ///< that it takes in its files
  bool has_steps = false;
  std::uint64_t lease = 0;  ///< its nonce
};

struct Decision {
  std::string path;
  WritePlan plan = {};  ///< complete
  Found found = {};
  std::shared_ptr<Publisher> publisher = nullptr;  ///< of the first rank, as is:
  std::unique_ptr<Lease> lease = nullptr;
};

/// Makes what is made once: the folder, the lease, the list of steps; and removes what others left
/// behind. What is damaged in that list is told to `log`, which may be null; kDamage if that has
/// cost a step that is complete in its data files.
Result<Decision> decide(const std::string& path,
                        const WriteFacts& facts,
                        const WritePlan& wanted,
                        LogSink* log = nullptr);

/// For other ranks, without what is the first one's alone; and back.
comm::Bytes bytes_of(const Decision& decision);
Result<Decision> decision_from(std::span<const std::byte> bytes);

}  // namespace forebay::write
