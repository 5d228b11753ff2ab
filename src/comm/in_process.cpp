// SPDX-License-Identifier: Apache-2.0
// Communicators of ranks that share memory. Every collective call is one exchange: all ranks
// contribute bytes, and all receive the contributions of the others.
#include "comm/in_process.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "base/assert.hpp"
#include "base/service_thread.hpp"
#include "comm/job.hpp"
#include "comm/posix_collective_file.hpp"

namespace forebay::comm {

namespace {

using CollectiveCallPtr = std::shared_ptr<CollectiveCall>;

template <class T>
T decode_value(const std::optional<Bytes>& bytes) {
  T value;
  FOREBAY_ASSERT(bytes && bytes->size() == sizeof value);
  std::memcpy(&value, bytes->data(), sizeof value);
  return value;
}

std::uint64_t reduce(Reduction reduction, std::uint64_t a, std::uint64_t b) {
  switch (reduction) {
    case Reduction::kMin:
      return std::min(a, b);
    case Reduction::kMax:
      return std::max(a, b);
    case Reduction::kSum:
      return a + b;
  }
  return a;
}

/// One side of a message whose peer is a thread of this process.
class InProcessOperation final : public MessageOperation {
 public:
  struct OperationContext {
    std::shared_ptr<InProcessJob> job;
    std::shared_ptr<CommunicatorState> state;
    Rank receiver;  ///< of the message; number in this communicator
    Rank peer;      ///< the other side; number in the job
    const char* operation;
  };
  InProcessOperation(OperationContext context, std::shared_ptr<PendingMessage> message)
      : operation_context_(std::move(context)), message_(std::move(message)) {}
  InProcessOperation(const InProcessOperation&) = delete;
  InProcessOperation& operator=(const InProcessOperation&) = delete;
  ~InProcessOperation() override {
    const std::scoped_lock lock(operation_context_.job->mutex);
    operation_context_.state->match_queues[operation_context_.receiver.number].cancel(message_);
  }

  Result<bool> test() override {
    const std::scoped_lock lock(operation_context_.job->mutex);
    if (!is_complete()) return false;
    if (Status outcome = final_status(); !outcome) return failure(outcome.error());
    return true;
  }

  Status wait() override {
    std::unique_lock lock(operation_context_.job->mutex);
    operation_context_.job->changed.wait(lock, [this] { return is_complete(); });
    return final_status();
  }

 private:
  bool is_complete() const {
    return message_->outcome || operation_context_.job->has_left[operation_context_.peer.number];
  }
  Status final_status() const {
    if (message_->outcome) return *message_->outcome;
    return failure(operation_context_.job->departed_error(operation_context_.operation,
                                                          operation_context_.peer));
  }

  OperationContext operation_context_;
  std::shared_ptr<PendingMessage> message_;
};

class InProcessCommunicator final : public Communicator {
 public:
  struct RankContext {
    std::shared_ptr<InProcessJob> job;
    std::shared_ptr<CommunicatorState> state;
    Rank rank;
    std::string name;
    /// By rank of the job: equal for ranks that share a node.
    std::shared_ptr<const std::vector<std::uint64_t>> node_keys;
  };
  explicit InProcessCommunicator(RankContext context) : context_(std::move(context)) {
    std::vector<std::uint64_t> keys;
    for (const Rank member : context_.state->members)
      keys.push_back((*context_.node_keys)[member.number]);
    nodes_ = Nodes(keys);
  }

  Rank rank() const noexcept override { return context_.rank; }
  std::uint32_t size() const noexcept override {
    return static_cast<std::uint32_t>(context_.state->members.size());
  }
  const std::string& name() const noexcept override { return context_.name; }
  const Nodes& nodes() const noexcept override { return nodes_; }
  ThreadSupport thread_support() const noexcept override { return ThreadSupport::kMultiple; }

  Status barrier() override;
  Status broadcast(std::span<std::byte> bytes, Rank root) override;
  Result<std::vector<Bytes>> gather(std::span<const std::byte> bytes, Rank root) override;
  Result<std::vector<Bytes>> all_gather(std::span<const std::byte> bytes) override;
  Result<std::uint64_t> all_reduce(Reduction reduction, std::uint64_t value) override;
  Result<std::shared_ptr<Communicator>> duplicate() override;
  Result<std::shared_ptr<Communicator>> split(SplitBy by) override;
  MessageRequest send(std::span<const std::byte> bytes, Rank to, Tag tag) override;
  MessageRequest receive(std::span<std::byte> into, Rank from, Tag tag) override;
  Result<std::unique_ptr<CollectiveFile>> open_file(const std::string& path,
                                                    const CollectiveOpenOptions& options) override;

 private:
  Result<CollectiveCallPtr> exchange(const char* call, std::span<const std::byte> mine);
  std::optional<Rank> find_departed(const CollectiveCall& collective) const;
  std::shared_ptr<CommunicatorState> split_state_of(CollectiveCall& collective,
                                                    std::uint32_t color);
  Rank job_rank(Rank rank) const { return context_.state->members[rank.number]; }
  InProcessOperation::OperationContext make_operation_context(const char* operation,
                                                              Rank receiver,
                                                              Rank peer) const {
    return {context_.job, context_.state, receiver, job_rank(peer), operation};
  }

  RankContext context_;
  Nodes nodes_;
};

/// A rank of the job that left before it contributed to `collective`, if any.
std::optional<Rank> InProcessCommunicator::find_departed(const CollectiveCall& collective) const {
  for (std::size_t i = 0; i < collective.contributions.size(); ++i) {
    const Rank member = context_.state->members[i];
    if (!collective.contributions[i] && context_.job->has_left[member.number]) return member;
  }
  return std::nullopt;
}

Result<CollectiveCallPtr> InProcessCommunicator::exchange(const char* call,
                                                          std::span<const std::byte> mine) {
  std::unique_lock lock(context_.job->mutex);
  const std::shared_ptr<CollectiveCall> collective = context_.state->current_call;
  if (collective->name == nullptr) collective->name = call;
  FOREBAY_ASSERT(std::strcmp(collective->name, call) ==
                 0);  // all ranks make the same calls in the same order
  if (std::optional<Bytes>& place = collective->contributions[context_.rank.number]; !place) {
    place.emplace(mine.begin(), mine.end());
    --collective->missing_count;
  }
  if (collective->missing_count == 0) {
    context_.state->current_call = std::make_shared<CollectiveCall>(size());
    context_.job->changed.notify_all();
  }
  context_.job->changed.wait(
      lock, [&] { return collective->missing_count == 0 || find_departed(*collective); });
  if (collective->missing_count == 0) return collective;
  return failure(context_.job->departed_error(call, *find_departed(*collective)));
}

Status InProcessCommunicator::barrier() {
  const Result<CollectiveCallPtr> all = exchange("barrier", {});
  return all ? Status() : Status(failure(all.error()));
}

Status InProcessCommunicator::broadcast(std::span<std::byte> bytes, Rank root) {
  if (Status checked = check_rank("broadcast", root); !checked) return checked;
  const auto mine = rank() == root ? std::span<const std::byte>(bytes) : std::span<std::byte>();
  const Result<CollectiveCallPtr> all = exchange("broadcast", mine);
  if (!all) return failure(all.error());
  const Bytes& root_bytes = *(*all)->contributions[root.number];
  FOREBAY_ASSERT(root_bytes.size() == bytes.size());  // the same size on all ranks
  if (rank() != root) std::copy(root_bytes.begin(), root_bytes.end(), bytes.begin());
  return {};
}

Result<std::vector<Bytes>> InProcessCommunicator::gather(std::span<const std::byte> bytes,
                                                         Rank root) {
  if (Status checked = check_rank("gather", root); !checked) return failure(checked.error());
  Result<std::vector<Bytes>> all = all_gather(bytes);
  if (all && rank() != root) all->clear();
  return all;
}

Result<std::vector<Bytes>> InProcessCommunicator::all_gather(std::span<const std::byte> bytes) {
  const Result<CollectiveCallPtr> all = exchange("gather", bytes);
  if (!all) return failure(all.error());
  std::vector<Bytes> gathered;
  for (const std::optional<Bytes>& one : (*all)->contributions)
    gathered.push_back(*one);
  return gathered;
}

Result<std::uint64_t> InProcessCommunicator::all_reduce(Reduction reduction, std::uint64_t value) {
  const Result<CollectiveCallPtr> all = exchange("reduce", std::as_bytes(std::span(&value, 1)));
  if (!all) return failure(all.error());
  const auto& contributions = (*all)->contributions;
  std::uint64_t reduced = decode_value<std::uint64_t>(contributions.front());
  for (std::size_t i = 1; i < contributions.size(); ++i)
    reduced = reduce(reduction, reduced, decode_value<std::uint64_t>(contributions[i]));
  return reduced;
}

Result<std::shared_ptr<Communicator>> InProcessCommunicator::duplicate() {
  return split({.color = 0, .key = rank().number});
}

/// The state of the communicator that a split makes for `color`. The first caller creates it. The
/// caller holds the lock.
std::shared_ptr<CommunicatorState> InProcessCommunicator::split_state_of(CollectiveCall& collective,
                                                                         std::uint32_t color) {
  std::shared_ptr<CommunicatorState>& state = collective.split_states[color];
  if (state != nullptr) return state;
  std::vector<std::pair<std::uint32_t, Rank>> chosen;  // by key, then by old rank
  for (std::uint32_t old = 0; old < size(); ++old) {
    const auto by = decode_value<SplitBy>(collective.contributions[old]);
    if (by.color == color) chosen.emplace_back(by.key, Rank{old});
  }
  std::sort(chosen.begin(), chosen.end());
  std::vector<Rank> members;
  for (const auto& [key, old] : chosen)
    members.push_back(job_rank(old));
  state = std::make_shared<CommunicatorState>(std::move(members));
  return state;
}

Result<std::shared_ptr<Communicator>> InProcessCommunicator::split(SplitBy by) {
  const Result<CollectiveCallPtr> all = exchange("split", std::as_bytes(std::span(&by, 1)));
  if (!all) return failure(all.error());
  const std::scoped_lock lock(context_.job->mutex);
  RankContext context = context_;
  context.state = split_state_of(**all, by.color);
  const std::vector<Rank>& members = context.state->members;
  const auto place = std::find(members.begin(), members.end(), job_rank(rank()));
  context.rank = Rank{static_cast<std::uint32_t>(place - members.begin())};
  return std::make_shared<InProcessCommunicator>(std::move(context));
}

MessageRequest InProcessCommunicator::send(std::span<const std::byte> bytes, Rank to, Tag tag) {
  if (Status checked = check_message("send", to, tag); !checked)
    return MessageRequest(checked.error());
  auto message =
      std::make_shared<PendingMessage>(PendingMessage{.from = rank(), .tag = tag, .bytes = bytes});
  const std::scoped_lock lock(context_.job->mutex);
  context_.state->match_queues[to.number].send(message);
  if (message->outcome) context_.job->changed.notify_all();
  return MessageRequest(std::make_unique<InProcessOperation>(make_operation_context("send", to, to),
                                                             std::move(message)));
}

MessageRequest InProcessCommunicator::receive(std::span<std::byte> into, Rank from, Tag tag) {
  if (Status checked = check_message("receive", from, tag); !checked)
    return MessageRequest(checked.error());
  auto message =
      std::make_shared<PendingMessage>(PendingMessage{.from = from, .tag = tag, .into = into});
  const std::scoped_lock lock(context_.job->mutex);
  context_.state->match_queues[rank().number].receive(message);
  if (message->outcome) context_.job->changed.notify_all();
  return MessageRequest(std::make_unique<InProcessOperation>(
      make_operation_context("receive", rank(), from), std::move(message)));
}

Result<std::unique_ptr<CollectiveFile>> InProcessCommunicator::open_file(
    const std::string& path, const CollectiveOpenOptions& options) {
  Result<std::shared_ptr<Communicator>> own = duplicate();
  if (!own) return failure(own.error());
  return open_posix_file(std::move(*own), path, options);
}

/// Creates a job, without threads, and returns the context of rank 0. The contexts of other ranks
/// are copies with another rank.
InProcessCommunicator::RankContext make_first_context(ThreadRanks ranks, std::string name) {
  std::vector<Rank> members;
  std::vector<std::uint64_t> keys;
  for (std::uint32_t number = 0; number < ranks.count; ++number) {
    members.push_back(Rank{number});
    keys.push_back(ranks.per_node == 0 ? 0 : number / ranks.per_node);
  }
  return {.job = std::make_shared<InProcessJob>(ranks.count),
          .state = std::make_shared<CommunicatorState>(std::move(members)),
          .rank = Rank{0},
          .name = std::move(name),
          .node_keys = std::make_shared<const std::vector<std::uint64_t>>(std::move(keys))};
}

Status run_rank(const RankFunction& code, const std::shared_ptr<Communicator>& ranks) {
  try {
    return code(ranks);
  } catch (const std::exception& thrown) {
    return failure(
        {.kind = ErrorClass::kException, .operation = "run a rank", .cause = thrown.what()});
  } catch (...) {
    return failure({.kind = ErrorClass::kException,
                    .operation = "run a rank",
                    .cause = "it threw an object that is not a std::exception"});
  }
}

}  // namespace

std::shared_ptr<Communicator> self_communicator() {
  return std::make_shared<InProcessCommunicator>(make_first_context({.count = 1}, "solo"));
}

Status run_ranks(ThreadRanks ranks, const RankFunction& code) {
  FOREBAY_ASSERT(ranks.count > 0);
  const InProcessCommunicator::RankContext first = make_first_context(ranks, "threads");
  std::vector<std::thread> threads;
  for (std::uint32_t number = 0; number < ranks.count; ++number) {
    InProcessCommunicator::RankContext context = first;
    context.rank = Rank{number};
    const auto thread_main = [context, &code] {
      const Status outcome = run_rank(code, std::make_shared<InProcessCommunicator>(context));
      context.job->leave(context.rank, outcome);
    };
    Result<std::thread> thread = start_service_thread("forebay-rank", thread_main);
    if (thread) threads.push_back(std::move(*thread));
    if (!thread) first.job->leave(Rank{number}, failure(thread.error()));
  }
  for (std::thread& thread : threads)
    thread.join();
  return first.job->failure ? Status(failure(*first.job->failure)) : Status();
}

}  // namespace forebay::comm
