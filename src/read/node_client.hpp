// SPDX-License-Identifier: Apache-2.0
// NodeClient: a process's line to the agent of its node. It opens sessions there, carries words
// both ways, and notices when the agent is gone.
#pragma once

#include <forebay/error.hpp>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>

#include "read/guest.hpp"
#include "read/node_messages.hpp"
#include "shm/channel.hpp"
#include "shm/doorbell.hpp"
#include "shm/duplex.hpp"
#include "shm/shared_memory.hpp"

namespace forebay::read {

/// What a client and the agent share besides books and windows: two rings, and a flag that says
/// that the client gave memory back.
struct NodeLine {
  static std::size_t bytes() noexcept;
  static std::span<std::byte> to_agent(const shm::SharedMemory& memory) noexcept;
  static std::span<std::byte> to_client(const shm::SharedMemory& memory) noexcept;
  static std::atomic<std::uint32_t>& released(const shm::SharedMemory& memory) noexcept;
};

class NodeClient final : public AgentLine, public std::enable_shared_from_this<NodeClient> {
 public:
  /// Connects to the agent of that name, and starts a thread that sleeps until there are words.
  /// Fails with kNotFound, kPermission, kLimit; kUnsupported if it is of another version.
  static Result<std::shared_ptr<NodeClient>> connect(const std::string& name, Deadline deadline);
  ~NodeClient() override;

  /// Opens a session at the agent, or joins it there. Blocks until the agent has answered or is
  /// gone (kClosed). `seat.plan` is what the user wants; the session has the complete one.
  Result<std::shared_ptr<SessionGuest>> open(SessionGuest::Seat seat);

  /// Ends the thread. Sessions that are open are on their own from now on.
  void stop();

  void send(const ClientWord& word) noexcept override;
  void tell_of_released_memory() noexcept override;
  void leave(const SessionHandle& session) noexcept override;

  /// The memory of both rings.
  const shm::SharedMemory& line_for_tests() const noexcept { return memory_; }

 private:
  using Words = shm::Duplex<ClientWord, AgentWord>;
  /// A session that is being opened.
  struct Opening {
    std::optional<NodeMessage> answer;
    std::vector<Descriptor> descriptors;
  };

  NodeClient(shm::Channel channel,
             shm::SharedMemory memory,
             shm::Doorbell own,
             Words words,
             std::uint32_t row);
  Status start();
  Status request(const SessionGuest::Seat& seat);
  Result<Opening> wait_for_answer(const SessionHandle& handle);
  void run();
  bool receive_messages();
  bool pass_words();
  bool take_words();
  Status take_message(shm::Message message);
  void refuse_openings(const Error& why);
  Status tell_guests(const AgentWord& word);
  void abandon(const Error& why);

  const shm::SharedMemory memory_;
  const shm::Doorbell own_;
  const std::uint32_t row_;
  shm::Doorbell stop_;
  Descriptor agent_process_;  // empty where the system has no such descriptors
  std::thread thread_;

  std::mutex channel_mutex_;  // for sending
  shm::Channel channel_;

  std::mutex mutex_;  // guards all that follows
  std::condition_variable answered_;
  Words words_;
  std::deque<ClientWord> backlog_;  // words that had no room
  std::optional<Error> gone_;
  std::unordered_map<std::uint64_t, Opening> openings_;
  std::unordered_map<std::uint64_t, std::weak_ptr<SessionGuest>> guests_;
};

}  // namespace forebay::read
