// SPDX-License-Identifier: Apache-2.0
// open_dataset(): opens a dataset for writing. The first rank determines the plan and the state of
// the dataset (decide()). All others receive this Decision; if I/O ranks write, all I/O ranks are
// notified. Then each rank creates its memory, files and agent. A failure on one rank is a failure
// on all, and leaves the steps of an existing dataset unchanged.
#pragma once

#include <forebay/dataset_writer.hpp>
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
#include "write/tuning_request.hpp"

namespace forebay::write {

struct OpenRequest {
  std::string path;
  ExistingDataset existing = ExistingDataset::kFail;  ///< of the first rank
  WritePlan requested_plan;
  WriteFacts facts;         ///< used only on the first rank, except `rank_layout`
  TuningRequest tuning;     ///< of the first rank
  comm::LinkOptions links;  ///< between agents
  Result<stream::DeviceQueues*> queues = nullptr;
  Executor* executor = nullptr;
  std::shared_ptr<shm::BufferAllocator> buffers = nullptr;  ///< lends memory to staging
  LogSink* log = nullptr;                                   ///< null: no logging
  /// Of the first rank: chooses the plans of coming steps. Null there: all have the plan at
  /// opening. Ignored on other ranks.
  std::shared_ptr<PlanChooser> plan_chooser = nullptr;
};

/// The communicators of a job.
struct JobCommunicators {
  comm::Communicator& compute;
  comm::Communicator& all_ranks;  ///< compute ranks first; without I/O ranks the same as `compute`
  Result<IoRankNotifier*> io_rank_notifier = nullptr;  ///< for I/O ranks, if there are any
};

/// The ranks of a communicator by node. The first `computing` ranks are compute ranks.
RankLayout rank_layout_of(const comm::Communicator& ranks, std::uint32_t computing);

/// Collective over the compute ranks. `ranks` is not used after the call.
Result<std::shared_ptr<DatasetWriterCore>> open_dataset(const JobCommunicators& ranks,
                                                        OpenRequest request);

/// As open_dataset(), on an I/O rank that was notified. Returns its agent, which needs no further
/// calls. Values of `decision` replace those of `request`. Collective over all ranks, compute ranks
/// first.
Result<std::shared_ptr<DatasetAgent>> join_dataset(comm::Communicator& ranks,
                                                   Decision decision,
                                                   OpenRequest request);

}  // namespace forebay::write
