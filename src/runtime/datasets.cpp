// SPDX-License-Identifier: Apache-2.0
#include "runtime/datasets.hpp"

#include <chrono>
#include <utility>

#include "write/plan.hpp"

namespace forebay {

Result<std::shared_ptr<write::DatasetCore>> Datasets::open(const write::OpenRanks& ranks,
                                                           const write::OpenRequest& request) {
  end_former(request.path);
  auto core = write::open_dataset(ranks, request);
  if (!core) return core;
  const std::lock_guard lock(mutex_);
  open_.push_back(*core);
  return core;
}

Status Datasets::join(comm::Communicator& ranks,
                      write::Decision decision,
                      const write::OpenRequest& request) {
  end_former(decision);
  const std::string path = decision.path;
  auto agent = write::join_dataset(ranks, std::move(decision), request);
  if (!agent) return failure(agent.error());
  const std::lock_guard lock(mutex_);
  joined_.push_back({path, std::move(*agent)});
  return {};
}

/// One that was closed and is opened again: other ranks may still be leaving it.
void Datasets::end_former(const std::string& path) {
  std::vector<std::shared_ptr<write::DatasetCore>> former;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& core : open_)
      if (core->path() == path && core->is_closed()) former.push_back(core);
  }
  for (const auto& core : former)
    core->end();
  former.clear();
  // Their memory is for the next one.
  const std::lock_guard lock(mutex_);
  std::erase_if(open_, [](const auto& core) { return core->is_closed() && core->has_ended(); });
}

/// Of one that is opened again all have left before: its part here is about to end.
void Datasets::end_former(const write::Decision& decision) {
  std::vector<Joined> former;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(joined_, [](const Joined& joined) { return joined.agent->has_ended(); });
    for (const Joined& joined : joined_)
      if (joined.path == decision.path) former.push_back(joined);
  }
  for (const Joined& joined : former)
    joined.agent->stop(std::chrono::steady_clock::now() + write::stall_max(decision.plan));
}

void Datasets::wait_for_joined() {
  std::vector<Joined> joined;
  {
    const std::lock_guard lock(mutex_);
    joined = joined_;
  }
  for (const Joined& one : joined)
    one.agent->wait_for_end();
}

void Datasets::end() noexcept {
  std::vector<std::shared_ptr<write::DatasetCore>> open;
  std::vector<Joined> joined;
  {
    const std::lock_guard lock(mutex_);
    open = std::exchange(open_, {});
    joined = std::exchange(joined_, {});
  }
  for (const auto& core : open)
    core->end();
  // Whoever has not served to the end leaves the others at once.
  for (const Joined& one : joined)
    one.agent->stop(kDoNotBlock);
}

}  // namespace forebay
