// SPDX-License-Identifier: Apache-2.0
// Access to the RuntimeCore of a Runtime, for tests of what has no public option.
#pragma once

#include <forebay/runtime.hpp>

#include <memory>
#include <string>
#include <utility>

#include "runtime/runtime_core.hpp"
#include "write/plan_chooser.hpp"

namespace forebay {

struct RuntimeAccess {
  /// As Runtime::create_dataset(), with a chooser of plans on the first rank.
  static Result<DatasetWriter> create_dataset(Runtime& runtime,
                                              const std::string& path,
                                              const DatasetOptions& options,
                                              std::shared_ptr<write::PlanChooser> plan_chooser) {
    return runtime.core_->create_dataset(path, options, std::move(plan_chooser))
        .map([](std::shared_ptr<write::DatasetWriterCore> core) {
          return DatasetWriter(std::move(core));
        });
  }
};

}  // namespace forebay
