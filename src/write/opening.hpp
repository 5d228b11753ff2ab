// SPDX-License-Identifier: Apache-2.0
// How a dataset is opened for writing. The first rank decides (plan, what is there already) and
// makes what is made once; all others are told; where ranks given to I/O are to write, they are
// called; then each furnishes its own part: memory, files, an agent. What fails on one rank fails
// on all, and leaves a dataset that was there as it was.
#pragma once

#include <forebay/error.hpp>
#include <forebay/executor.hpp>
#include <forebay/log.hpp>
#include <forebay/write_plan.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "comm/communicator.hpp"
#include "comm/links.hpp"
#include "stream/device_queues.hpp"
#include "write/agent.hpp"
#include "write/dataset_core.hpp"
#include "write/decision.hpp"
#include "write/plan.hpp"
#include "write/summons.hpp"

namespace forebay::write {

struct OpenRequest {
  std::string path;
  WritePlan wanted;
  WriteFacts facts;         ///< of use on the first rank alone, but for `crew`
  comm::LinkOptions links;  ///< between agents
  Result<stream::DeviceQueues*> queues = nullptr;
  Executor* executor = nullptr;
  std::shared_ptr<shm::BufferSource> buffers = nullptr;  ///< lends staging its memory
  LogSink* log = nullptr;                                ///< null: nobody listens
};

/// Ranks as a job has them.
struct OpenRanks {
  comm::Communicator& computing;
  comm::Communicator& all;  ///< those that compute first; the same, if there are no others
  Result<Summons*> summons = nullptr;  ///< for the others, if there are any
};

/// The ranks of a communicator and where they are; so many compute, and come first.
Crew crew_of(const comm::Communicator& ranks, std::uint32_t computing);

/// Collective, by the ranks that compute. `ranks` is used until it returns, and not afterwards.
Result<std::shared_ptr<DatasetCore>> open_dataset(const OpenRanks& ranks,
                                                  const OpenRequest& request);

/// The same on a rank given to I/O that was called: its part, which needs nobody to look after it.
/// What `decision` has is not read from `request`. Collective, by all, those that compute first.
Result<std::shared_ptr<Agent>> join_dataset(comm::Communicator& ranks,
                                            Decision decision,
                                            const OpenRequest& request);

}  // namespace forebay::write
