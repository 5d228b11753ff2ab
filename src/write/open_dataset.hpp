// SPDX-License-Identifier: Apache-2.0
// How a dataset is opened for writing. The first rank decides (plan, state of the dataset) and does
// what is done once. All others receive the decision; I/O ranks that are to write are notified.
// Then each rank sets up its own part: memory, files, an agent. A failure on one rank is a failure
// on all, and leaves an existing dataset unchanged.
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
#include "write/dataset_agent.hpp"
#include "write/dataset_writer_core.hpp"
#include "write/decision.hpp"
#include "write/io_rank_notifier.hpp"
#include "write/plan.hpp"

namespace forebay::write {

struct OpenRequest {
  std::string path;
  WritePlan requested_plan;
  WriteFacts facts;         ///< used on the first rank alone, except `rank_layout`
  comm::LinkOptions links;  ///< between agents
  Result<stream::DeviceQueues*> queues = nullptr;
  Executor* executor = nullptr;
  std::shared_ptr<shm::BufferAllocator> buffers = nullptr;  ///< lends memory to staging
  LogSink* log = nullptr;                                   ///< null: no logging
};

/// The communicators of a job.
struct JobCommunicators {
  comm::Communicator& compute;
  comm::Communicator& all_ranks;  ///< compute ranks first; the same as `compute` if there are no
                                  ///< others
  Result<IoRankNotifier*> io_rank_notifier = nullptr;  ///< for I/O ranks, if there are any
};

/// The ranks of a communicator by node; the first `computing` of them compute.
RankLayout rank_layout_of(const comm::Communicator& ranks, std::uint32_t computing);

/// Collective over the compute ranks. `ranks` is not used after the call.
Result<std::shared_ptr<DatasetWriterCore>> open_dataset(const JobCommunicators& ranks,
                                                        const OpenRequest& request);

/// As open_dataset(), on an I/O rank that was notified. Returns its part, which runs without
/// further calls. Values that `decision` has are not read from `request`. Collective over all
/// ranks, compute ranks first.
Result<std::shared_ptr<DatasetAgent>> join_dataset(comm::Communicator& ranks,
                                                   Decision decision,
                                                   const OpenRequest& request);

}  // namespace forebay::write
