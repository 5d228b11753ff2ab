// SPDX-License-Identifier: Apache-2.0
// NamedFunctions: the functions of a program that yield coming reads, by name, so that the process
// of a node's agent can run them for other processes.
#pragma once

#include <forebay/log.hpp>
#include <forebay/session.hpp>

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "push/pre_execution.hpp"
#include "read/node_server.hpp"

namespace forebay::push {

/// Any thread.
class NamedFunctions {
 public:
  /// `log`, which may be null, receives faults of functions that run for clients.
  explicit NamedFunctions(LogSink* log) : log_(log) {}
  ~NamedFunctions() { stop(); }
  NamedFunctions(const NamedFunctions&) = delete;
  NamedFunctions& operator=(const NamedFunctions&) = delete;

  /// Fails with kExists if there is one of that name.
  Status add(std::string name, NextReadFactory factory);
  /// The function that the named factory makes at its first call, from copies of the arguments. Its
  /// handle of the session does not keep it open. Fails with kNotFound.
  Result<NextRead> make(const std::string& name,
                        std::shared_ptr<read::SessionCore> session,
                        std::span<const std::byte> argument);

  /// On the node's agent: runs a function for a client, and pushes into the window of its node. It
  /// ends with the returned listener. Fails with kLimit while too many that have ended so have not
  /// returned: each keeps threads.
  Result<read::NodeServer::ReadListener> start(read::NodeServer::FunctionCall call);
  /// Waits for functions that clients have started, at most a second. After the agent has ended.
  void stop();

 private:
  struct Run;
  std::size_t drop_ended();
  void retire(detail::OriginPointer<PreExecution> run);

  LogSink* const log_;
  std::mutex mutex_;  ///< guards the members below
  std::unordered_map<std::string, NextReadFactory> factories_;
  std::list<detail::OriginPointer<PreExecution>> retired_;  ///< may not have returned yet
};

}  // namespace forebay::push
