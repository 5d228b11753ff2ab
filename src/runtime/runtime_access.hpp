// SPDX-License-Identifier: Apache-2.0
// Access to the inside of a Runtime: for the bindings, which check arguments before they call it,
// and for tests of what has no public option.
#pragma once

#include <forebay/buffer.hpp>
#include <forebay/detail/export.hpp>
#include <forebay/runtime.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "runtime/runtime_core.hpp"
#include "write/plan_chooser.hpp"

namespace forebay {

/// The Buffer of a handle during an adoption. Its destructor returns what was not adopted.
class Adoption {
 public:
  Adoption(Buffer& owner, std::size_t size_bytes)
      : owner_(owner), data_(adopt(std::move(owner), size_bytes)) {}
  ~Adoption() { owner_ = std::move(data_).take(); }
  Adoption(const Adoption&) = delete;
  Adoption& operator=(const Adoption&) = delete;

  AdoptedBuffer&& data() noexcept { return std::move(data_); }

 private:
  Buffer& owner_;
  AdoptedBuffer data_;
};

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
  /// As Runtime::create_dataset(). A rank whose options are an Error makes the call, too: all ranks
  /// get the Error.
  FOREBAY_EXPORT static Result<DatasetWriter> create_dataset(Runtime& runtime,
                                                             const std::string& path,
                                                             const Result<DatasetOptions>& options);
  /// Collective. Success if `mine` is success on all ranks; else all get the Error of the lowest
  /// rank that has one.
  FOREBAY_EXPORT static Status agree(const Ranks& ranks, const Status& mine);
  /// Fails the step, as a put() that fails: for a block or an attribute that was refused before.
  FOREBAY_EXPORT static void fail(StepWriter& step, const Error& why);
};

}  // namespace forebay
