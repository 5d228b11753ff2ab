// SPDX-License-Identifier: Apache-2.0
// A store in memory, lost when the process ends: for tests, and to measure a run without storage.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "flow/part_store.hpp"

namespace forebay::flow {

/// State shared by the stores of all ranks and runs of a process. Thread-safe.
class MemoryStoreState {
 public:
  using Arrays = std::map<ArrayName, StoredArray>;

  /// Adds arrays of one rank to a step that is not visible yet.
  void add(std::uint64_t step, Arrays arrays);
  /// Makes the step visible, and replaces a step with this number. One call for all ranks is
  /// enough.
  void commit(std::uint64_t step);
  std::vector<std::uint64_t> steps() const;
  /// Null if the step does not exist.
  std::shared_ptr<const Arrays> find(std::uint64_t step) const;

 private:
  mutable std::mutex mutex_;  // guards the members below
  std::map<std::uint64_t, Arrays> pending_;
  std::map<std::uint64_t, std::shared_ptr<const Arrays>> committed_;
};

/// Both arguments must outlive the store.
std::unique_ptr<PartStore> make_memory_store(MemoryStoreState& state, SolverComm& comm);

}  // namespace forebay::flow
