// SPDX-License-Identifier: Apache-2.0
// DatasetAgent: the event loop of one rank for one dataset, on a thread, with the roles that the
// plan assigns to the rank. One poll() waits for messages of other agents, tasks of the application
// and completions of storage. The state of all roles belongs to this thread, so none needs a lock.
// Roles pass blocking and long work (publication, building an index) to a BlockingExecutor.
#pragma once

#include <forebay/error.hpp>
#include <forebay/log.hpp>
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

#include "comm/message_transport.hpp"
#include "format/records.hpp"
#include "write/agent_context.hpp"
#include "write/agent_task_queue.hpp"
#include "write/aggregator.hpp"
#include "write/commit_coordinator.hpp"
#include "write/file_owner.hpp"
#include "write/lease.hpp"
#include "write/plan_chooser.hpp"
#include "write/staging_pool.hpp"
#include "write/step_producer.hpp"

namespace forebay::write {

class DatasetAgent final : public AgentContext, private comm::MessageHandler {
 public:
  /// Receives the schedule each time that it changes, and the group before which steps may begin:
  /// its decided_end(), or all groups once the coordinator is lost.
  using OnPlansDecided = std::function<void(const PlanSchedule&, std::uint64_t begin_end)>;
  struct Setup {
    std::string path;
    WritePlan plan;  ///< at opening; complete
    PlanChanges plan_changes = PlanChanges::kNever;
    RankLayout rank_layout;  ///< of the ranks that have the dataset open
    format::DatasetId dataset;
    std::uint64_t first_group = 0;
    std::uint64_t newest_bytes = 0;  ///< of the newest step, in all its files; 0: unknown
    std::unique_ptr<comm::MessageTransport> transport;
    std::unique_ptr<AsyncFileWriter> file_writer;
    std::unique_ptr<CollectiveIoThread>
        collective_io_thread;                      ///< null unless the transfer mode is collective
    std::shared_ptr<StagingPool> receive_staging;  ///< null if no other rank sends bytes here
    std::shared_ptr<PlanChooser> plan_chooser;     ///< of the coordinating rank; else null
    std::shared_ptr<CommitLog> commit_log;         ///< of the coordinating rank; else null
    std::unique_ptr<Lease> lease;                  ///< the same; released when the agent ends
    StepProducer::OnResolved on_resolved;          ///< on compute ranks only
    OnPlansDecided on_plans_decided;               ///< the same
    LogSink* log = nullptr;                        ///< null: no logging
  };
  /// Starts the thread.
  static Result<std::shared_ptr<DatasetAgent>> start(Setup setup);
  /// As stop() with a deadline that has passed.
  ~DatasetAgent() override;

  /// Any thread, on a compute rank: runs `what` on the agent's thread, for actions of the
  /// application on its own steps. Returns false if the agent has ended; `what` is then dropped.
  bool post_to_producer(
      std::function<void(StepProducer&)> what,
      AgentTaskQueue::WakePolicy wake_policy = AgentTaskQueue::WakePolicy::kImmediate);
  /// Any thread: the application waits for memory, which the agent should free without other ranks.
  void request_memory(const StepId& step);
  /// A flag that the application sets while it copies. Meanwhile the agent hashes only pieces whose
  /// bytes no other rank and no write uses any more. The pointer shares ownership of the agent.
  static std::shared_ptr<std::atomic<bool>> copying_flag(
      const std::shared_ptr<DatasetAgent>& agent) {
    return {agent, &agent->is_copying_};
  }
  /// Any thread: waits until all ranks have left, or until the deadline. Then ends the thread,
  /// which first waits for transfers in progress. Steps that are not resolved by then fail with
  /// kClosed.
  void stop(TimePoint deadline) noexcept;
  /// Any thread: blocks until the agent has ended.
  void wait_until_ended() const;
  bool has_ended() const;
  std::uint64_t written_bytes() const noexcept { return written_bytes_.load(); }

  // AgentContext, as the roles use it.
  comm::Rank rank() const noexcept override { return rank_; }
  std::uint32_t rank_count() const noexcept override { return rank_count_; }
  const std::string& path() const noexcept override { return setup_.path; }
  const PlanSchedule& plans() const noexcept override { return plans_; }
  bool is_same_node(comm::Rank other) const noexcept override;
  AsyncFileWriter& file_writer() noexcept override { return *setup_.file_writer; }
  CollectiveIoThread* collective_io_thread() noexcept override {
    return setup_.collective_io_thread.get();
  }
  void send(comm::Rank to, MessageKind kind, const Words& words, comm::Bytes payload) override;
  void send_in_place(comm::Rank to,
                     MessageKind kind,
                     const Words& words,
                     std::span<const std::byte> payload,
                     comm::Link::OnSent on_sent) override;
  void post(std::function<void()> work) override;

 private:
  explicit DatasetAgent(Setup setup, shm::Doorbell wakeup);
  void run();
  AgentTaskQueue::Wakeup wait(TimePoint now);
  void shut_down();

  bool is_finished() const noexcept;
  bool should_hash() const noexcept;

  Result<std::span<std::byte>> payload_buffer(comm::Rank from,
                                              const comm::LinkHeader& header) override;
  Status handle_message(comm::Rank from,
                        const comm::LinkHeader& header,
                        std::span<const std::byte> payload) override;
  void handle_peer_lost(comm::Rank peer, const Error& why) override;
  Status check(comm::Rank from, const comm::LinkHeader& header) const;
  Status check_file(comm::Rank from, const comm::LinkHeader& header, std::uint64_t file) const;
  bool is_early(const comm::LinkHeader& header) const;
  void keep_early_message(comm::Rank from, const comm::LinkHeader& header, comm::Bytes payload);
  void dispatch_early_messages();
  // If one of the following fails with kDamage, the connection to the sender ends.
  using Payload = std::span<const std::byte>;
  Status dispatch(comm::Rank from, const comm::LinkHeader& header, Payload payload);
  Status dispatch_to_aggregator(comm::Rank from, const comm::LinkHeader& header, Payload payload);
  Status handle_collective_start(const comm::LinkHeader& header, Payload payload);
  Status dispatch_to_file_owner(comm::Rank from, const comm::LinkHeader& header, Payload payload);
  Status dispatch_to_coordinator(comm::Rank from, const comm::LinkHeader& header, Payload payload);
  Status handle_file_durable(comm::Rank from, const comm::LinkHeader& header, Payload payload);
  Status handle_missing_ranks(comm::Rank from, const comm::LinkHeader& header, Payload payload);
  Status handle_rank_lost(comm::Rank from, const comm::LinkHeader& header, Payload payload);
  Status handle_recycle_file(const comm::LinkHeader& header);
  Status handle_step_outcome(const comm::LinkHeader& header, Payload payload);
  Status handle_plan_changes(const std::vector<PlanChange>& changes, std::uint64_t decided_end);
  void handle_coordinator_lost(const Error& why);

  Setup setup_;
  std::unique_ptr<comm::MessageTransport> transport_;  ///< null after the end
  const comm::Rank rank_;
  const std::uint32_t rank_count_;
  AgentTaskQueue tasks_;
  PlanSchedule plans_;
  std::uint64_t announced_end_;  ///< plans_.decided_end() as roles and application received it
  std::optional<StepProducer> producer_;  ///< absent on an I/O rank
  Aggregator aggregator_;
  std::optional<FileOwner> file_owner_;
  std::optional<CommitCoordinator> coordinator_;
  std::map<std::uint32_t, comm::Bytes> payloads_;  ///< being received, by rank
  struct EarlyMessage {
    comm::Rank from;
    comm::LinkHeader header;
    comm::Bytes payload;
  };
  /// Messages about groups whose plans the sender has received, and this rank has not.
  std::vector<EarlyMessage> early_messages_;
  bool has_all_left_ = false;
  bool has_lost_coordinator_ = false;  ///< no kAllLeft will arrive, because the coordinator is lost
  std::atomic<std::uint64_t> written_bytes_{0};
  std::atomic<bool> is_copying_{false};

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool is_stopping_ = false;  ///< the loop ends at its next pass
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace forebay::write
