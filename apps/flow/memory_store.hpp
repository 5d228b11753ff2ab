// SPDX-License-Identifier: Apache-2.0
// A store that is gone with the process: for tests, and for measuring a run without storage.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "flow/part_store.hpp"

namespace forebay::flow {

/// What stores of all ranks and runs of a process share. Thread-safe.
class MemoryShelf {
 public:
  using Arrays = std::map<ArrayName, StoredArray>;

  /// Adds arrays of one rank to a step that nobody sees yet.
  void add(std::uint64_t step, Arrays arrays);
  /// Makes the step visible, in place of one of that number; once is enough.
  void publish(std::uint64_t step);
  std::vector<std::uint64_t> steps() const;
  /// Null if there is none.
  std::shared_ptr<const Arrays> find(std::uint64_t step) const;

 private:
  mutable std::mutex mutex_;  // guards what follows
  std::map<std::uint64_t, Arrays> being_written_;
  std::map<std::uint64_t, std::shared_ptr<const Arrays>> whole_;
};

/// Both must outlive it.
std::unique_ptr<PartStore> make_memory_store(MemoryShelf& shelf, Team& team);

}  // namespace forebay::flow
