// SPDX-License-Identifier: Apache-2.0
#include "flow/thread_solver_comm.hpp"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

namespace forebay::flow {

namespace {

/// Ends the wait of a rank for a rank that has failed.
struct CommAborted {};

/// Messages from one rank to another, in order.
class MessageQueue {
 public:
  void push(std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    messages_.emplace_back(bytes.begin(), bytes.end());
    arrived_.notify_one();
  }
  void pop(std::span<std::byte> into) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return is_aborted_ || !messages_.empty(); });
    if (messages_.empty()) throw CommAborted();
    if (messages_.front().size() != into.size()) std::terminate();  // the ranks disagree: a bug
    std::ranges::copy(messages_.front(), into.begin());
    messages_.pop_front();
  }
  /// No more messages will arrive: pop() throws if it would wait.
  void abort() {
    const std::lock_guard lock(mutex_);
    is_aborted_ = true;
    arrived_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::vector<std::byte>> messages_;  // guarded by mutex_
  bool is_aborted_ = false;                      // guarded by mutex_
};

/// Message queues between all ranks, separate for exchanges and for gathering.
struct ThreadWorld {
  explicit ThreadWorld(std::uint32_t ranks)
      : size(ranks),
        messages(std::make_unique<MessageQueue[]>(std::size_t{ranks} * ranks)),
        gathered(std::make_unique<MessageQueue[]>(std::size_t{ranks} * ranks)) {}
  std::size_t queue_index(std::uint32_t from, std::uint32_t to) const {
    return std::size_t{from} * size + to;
  }
  /// Keeps the exception being handled if it is the first, and ends all waits.
  void fail() {
    {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
    for (std::size_t i = 0; i < std::size_t{size} * size; ++i) {
      messages[i].abort();
      gathered[i].abort();
    }
  }

  std::uint32_t size;
  std::unique_ptr<MessageQueue[]> messages;
  std::unique_ptr<MessageQueue[]> gathered;
  std::mutex mutex;
  std::exception_ptr failure;  // guarded by mutex
};

class ThreadSolverComm final : public SolverComm {
 public:
  ThreadSolverComm(ThreadWorld& world, std::uint32_t rank) : world_(world), rank_(rank) {}
  std::uint32_t rank() const override { return rank_; }
  std::uint32_t size() const override { return world_.size; }

  void start_exchange(std::span<const OutgoingMessage> out,
                      std::span<const IncomingMessage> in) override {
    for (const OutgoingMessage& message : out)
      world_.messages[world_.queue_index(rank_, message.to)].push(std::as_bytes(message.values));
    expected_.assign(in.begin(), in.end());
  }

  void finish_exchange() override {
    for (const IncomingMessage& message : expected_) {
      MessageQueue& queue = world_.messages[world_.queue_index(message.from, rank_)];
      queue.pop(std::as_writable_bytes(message.values));
    }
    expected_.clear();
  }

  void allgatherv(std::span<const std::byte> local,
                  std::span<const std::size_t> sizes,
                  std::span<std::byte> gathered) override {
    for (std::uint32_t to = 0; to < world_.size; ++to)
      if (to != rank_) world_.gathered[world_.queue_index(rank_, to)].push(local);
    for (std::uint32_t from = 0; from < world_.size; ++from) {
      const auto into = gathered.first(sizes[from]);
      if (from == rank_) {
        std::ranges::copy(local, into.begin());
      } else {
        world_.gathered[world_.queue_index(from, rank_)].pop(into);
      }
      gathered = gathered.subspan(sizes[from]);
    }
  }

 private:
  ThreadWorld& world_;
  std::uint32_t rank_;
  std::vector<IncomingMessage> expected_;
};

}  // namespace

void run_thread_ranks(std::uint32_t ranks, const std::function<void(SolverComm&)>& work) {
  ThreadWorld world(ranks);
  const auto run_rank = [&](std::uint32_t rank) {
    try {
      ThreadSolverComm comm(world, rank);
      work(comm);
    } catch (...) {
      world.fail();
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (std::uint32_t rank = 1; rank < ranks; ++rank)
        others.emplace_back(run_rank, rank);
    } catch (...) {
      world.fail();  // a thread could not be created
    }
    run_rank(0);
  }
  if (world.failure) std::rethrow_exception(world.failure);
}

}  // namespace forebay::flow
