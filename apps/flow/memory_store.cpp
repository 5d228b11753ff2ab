// SPDX-License-Identifier: Apache-2.0
#include "flow/memory_store.hpp"

#include <utility>

#include <fmt/format.h>

namespace forebay::flow {

void MemoryShelf::add(std::uint64_t step, Arrays arrays) {
  const std::lock_guard lock(mutex_);
  being_written_[step].merge(arrays);
}

void MemoryShelf::publish(std::uint64_t step) {
  const std::lock_guard lock(mutex_);
  auto written = being_written_.extract(step);
  if (written) whole_[step] = std::make_shared<const Arrays>(std::move(written.mapped()));
}

std::vector<std::uint64_t> MemoryShelf::steps() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> numbers;
  for (const auto& [step, arrays] : whole_)
    numbers.push_back(step);
  return numbers;
}

std::shared_ptr<const MemoryShelf::Arrays> MemoryShelf::find(std::uint64_t step) const {
  const std::lock_guard lock(mutex_);
  const auto found = whole_.find(step);
  return found == whole_.end() ? nullptr : found->second;
}

namespace {

tl::unexpected<Error> not_found(const std::string& what) {
  return failure({.kind = ErrorClass::kNotFound,
                  .operation = "read memory",
                  .cause = fmt::format("there is no {}", what)});
}

class MemoryWriter final : public StepWriter {
 public:
  MemoryWriter(MemoryShelf& shelf, Team& team, std::uint64_t step)
      : shelf_(shelf), team_(team), step_(step) {}

  Status put(const ArrayName& name,
             const ArrayShape& shape,
             std::span<const std::byte> bytes) override {
    arrays_[name] = {shape, {bytes.begin(), bytes.end()}};
    return {};
  }

  Status commit() override {
    shelf_.add(step_, std::move(arrays_));
    team_.gather(0U);  // all have added
    if (team_.rank() == 0) shelf_.publish(step_);
    team_.gather(0U);  // it is visible to all
    return {};
  }

 private:
  MemoryShelf& shelf_;
  Team& team_;
  std::uint64_t step_;
  MemoryShelf::Arrays arrays_;
};

class MemoryReader final : public StepReader {
 public:
  explicit MemoryReader(std::shared_ptr<const MemoryShelf::Arrays> arrays)
      : arrays_(std::move(arrays)) {}
  Result<StoredArray> get(const ArrayName& name) override {
    const auto found = arrays_->find(name);
    if (found != arrays_->end()) return found->second;
    return not_found(fmt::format("array {} of part {}", name.name, name.part));
  }

 private:
  std::shared_ptr<const MemoryShelf::Arrays> arrays_;
};

class MemoryStore final : public PartStore {
 public:
  MemoryStore(MemoryShelf& shelf, Team& team)
      : shelf_(shelf), team_(team), numbers_(shelf.steps()) {}
  Result<std::unique_ptr<StepWriter>> begin_step(std::uint64_t step) override {
    if (const Status begun = numbers_.begin(step); !begun) {
      return failure(begun.error());
    }
    return std::make_unique<MemoryWriter>(shelf_, team_, step);
  }
  Result<std::unique_ptr<StepReader>> open_step(std::uint64_t step) override {
    auto arrays = shelf_.find(step);
    if (arrays) return std::make_unique<MemoryReader>(std::move(arrays));
    return not_found(fmt::format("step {}", step));
  }
  Result<std::vector<std::uint64_t>> steps() override { return shelf_.steps(); }
  Status wait() override { return {}; }
  std::vector<StepReceipt> receipts() const override { return {}; }
  std::string description() const override { return "memory"; }

 private:
  MemoryShelf& shelf_;
  Team& team_;
  RisingSteps numbers_;
};

}  // namespace

std::unique_ptr<PartStore> make_memory_store(MemoryShelf& shelf, Team& team) {
  return std::make_unique<MemoryStore>(shelf, team);
}

}  // namespace forebay::flow
