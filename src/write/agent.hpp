// SPDX-License-Identifier: Apache-2.0
// Agent: the thread that does everything for one rank's part of one dataset, in whatever roles the
// plan gives it: it waits in one place for letters of other agents, for what the application hands
// over, and for storage, so that nothing in a role needs a lock.
#pragma once

#include <forebay/error.hpp>
#include <forebay/write_plan.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "comm/post_office.hpp"
#include "format/records.hpp"
#include "write/agent_context.hpp"
#include "write/coordinator.hpp"
#include "write/file_owner.hpp"
#include "write/inbox.hpp"
#include "write/lease.hpp"
#include "write/member.hpp"
#include "write/staging.hpp"
#include "write/writer.hpp"

namespace forebay::write {

class Agent final : public AgentContext, private comm::PostReceiver {
 public:
  struct Setup {
    std::string path;
    WritePlan plan;  ///< complete
    Crew crew;
    format::DatasetId dataset;
    std::uint64_t first_group = 0;
    std::uint64_t newest_bytes = 0;  ///< of the newest step, in all its files; 0: not known
    std::unique_ptr<comm::PostOffice> office;
    std::unique_ptr<FileLane> lane;
    std::unique_ptr<RoundCaller> round_caller;  ///< null unless the schedule is collective
    std::shared_ptr<Staging> receiving;         ///< null where nothing comes in messages
    std::shared_ptr<Publisher> publisher;       ///< of the coordinating rank; else null
    std::unique_ptr<Lease> lease;               ///< the same; given back when all have left
    Member::OnResolved on_resolved;             ///< of use on a rank that computes
  };
  /// Starts the thread.
  static Result<std::shared_ptr<Agent>> start(Setup setup);
  /// As stop().
  ~Agent() override;

  /// Any thread, on a rank that computes; what the application does to its own steps. False after
  /// the end: it is not done.
  bool tell(std::function<void(Member&)> what, Inbox::Haste haste = Inbox::Haste::kNow);
  /// Any thread: the application waits for memory, which should come back without other ranks.
  void press(const StepName& step);
  /// For the application to say when it copies: meanwhile no pieces are hashed but those whose
  /// bytes nobody else holds any more.
  static std::shared_ptr<std::atomic<bool>> is_copying(const std::shared_ptr<Agent>& agent) {
    return {agent, &agent->is_copying_};
  }
  /// Any thread: waits until all ranks have left, or the deadline; then ends the thread. What is
  /// not resolved by then gets an Error.
  void stop(Deadline deadline) noexcept;
  /// Any thread: returns when nobody needs this rank any more.
  void wait_for_end() const;
  bool has_ended() const;
  std::uint64_t written_bytes() const noexcept { return written_bytes_.load(); }

  // As the roles see it.
  comm::Rank rank() const noexcept override { return rank_; }
  std::uint32_t rank_count() const noexcept override { return rank_count_; }
  const std::string& path() const noexcept override { return setup_.path; }
  const WritePlan& plan() const noexcept override { return setup_.plan; }
  const Routes& routes() const noexcept override { return routes_; }
  bool is_on_my_node(comm::Rank other) const noexcept override;
  FileLane& lane() noexcept override { return *setup_.lane; }
  RoundCaller* round_caller() noexcept override { return setup_.round_caller.get(); }
  void send(comm::Rank to, LetterKind kind, const Words& words, comm::Bytes payload) override;
  void send_in_place(comm::Rank to,
                     LetterKind kind,
                     const Words& words,
                     std::span<const std::byte> payload,
                     comm::Link::OnSent on_sent) override;
  void post(std::function<void()> work) override;

 private:
  explicit Agent(Setup setup, shm::Doorbell bell);
  void run();
  Inbox::Bell wait(TimePoint now);
  void end();

  bool is_over() const noexcept;
  bool may_hash() const noexcept;

  Result<std::span<std::byte>> place(comm::Rank from, const comm::LinkHeader& header) override;
  Status received(comm::Rank from,
                  const comm::LinkHeader& header,
                  std::span<const std::byte> payload) override;
  void lost(comm::Rank peer, const Error& why) override;
  Status check(comm::Rank from, const comm::LinkHeader& header) const;
  Status check_file(LetterKind kind, comm::Rank from, std::uint64_t file) const;
  // An Error of class kDamage ends all there is to the sender.
  using Payload = std::span<const std::byte>;
  Status read(comm::Rank from, const comm::LinkHeader& header, Payload payload);
  Status read_as_writer(comm::Rank from, const comm::LinkHeader& header, Payload payload);
  Status read_go(const comm::LinkHeader& header, Payload payload);
  Status read_as_owner(comm::Rank from, const comm::LinkHeader& header, Payload payload);
  Status read_as_coordinator(comm::Rank from, const comm::LinkHeader& header, Payload payload);
  Status read_sealed(comm::Rank from, const comm::LinkHeader& header, Payload payload);
  Status read_missing(comm::Rank from, const comm::LinkHeader& header, Payload payload);
  Status read_gone(comm::Rank from, const comm::LinkHeader& header, Payload payload);
  Status read_pruned(const comm::LinkHeader& header);
  Status read_resolved(const comm::LinkHeader& header, Payload payload);
  void lose_coordinator(const Error& why);

  Setup setup_;
  std::unique_ptr<comm::PostOffice> office_;  ///< null after the end
  const comm::Rank rank_;
  const std::uint32_t rank_count_;
  Inbox inbox_;
  const Routes routes_;
  std::optional<Member> member_;  ///< absent on a rank that is given to I/O
  Writer writer_;
  std::optional<FileOwner> owner_;
  std::optional<Coordinator> coordinator_;
  std::map<std::uint32_t, comm::Bytes> payloads_;  ///< that arrive, by rank
  bool all_left_ = false;
  bool is_orphan_ = false;  ///< the coordinator is gone: nobody says any more that all have left
  std::atomic<std::uint64_t> written_bytes_{0};
  std::atomic<bool> is_copying_{false};

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool is_stopping_ = false;  ///< leave at once
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace forebay::write
