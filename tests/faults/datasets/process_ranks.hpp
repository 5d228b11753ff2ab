// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes, without MPI, which would end all of them when one is killed. They test
// how other ranks detect the loss. Simple and slow: each collective call is an exchange through the
// first rank of the group, over sockets that were created before the processes.
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
  /// Code of each process; its exit code is the returned value.
  using Code = std::function<int(const std::shared_ptr<comm::Communicator>&)>;

  /// Starts `count` processes, with `per_node` of them on each node.
  ProcessRanks(std::uint32_t count, std::uint32_t per_node, const Code& code);

  void kill(std::uint32_t rank) { children_.at(rank).kill(); }
  /// Stops the process until resume(). Others receive no notification.
  void stop(std::uint32_t rank) { children_.at(rank).send(SIGSTOP); }
  void resume(std::uint32_t rank) { children_.at(rank).send(SIGCONT); }
  /// The exit code of a process; no value if a signal has ended it, or after a minute.
  std::optional<int> result(std::uint32_t rank) { return children_.at(rank).exit_code(); }

 private:
  std::vector<shm::ChildProcess> children_;
};

}  // namespace forebay::faults
