// SPDX-License-Identifier: Apache-2.0
// The Communicator of ranks that share memory. Every collective call is one exchange: all bring
// bytes, and all see what the others brought.
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

using Brought = std::shared_ptr<Round>;

template <class T>
T value_in(const std::optional<Bytes>& bytes) {
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

/// A side of a message whose peer is a thread of this process.
class LetterWork final : public TransferWork {
 public:
  struct Route {
    std::shared_ptr<Job> job;
    std::shared_ptr<Group> group;
    Rank box;   ///< the receiver
    Rank peer;  ///< the other side, as a rank of the job
    const char* operation;
  };
  LetterWork(Route route, std::shared_ptr<Letter> letter)
      : route_(std::move(route)), letter_(std::move(letter)) {}
  LetterWork(const LetterWork&) = delete;
  LetterWork& operator=(const LetterWork&) = delete;
  ~LetterWork() override {
    const std::scoped_lock lock(route_.job->mutex);
    route_.group->boxes[route_.box.number].take_back(letter_);
  }

  Result<bool> test() override {
    const std::scoped_lock lock(route_.job->mutex);
    if (!is_over()) return false;
    if (Status outcome = how_it_ended(); !outcome) return failure(outcome.error());
    return true;
  }

  Status wait() override {
    std::unique_lock lock(route_.job->mutex);
    route_.job->changed.wait(lock, [this] { return is_over(); });
    return how_it_ended();
  }

 private:
  bool is_over() const { return letter_->outcome || route_.job->has_left[route_.peer.number]; }
  Status how_it_ended() const {
    if (letter_->outcome) return *letter_->outcome;
    return failure(route_.job->desertion(route_.operation, route_.peer));
  }

  Route route_;
  std::shared_ptr<Letter> letter_;
};

class InProcess final : public Communicator {
 public:
  struct Seat {
    std::shared_ptr<Job> job;
    std::shared_ptr<Group> group;
    Rank rank;
    std::string name;
    /// By rank of the job: equal for those who share a node.
    std::shared_ptr<const std::vector<std::uint64_t>> node_keys;
  };
  explicit InProcess(Seat seat) : seat_(std::move(seat)) {
    std::vector<std::uint64_t> keys;
    for (const Rank member : seat_.group->members)
      keys.push_back((*seat_.node_keys)[member.number]);
    nodes_ = Nodes(keys);
  }

  Rank rank() const noexcept override { return seat_.rank; }
  std::uint32_t size() const noexcept override {
    return static_cast<std::uint32_t>(seat_.group->members.size());
  }
  const std::string& name() const noexcept override { return seat_.name; }
  const Nodes& nodes() const noexcept override { return nodes_; }
  ThreadSupport thread_support() const noexcept override { return ThreadSupport::kMultiple; }

  Status barrier() override;
  Status broadcast(std::span<std::byte> bytes, Rank root) override;
  Result<std::vector<Bytes>> gather(std::span<const std::byte> bytes, Rank root) override;
  Result<std::vector<Bytes>> all_gather(std::span<const std::byte> bytes) override;
  Result<std::uint64_t> all_reduce(Reduction reduction, std::uint64_t value) override;
  Result<std::shared_ptr<Communicator>> duplicate() override;
  Result<std::shared_ptr<Communicator>> split(SplitBy by) override;
  Transfer send(std::span<const std::byte> bytes, Rank to, Tag tag) override;
  Transfer receive(std::span<std::byte> into, Rank from, Tag tag) override;
  Result<std::unique_ptr<CollectiveFile>> open_file(const std::string& path,
                                                    const CollectiveOpen& how) override;

 private:
  Result<Brought> exchange(const char* call, std::span<const std::byte> mine);
  std::optional<Rank> deserter(const Round& round) const;
  std::shared_ptr<Group> group_of(Round& round, std::uint32_t color);
  Rank in_job(Rank rank) const { return seat_.group->members[rank.number]; }
  LetterWork::Route route(const char* operation, Rank box, Rank peer) const {
    return {seat_.job, seat_.group, box, in_job(peer), operation};
  }

  Seat seat_;
  Nodes nodes_;
};

/// A member that left before it brought its part, if there is one.
std::optional<Rank> InProcess::deserter(const Round& round) const {
  for (std::size_t i = 0; i < round.brought.size(); ++i) {
    const Rank member = seat_.group->members[i];
    if (!round.brought[i] && seat_.job->has_left[member.number]) return member;
  }
  return std::nullopt;
}

Result<Brought> InProcess::exchange(const char* call, std::span<const std::byte> mine) {
  std::unique_lock lock(seat_.job->mutex);
  const std::shared_ptr<Round> round = seat_.group->round;
  if (round->call == nullptr) round->call = call;
  FOREBAY_ASSERT(std::strcmp(round->call, call) == 0);  // all ranks make the same calls in order
  if (std::optional<Bytes>& place = round->brought[seat_.rank.number]; !place) {
    place.emplace(mine.begin(), mine.end());
    --round->missing;
  }
  if (round->missing == 0) {
    seat_.group->round = std::make_shared<Round>(size());
    seat_.job->changed.notify_all();
  }
  seat_.job->changed.wait(lock, [&] { return round->missing == 0 || deserter(*round); });
  if (round->missing == 0) return round;
  return failure(seat_.job->desertion(call, *deserter(*round)));
}

Status InProcess::barrier() {
  const Result<Brought> all = exchange("barrier", {});
  return all ? Status() : Status(failure(all.error()));
}

Status InProcess::broadcast(std::span<std::byte> bytes, Rank root) {
  if (Status good = check_rank("broadcast", root); !good) return good;
  const auto mine = rank() == root ? std::span<const std::byte>(bytes) : std::span<std::byte>();
  const Result<Brought> all = exchange("broadcast", mine);
  if (!all) return failure(all.error());
  const Bytes& told = *(*all)->brought[root.number];
  FOREBAY_ASSERT(told.size() == bytes.size());  // the same size on all ranks
  if (rank() != root) std::copy(told.begin(), told.end(), bytes.begin());
  return {};
}

Result<std::vector<Bytes>> InProcess::gather(std::span<const std::byte> bytes, Rank root) {
  if (Status good = check_rank("gather", root); !good) return failure(good.error());
  Result<std::vector<Bytes>> all = all_gather(bytes);
  if (all && rank() != root) all->clear();
  return all;
}

Result<std::vector<Bytes>> InProcess::all_gather(std::span<const std::byte> bytes) {
  const Result<Brought> all = exchange("gather", bytes);
  if (!all) return failure(all.error());
  std::vector<Bytes> gathered;
  for (const std::optional<Bytes>& one : (*all)->brought)
    gathered.push_back(*one);
  return gathered;
}

Result<std::uint64_t> InProcess::all_reduce(Reduction reduction, std::uint64_t value) {
  const Result<Brought> all = exchange("reduce", std::as_bytes(std::span(&value, 1)));
  if (!all) return failure(all.error());
  const auto& brought = (*all)->brought;
  std::uint64_t reduced = value_in<std::uint64_t>(brought.front());
  for (std::size_t i = 1; i < brought.size(); ++i)
    reduced = reduce(reduction, reduced, value_in<std::uint64_t>(brought[i]));
  return reduced;
}

Result<std::shared_ptr<Communicator>> InProcess::duplicate() {
  return split({.color = 0, .key = rank().number});
}

/// The group of those who brought `color`; the first who asks makes it. Under the lock.
std::shared_ptr<Group> InProcess::group_of(Round& round, std::uint32_t color) {
  std::shared_ptr<Group>& group = round.made[color];
  if (group != nullptr) return group;
  std::vector<std::pair<std::uint32_t, Rank>> chosen;  // by key, then by old rank
  for (std::uint32_t old = 0; old < size(); ++old) {
    const auto by = value_in<SplitBy>(round.brought[old]);
    if (by.color == color) chosen.emplace_back(by.key, Rank{old});
  }
  std::sort(chosen.begin(), chosen.end());
  std::vector<Rank> members;
  for (const auto& [key, old] : chosen)
    members.push_back(in_job(old));
  group = std::make_shared<Group>(std::move(members));
  return group;
}

Result<std::shared_ptr<Communicator>> InProcess::split(SplitBy by) {
  const Result<Brought> all = exchange("split", std::as_bytes(std::span(&by, 1)));
  if (!all) return failure(all.error());
  const std::scoped_lock lock(seat_.job->mutex);
  Seat seat = seat_;
  seat.group = group_of(**all, by.color);
  const std::vector<Rank>& members = seat.group->members;
  const auto place = std::find(members.begin(), members.end(), in_job(rank()));
  seat.rank = Rank{static_cast<std::uint32_t>(place - members.begin())};
  return std::make_shared<InProcess>(std::move(seat));
}

Transfer InProcess::send(std::span<const std::byte> bytes, Rank to, Tag tag) {
  if (Status good = check_message("send", to, tag); !good) return Transfer(good.error());
  auto letter = std::make_shared<Letter>(Letter{.from = rank(), .tag = tag, .bytes = bytes});
  const std::scoped_lock lock(seat_.job->mutex);
  seat_.group->boxes[to.number].send(letter);
  if (letter->outcome) seat_.job->changed.notify_all();
  return Transfer(std::make_unique<LetterWork>(route("send", to, to), std::move(letter)));
}

Transfer InProcess::receive(std::span<std::byte> into, Rank from, Tag tag) {
  if (Status good = check_message("receive", from, tag); !good) return Transfer(good.error());
  auto letter = std::make_shared<Letter>(Letter{.from = from, .tag = tag, .into = into});
  const std::scoped_lock lock(seat_.job->mutex);
  seat_.group->boxes[rank().number].receive(letter);
  if (letter->outcome) seat_.job->changed.notify_all();
  return Transfer(std::make_unique<LetterWork>(route("receive", rank(), from), std::move(letter)));
}

Result<std::unique_ptr<CollectiveFile>> InProcess::open_file(const std::string& path,
                                                             const CollectiveOpen& how) {
  Result<std::shared_ptr<Communicator>> own = duplicate();
  if (!own) return failure(own.error());
  return open_posix_file(std::move(*own), path, how);
}

/// Everything of a job but its threads: the seat of rank 0, from which the others follow.
InProcess::Seat first_seat(ThreadRanks ranks, std::string name) {
  std::vector<Rank> members;
  std::vector<std::uint64_t> keys;
  for (std::uint32_t number = 0; number < ranks.count; ++number) {
    members.push_back(Rank{number});
    keys.push_back(ranks.per_node == 0 ? 0 : number / ranks.per_node);
  }
  return {.job = std::make_shared<Job>(ranks.count),
          .group = std::make_shared<Group>(std::move(members)),
          .rank = Rank{0},
          .name = std::move(name),
          .node_keys = std::make_shared<const std::vector<std::uint64_t>>(std::move(keys))};
}

Status outcome_of(const RankCode& code, const std::shared_ptr<Communicator>& ranks) {
  try {
    return code(ranks);
  } catch (const std::exception& thrown) {
    return failure(
        {.kind = ErrorClass::kException, .operation = "run a rank", .cause = thrown.what()});
  } catch (...) {
    return failure({.kind = ErrorClass::kException,
                    .operation = "run a rank",
                    .cause = "it threw something that is no std::exception"});
  }
}

}  // namespace

std::shared_ptr<Communicator> solo() {
  return std::make_shared<InProcess>(first_seat({.count = 1}, "solo"));
}

Status run_ranks(ThreadRanks ranks, const RankCode& code) {
  FOREBAY_ASSERT(ranks.count > 0);
  const InProcess::Seat first = first_seat(ranks, "threads");
  std::vector<std::thread> threads;
  for (std::uint32_t number = 0; number < ranks.count; ++number) {
    InProcess::Seat seat = first;
    seat.rank = Rank{number};
    const auto live = [seat, &code] {
      const Status outcome = outcome_of(code, std::make_shared<InProcess>(seat));
      seat.job->leave(seat.rank, outcome);
    };
    Result<std::thread> thread = start_service_thread("forebay-rank", live);
    if (thread) threads.push_back(std::move(*thread));
    if (!thread) first.job->leave(Rank{number}, failure(thread.error()));
  }
  for (std::thread& thread : threads)
    thread.join();
  return first.job->failure ? Status(failure(*first.job->failure)) : Status();
}

}  // namespace forebay::comm
