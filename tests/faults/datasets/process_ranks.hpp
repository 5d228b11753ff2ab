// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes, without MPI, which would end them all when one is killed: for tests of
// what the others find out. Slow and easily right: each collective call is an exchange through the
// first rank of the group, over sockets that were there before the processes.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "shm/testing.hpp"

namespace forebay::faults {

class ProcessRanks {
 public:
  /// What each process runs; it ends with what this returns.
  using Code = std::function<int(const std::shared_ptr<comm::Communicator>&)>;

  /// So many processes, with `per_node` of them on each node.
  ProcessRanks(std::uint32_t count, std::uint32_t per_node, const Code& code);

  void kill(std::uint32_t rank) { children_.at(rank).kill(); }
  /// It does nothing until it is resumed, and others see nothing of that.
  void stop(std::uint32_t rank) { children_.at(rank).send(SIGSTOP); }
  void resume(std::uint32_t rank) { children_.at(rank).send(SIGCONT); }
  /// What a process returned; nothing if a signal has ended it, or it has not ended in a minute.
  std::optional<int> result(std::uint32_t rank) { return children_.at(rank).result(); }

 private:
  std::vector<shm::Child> children_;
};

}  // namespace forebay::faults
