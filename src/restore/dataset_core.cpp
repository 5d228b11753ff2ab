// SPDX-License-Identifier: Apache-2.0
// The steps of a stored dataset as handles share them, and what became of one that was dropped.
#include <utility>

#include "restore/step_core.hpp"

namespace forebay::restore {

namespace {

std::vector<std::uint64_t> numbers_of(const StepList& list) {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(list.steps.size());
  for (const format::StepEntry& entry : list.steps)
    numbers.push_back(entry.step);
  return numbers;
}

}  // namespace

DatasetCore::DatasetCore(Setup setup)
    : folder_(std::move(setup.folder)),
      steps_(std::move(setup.steps)),
      numbers_(numbers_of(steps_)),
      verification_(setup.options.verification),
      sessions_(std::make_shared<FileSessions>(std::move(setup.open_session),
                                               std::move(setup.options.plan),
                                               *setup.executor,
                                               std::move(setup.turns))) {}

Result<std::shared_ptr<StepCore>> DatasetCore::step(std::uint64_t number) {
  if (const Status here = origin_.check("open a step of", folder_); !here)
    return failure(here.error());
  const format::StepEntry* const entry = steps_.find(number);
  if (entry == nullptr) {
    const std::string newest =
        numbers_.empty() ? "it has none" : "the newest one is " + std::to_string(numbers_.back());
    return failure({.kind = ErrorClass::kNotFound,
                    .operation = "open step " + std::to_string(number) + " of",
                    .path = folder_,
                    .cause = "the dataset has no such step; " + newest});
  }
  const std::lock_guard lock(mutex_);
  if (auto open = open_[number].lock()) return open;
  auto opened = open_step(*entry);
  if (opened) open_[number] = *opened;
  return opened;
}

Result<std::shared_ptr<StepCore>> DatasetCore::open_step(const format::StepEntry& entry) const {
  std::vector<format::StepFile> files = format::load_step_files(folder_, steps_.dataset, entry);
  auto catalog = std::make_shared<const format::StepCatalog>(entry, std::move(files));
  const std::shared_ptr<StepCore> core(
      new StepCore(folder_, std::move(catalog), sessions_, verification_),
      detail::DeleteAtOrigin());
  for (const Error& damage : core->catalog().damages()) {
    const Error error = core->explained(damage);
    // What this process cannot open or hold for now is not lost.
    const bool may_be_there = error.kind() == ErrorClass::kLimit;
    if (error.kind() == ErrorClass::kClosed || may_be_there) return failure(error);
  }
  return core;
}

/// One look at `commits`, however many files are missing.
Error StepCore::explained(const Error& error) const {
  const bool may_be_old = error.kind() == ErrorClass::kDamage ||
                          error.kind() == ErrorClass::kNotFound ||
                          error.kind() == ErrorClass::kShortFile;
  if (!may_be_old) return error;
  const auto now = read_commits(folder_);
  const std::uint64_t step = catalog_->entry().step;
  if (!now || now->state.first_step <= step) return error;
  return Error({.kind = ErrorClass::kClosed,
                .operation = error.operation(),
                .path = error.path(),
                .offset_bytes = error.offset_bytes(),
                .cause = "step " + std::to_string(step) +
                         " was dropped while it was being read, and its files serve others; the "
                         "oldest one now is " +
                         std::to_string(now->state.first_step) + " or later"});
}

}  // namespace forebay::restore
