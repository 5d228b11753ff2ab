// SPDX-License-Identifier: Apache-2.0
#include "runtime/datasets.hpp"

#include <utility>

namespace forebay {

Result<std::shared_ptr<write::DatasetCore>> Datasets::open(comm::Communicator& ranks,
                                                           const write::OpenRequest& request) {
  end_former(request.path);
  auto core = write::open_dataset(ranks, request);
  if (!core) return core;
  const std::lock_guard lock(mutex_);
  open_.push_back(*core);
  return core;
}

/// One that was closed and is opened again: other ranks may still be leaving it.
void Datasets::end_former(const std::string& path) {
  std::vector<std::shared_ptr<write::DatasetCore>> former;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(open_, [](const auto& core) { return core->is_closed() && core->has_ended(); });
    for (const auto& core : open_)
      if (core->path() == path && core->is_closed()) former.push_back(core);
  }
  for (const auto& core : former)
    core->end();
}

void Datasets::end() noexcept {
  std::vector<std::shared_ptr<write::DatasetCore>> open;
  {
    const std::lock_guard lock(mutex_);
    open = std::exchange(open_, {});
  }
  for (const auto& core : open)
    core->end();
}

}  // namespace forebay
