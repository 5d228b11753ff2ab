// SPDX-License-Identifier: Apache-2.0
// <forebay/charm.hpp> for Charm++: callbacks are CkCallback, messages are those of
// forebay_charm.ci. Include it where ckio.h was included; docs/guides/charm.md shows how to build.
#pragma once

#include <forebay/charm.hpp>

#include <memory>
#include <type_traits>
#include <utility>

#include <charm++.h>
#include <pup_stl.h>

namespace forebay::charm {

using CharmCommand = Command<CkCallback>;
using FileReader = BasicFileReader<CkCallback>;

}  // namespace forebay::charm

#include <forebay_charm.decl.h>

namespace forebay::charm {

inline CProxy_Processes processes;

class FileReadyMsg : public CMessage_FileReadyMsg, public FileReadyFields {};
class SessionReadyMsg : public CMessage_SessionReadyMsg, public SessionReadyFields {};
class ReadCompleteMsg : public CMessage_ReadCompleteMsg, public ReadCompleteFields {};
class ClosedMsg : public CMessage_ClosedMsg, public ClosedFields {};

/// Sets how this process creates its Runtime, for a program that passes ranks or options. Call it
/// in a function that the .ci file declares as `initnode`.
inline RuntimeFactory& runtime_factory() {
  static RuntimeFactory factory = runtime_from_environment;
  return factory;
}

/// The queue of this PE. Never destroyed: agents may post until the process ends.
inline PeQueue& queue_of_pe() {
  static std::vector<PeQueue>* const queues = new std::vector<PeQueue>(CkMyNodeSize());
  return (*queues)[CkMyRank()];
}

/// Polls the queue in each iteration of the PE's scheduler. Charm++ calls it once on each PE.
inline void poll_queue_of_pe() {
  CcdCallOnConditionKeep(
      CcdSCHEDLOOP, [](void* queue) { static_cast<PeQueue*>(queue)->poll(); }, &queue_of_pe());
}

template <>
struct TaskSystemOf<CkCallback> {
  using FileReadyMsg = charm::FileReadyMsg;
  using SessionReadyMsg = charm::SessionReadyMsg;
  using ReadCompleteMsg = charm::ReadCompleteMsg;
  using ClosedMsg = charm::ClosedMsg;

  template <class Message>
  static Message* make(std::size_t data_bytes, std::size_t error_bytes) {
    if constexpr (std::is_same_v<Message, ReadCompleteMsg>)
      return new (static_cast<int>(data_bytes), static_cast<int>(error_bytes)) Message;
    else
      return new (static_cast<int>(error_bytes)) Message;
  }
  template <class Message>
  static void destroy(Message* message) {
    delete message;
  }
  template <class Message>
  static void send(const CkCallback& callback, Message* message) {
    callback.send(message);
  }
  static Process<CkCallback>& process() {
    static Process<CkCallback> instance(runtime_factory());
    return instance;
  }
  static std::size_t process_count() { return static_cast<std::size_t>(CkNumNodes()); }
  static void transmit(std::size_t process, CharmCommand command) {
    processes[static_cast<int>(process)].receive(command);
  }
  static Executor& executor() { return queue_of_pe(); }
  static CthThread current_thread() { return CthSelf(); }
  static void suspend() { CthSuspend(); }
  static void awaken(CthThread thread) { CthAwaken(thread); }
};

class Processes : public CBase_Processes {
 public:
  Processes() = default;
  explicit Processes(CkMigrateMessage* message) : CBase_Processes(message) {}
  void receive(const CharmCommand& command) {
    TaskSystemOf<CkCallback>::process().receive(command);
  }
};

class Start : public CBase_Start {
 public:
  explicit Start(CkArgMsg* message) {
    delete message;
    processes = CProxy_Processes::ckNew();
  }
};

}  // namespace forebay::charm
