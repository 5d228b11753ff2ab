// SPDX-License-Identifier: Apache-2.0
// The steps of a stored dataset as handles share them, and the Errors of a dropped step.
#include <utility>

#include "restore/step_reader_core.hpp"

namespace forebay::restore {

namespace {

std::vector<std::uint64_t> step_numbers_of(const StepList& list) {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(list.steps.size());
  for (const format::StepEntry& entry : list.steps)
    numbers.push_back(entry.step);
  return numbers;
}

}  // namespace

DatasetReaderCore::DatasetReaderCore(Setup setup)
    : directory_(std::move(setup.directory)),
      steps_(std::move(setup.steps)),
      step_numbers_(step_numbers_of(steps_)),
      verification_(setup.options.verification),
      sessions_(std::make_shared<FileSessionCache>(std::move(setup.open_session),
                                                   std::move(setup.options.plan),
                                                   *setup.executor,
                                                   std::move(setup.limiter))) {}

Result<std::shared_ptr<StepReaderCore>> DatasetReaderCore::step(std::uint64_t number) {
  if (const Status process_status = origin_.check("open a step of", directory_); !process_status)
    return failure(process_status.error());
  const format::StepEntry* const entry = steps_.find(number);
  if (entry == nullptr) {
    const std::string newest = step_numbers_.empty()
                                   ? "it has no steps"
                                   : "its newest step is " + std::to_string(step_numbers_.back());
    return failure({.kind = ErrorClass::kNotFound,
                    .operation = "open step " + std::to_string(number) + " of",
                    .path = directory_,
                    .cause = "the dataset has no such step; " + newest});
  }
  const std::lock_guard lock(mutex_);
  if (auto open = open_steps_[number].lock()) return open;
  auto opened = open_step(*entry);
  if (opened) open_steps_[number] = *opened;
  return opened;
}

Result<std::shared_ptr<StepReaderCore>> DatasetReaderCore::open_step(
    const format::StepEntry& entry) const {
  std::vector<format::StepFile> files = format::load_step_files(directory_, steps_.dataset, entry);
  auto catalog = std::make_shared<const format::StepCatalog>(entry, std::move(files));
  const std::shared_ptr<StepReaderCore> core(
      new StepReaderCore(directory_, std::move(catalog), sessions_, pieces_, verification_),
      detail::OriginDeleter());
  for (const Error& damage : core->catalog().errors()) {
    const Error error = core->translate_error(damage);
    // Files that this process cannot open or hold at present are not lost.
    const bool may_be_there = error.kind() == ErrorClass::kLimit;
    if (error.kind() == ErrorClass::kClosed || may_be_there) return failure(error);
  }
  return core;
}

/// Reads `commits` once, for any number of missing files.
Error StepReaderCore::translate_error(const Error& error) const {
  const bool may_be_old = error.kind() == ErrorClass::kDamage ||
                          error.kind() == ErrorClass::kNotFound ||
                          error.kind() == ErrorClass::kShortFile;
  if (!may_be_old) return error;
  const auto now = read_commits(directory_);
  const std::uint64_t step = catalog_->entry().step;
  if (!now || now->state.first_step <= step) return error;
  return Error({.kind = ErrorClass::kClosed,
                .operation = error.operation(),
                .path = error.path(),
                .offset_bytes = error.offset_bytes(),
                .cause = "step " + std::to_string(step) +
                         " was dropped while it was being read, and its files are reused; the "
                         "oldest step is now " +
                         std::to_string(now->state.first_step) + " or later"});
}

}  // namespace forebay::restore
