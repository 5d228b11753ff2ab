// SPDX-License-Identifier: Apache-2.0
#include "flow/thread_team.hpp"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

namespace forebay::flow {

namespace {

/// Leaves a rank that waits for one that has failed.
struct TeamStopped {};

/// Messages from one rank to another, in order.
class Line {
 public:
  void push(std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    messages_.emplace_back(bytes.begin(), bytes.end());
    arrived_.notify_one();
  }
  void pop(std::span<std::byte> into) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return is_stopped_ || !messages_.empty(); });
    if (messages_.empty()) throw TeamStopped();
    if (messages_.front().size() != into.size()) std::terminate();  // the ranks disagree: our bug
    std::ranges::copy(messages_.front(), into.begin());
    messages_.pop_front();
  }
  /// No more messages will come: throws in a rank that waits for one.
  void stop() {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    arrived_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::vector<std::byte>> messages_;  // guarded by mutex_
  bool is_stopped_ = false;                      // guarded by mutex_
};

/// Lines between all ranks; what start() sends and what is gathered do not meet.
struct Room {
  explicit Room(std::uint32_t ranks)
      : size(ranks),
        messages(std::make_unique<Line[]>(std::size_t{ranks} * ranks)),
        gathered(std::make_unique<Line[]>(std::size_t{ranks} * ranks)) {}
  std::size_t place(std::uint32_t from, std::uint32_t to) const {
    return std::size_t{from} * size + to;
  }
  /// Keeps the exception being handled if it is the first, and ends all waits.
  void fail() {
    {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
    for (std::size_t i = 0; i < std::size_t{size} * size; ++i) {
      messages[i].stop();
      gathered[i].stop();
    }
  }

  std::uint32_t size;
  std::unique_ptr<Line[]> messages;
  std::unique_ptr<Line[]> gathered;
  std::mutex mutex;
  std::exception_ptr failure;  // guarded by mutex
};

class ThreadTeam final : public Team {
 public:
  ThreadTeam(Room& room, std::uint32_t rank) : room_(room), rank_(rank) {}
  std::uint32_t rank() const override { return rank_; }
  std::uint32_t size() const override { return room_.size; }

  void start(std::span<const OutgoingMessage> out, std::span<const IncomingMessage> in) override {
    for (const OutgoingMessage& message : out)
      room_.messages[room_.place(rank_, message.to)].push(std::as_bytes(message.values));
    expected_.assign(in.begin(), in.end());
  }

  void finish() override {
    for (const IncomingMessage& message : expected_) {
      Line& line = room_.messages[room_.place(message.from, rank_)];
      line.pop(std::as_writable_bytes(message.values));
    }
    expected_.clear();
  }

  void gather_bytes(std::span<const std::byte> mine,
                    std::span<const std::size_t> sizes,
                    std::span<std::byte> all) override {
    for (std::uint32_t to = 0; to < room_.size; ++to)
      if (to != rank_) room_.gathered[room_.place(rank_, to)].push(mine);
    for (std::uint32_t from = 0; from < room_.size; ++from) {
      const auto into = all.first(sizes[from]);
      if (from == rank_) {
        std::ranges::copy(mine, into.begin());
      } else {
        room_.gathered[room_.place(from, rank_)].pop(into);
      }
      all = all.subspan(sizes[from]);
    }
  }

 private:
  Room& room_;
  std::uint32_t rank_;
  std::vector<IncomingMessage> expected_;
};

}  // namespace

void run_as_threads(std::uint32_t ranks, const std::function<void(Team&)>& work) {
  Room room(ranks);
  const auto play = [&](std::uint32_t rank) {
    try {
      ThreadTeam team(room, rank);
      work(team);
    } catch (...) {
      room.fail();
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (std::uint32_t rank = 1; rank < ranks; ++rank)
        others.emplace_back(play, rank);
    } catch (...) {
      room.fail();  // a thread could not be created
    }
    play(0);
  }
  if (room.failure) std::rethrow_exception(room.failure);
}

}  // namespace forebay::flow
