// SPDX-License-Identifier: Apache-2.0
#include "flow/memory_store.hpp"

#include <utility>

#include <fmt/format.h>

namespace forebay::flow {

void MemoryStoreState::add(std::uint64_t step, Arrays arrays) {
  const std::lock_guard lock(mutex_);
  pending_[step].merge(arrays);
}

void MemoryStoreState::commit(std::uint64_t step) {
  const std::lock_guard lock(mutex_);
  auto written = pending_.extract(step);
  if (written) committed_[step] = std::make_shared<const Arrays>(std::move(written.mapped()));
}

std::vector<std::uint64_t> MemoryStoreState::steps() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> numbers;
  for (const auto& [step, arrays] : committed_)
    numbers.push_back(step);
  return numbers;
}

std::shared_ptr<const MemoryStoreState::Arrays> MemoryStoreState::find(std::uint64_t step) const {
  const std::lock_guard lock(mutex_);
  const auto found = committed_.find(step);
  return found == committed_.end() ? nullptr : found->second;
}

namespace {

tl::unexpected<Error> not_found(const std::string& what) {
  return failure({.kind = ErrorClass::kNotFound,
                  .operation = "read memory",
                  .cause = fmt::format("{} does not exist", what)});
}

class MemoryStepWriter final : public PartStepWriter {
 public:
  MemoryStepWriter(MemoryStoreState& state, SolverComm& comm, std::uint64_t step)
      : state_(state), comm_(comm), step_(step) {}

  Status put(const ArrayName& name,
             const ArrayShape& shape,
             std::span<const std::byte> bytes) override {
    arrays_[name] = {shape, {bytes.begin(), bytes.end()}};
    return {};
  }

  Status commit() override {
    state_.add(step_, std::move(arrays_));
    comm_.allgather(0U);  // all ranks have added their arrays
    if (comm_.rank() == 0) state_.commit(step_);
    comm_.allgather(0U);  // the step is visible to all ranks
    return {};
  }

 private:
  MemoryStoreState& state_;
  SolverComm& comm_;
  std::uint64_t step_;
  MemoryStoreState::Arrays arrays_;
};

class MemoryStepReader final : public PartStepReader {
 public:
  explicit MemoryStepReader(std::shared_ptr<const MemoryStoreState::Arrays> arrays)
      : arrays_(std::move(arrays)) {}
  Result<StoredArray> get(const ArrayName& name) override {
    const auto found = arrays_->find(name);
    if (found != arrays_->end()) return found->second;
    return not_found(fmt::format("array {} of part {}", name.name, name.part));
  }

 private:
  std::shared_ptr<const MemoryStoreState::Arrays> arrays_;
};

class MemoryStore final : public PartStore {
 public:
  MemoryStore(MemoryStoreState& state, SolverComm& comm)
      : state_(state), comm_(comm), step_order_(state.steps()) {}
  Result<std::unique_ptr<PartStepWriter>> begin_step(std::uint64_t step) override {
    if (const Status begun = step_order_.advance(step); !begun) {
      return failure(begun.error());
    }
    return std::make_unique<MemoryStepWriter>(state_, comm_, step);
  }
  Result<std::unique_ptr<PartStepReader>> open_step(std::uint64_t step) override {
    auto arrays = state_.find(step);
    if (arrays) return std::make_unique<MemoryStepReader>(std::move(arrays));
    return not_found(fmt::format("step {}", step));
  }
  Result<std::vector<std::uint64_t>> steps() override { return state_.steps(); }
  Status wait() override { return {}; }
  std::vector<StepReceipt> receipts() const override { return {}; }
  std::string description() const override { return "memory"; }

 private:
  MemoryStoreState& state_;
  SolverComm& comm_;
  StepOrder step_order_;
};

}  // namespace

std::unique_ptr<PartStore> make_memory_store(MemoryStoreState& state, SolverComm& comm) {
  return std::make_unique<MemoryStore>(state, comm);
}

}  // namespace forebay::flow
