// SPDX-License-Identifier: Apache-2.0
#include "runtime/dataset_writers.hpp"

#include <chrono>
#include <utility>

#include "write/plan.hpp"

namespace forebay {

Result<std::shared_ptr<write::DatasetWriterCore>> DatasetWriters::open(
    const write::JobCommunicators& ranks, write::OpenRequest request) {
  end_previous(request.path);
  auto core = write::open_dataset(ranks, std::move(request));
  if (!core) return core;
  const std::lock_guard lock(mutex_);
  open_.push_back(*core);
  return core;
}

Status DatasetWriters::join(comm::Communicator& ranks,
                            write::Decision decision,
                            write::OpenRequest request) {
  end_previous(decision);
  const std::string path = decision.path;
  auto agent = write::join_dataset(ranks, std::move(decision), std::move(request));
  if (!agent) return failure(agent.error());
  const std::lock_guard lock(mutex_);
  served_.push_back({path, std::move(*agent)});
  return {};
}

/// Ends an earlier instance of a dataset that was closed and is opened again. Other ranks may still
/// be leaving it.
void DatasetWriters::end_previous(const std::string& path) {
  std::vector<std::shared_ptr<write::DatasetWriterCore>> previous;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& core : open_)
      if (core->path() == path && core->is_closed()) previous.push_back(core);
  }
  for (const auto& core : previous)
    core->shut_down();
  previous.clear();
  // Their memory is reused by the next one.
  const std::lock_guard lock(mutex_);
  std::erase_if(open_, [](const auto& core) { return core->is_closed() && core->has_ended(); });
}

/// All ranks have left a dataset before it is opened again, so its earlier agent here ends soon.
void DatasetWriters::end_previous(const write::Decision& decision) {
  std::vector<ServedDataset> previous;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(served_, [](const ServedDataset& joined) { return joined.agent->has_ended(); });
    for (const ServedDataset& joined : served_)
      if (joined.path == decision.path) previous.push_back(joined);
  }
  for (const ServedDataset& joined : previous)
    joined.agent->stop(std::chrono::steady_clock::now() + write::stall_max(decision.plan));
}

void DatasetWriters::wait_for_served() {
  std::vector<ServedDataset> joined;
  {
    const std::lock_guard lock(mutex_);
    joined = served_;
  }
  for (const ServedDataset& one : joined)
    one.agent->wait_until_ended();
}

void DatasetWriters::stop() noexcept {
  std::vector<std::shared_ptr<write::DatasetWriterCore>> open;
  std::vector<ServedDataset> joined;
  {
    const std::lock_guard lock(mutex_);
    open = std::exchange(open_, {});
    joined = std::exchange(served_, {});
  }
  for (const auto& core : open)
    core->shut_down();
  // An I/O rank that did not serve to the end leaves the other ranks at once.
  for (const ServedDataset& one : joined)
    one.agent->stop(kDoNotBlock);
}

}  // namespace forebay
