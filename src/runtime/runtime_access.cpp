// SPDX-License-Identifier: Apache-2.0
#include "runtime/runtime_access.hpp"

#include <tuple>

#include "comm/ranks_access.hpp"
#include "write/dataset_writer_core.hpp"

namespace forebay {

Result<DatasetWriter> RuntimeAccess::create_dataset(Runtime& runtime,
                                                    const std::string& path,
                                                    const Result<DatasetOptions>& options) {
  if (const Status role_status = runtime.core_->check_role("create a dataset"); !role_status)
    return failure(with_location(role_status.error(), path));
  return runtime.core_->create_dataset(path, options)
      .map([](std::shared_ptr<write::DatasetWriterCore> core) {
        return DatasetWriter(std::move(core));
      });
}

Status RuntimeAccess::agree(const Ranks& ranks, const Status& mine) {
  const auto& communicator = comm::ranks_communicator(ranks);
  if (!communicator) return failure(communicator.error());
  return (*communicator)->size() == 1 ? mine : (*communicator)->agree(mine);
}

void RuntimeAccess::fail(StepWriter& step, const Error& why) {
  if (step.core_) std::ignore = step.core_->fail(why);
}

}  // namespace forebay
