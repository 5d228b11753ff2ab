// SPDX-License-Identifier: Apache-2.0
// How a dataset is opened for writing. The first rank decides (plan, what is there already) and
// makes what is made once; all others are told; then each furnishes its own part: memory, files, an
// agent. What fails on one rank fails on all, and leaves a dataset that was there as it was.
#pragma once

#include <forebay/error.hpp>
#include <forebay/executor.hpp>
#include <forebay/write_plan.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "comm/communicator.hpp"
#include "comm/links.hpp"
#include "stream/device_queues.hpp"
#include "write/dataset_core.hpp"
#include "write/plan.hpp"

namespace forebay::write {

struct OpenRequest {
  std::string path;
  WritePlan wanted;
  WriteFacts facts;         ///< of use on the first rank alone, but for `crew`
  comm::LinkOptions links;  ///< between agents
  stream::DeviceQueues* queues = nullptr;
  Executor* executor = nullptr;
};

/// The ranks of a communicator and where they are; none is given to I/O.
Crew crew_of(const comm::Communicator& ranks);

/// Collective. `ranks` is used until it returns, and not afterwards.
Result<std::shared_ptr<DatasetCore>> open_dataset(comm::Communicator& ranks,
                                                  const OpenRequest& request);

}  // namespace forebay::write
