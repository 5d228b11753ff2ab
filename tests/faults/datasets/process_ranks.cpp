// SPDX-License-Identifier: Apache-2.0
#include "process_ranks.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/assert.hpp"
#include "base/descriptor.hpp"

namespace forebay::faults {

using comm::Bytes;
using comm::Rank;

namespace {

/// Sockets between all pairs of ranks; each process keeps its own ends.
class SocketExchange {
 public:
  explicit SocketExchange(std::uint32_t count) : count_(count), ends_(std::size_t{count} * count) {
    for (std::uint32_t a = 0; a < count; ++a)
      for (std::uint32_t b = a + 1; b < count; ++b) {
        std::array<int, 2> pair{};
        FOREBAY_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
        ends_[a * count + b] = Descriptor(pair[0]);
        ends_[b * count + a] = Descriptor(pair[1]);
      }
  }
  /// Closes the ends of other ranks: a process that holds them would not see them close.
  void select_rank(std::uint32_t rank) {
    for (std::uint32_t a = 0; a < count_; ++a)
      for (std::uint32_t b = 0; b < count_; ++b)
        if (a != rank) ends_[a * count_ + b] = Descriptor();
    own_rank_ = rank;
  }
  std::uint32_t count() const { return count_; }

  Status send(std::uint32_t to, const Bytes& bytes) {
    const std::uint64_t size = bytes.size();
    return send_all(to, &size, sizeof size) && send_all(to, bytes.data(), size) ? Status()
                                                                                : rank_failure(to);
  }
  Result<Bytes> receive(std::uint32_t from) {
    std::uint64_t size = 0;
    if (!receive_all(from, &size, sizeof size)) return failure(rank_failure(from).error());
    Bytes bytes(size);
    if (!receive_all(from, bytes.data(), size)) return failure(rank_failure(from).error());
    return bytes;
  }

 private:
  bool send_all(std::uint32_t to, const void* data, std::size_t size) {
    return size == 0 || ::send(end(to), data, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
  }
  bool receive_all(std::uint32_t from, void* data, std::size_t size) {
    return size == 0 || ::recv(end(from), data, size, MSG_WAITALL) == static_cast<ssize_t>(size);
  }
  int end(std::uint32_t other) const { return ends_[own_rank_ * count_ + other].get(); }
  static Status rank_failure(std::uint32_t rank) {
    const Error error({.kind = ErrorClass::kClosed,
                       .operation = "exchange",
                       .cause = "rank " + std::to_string(rank) + " has exited"});
    return failure(with_rank(error, rank));
  }

  const std::uint32_t count_;
  std::uint32_t own_rank_ = 0;
  std::vector<Descriptor> ends_;  ///< from one rank to another, used by both
};

comm::Nodes nodes_of(const std::vector<std::uint32_t>& members, std::uint32_t per_node) {
  std::vector<std::uint64_t> keys;
  for (const std::uint32_t member : members)
    keys.push_back(member / per_node);
  return comm::Nodes(keys);
}

tl::unexpected<Error> unsupported(const char* operation) {
  return failure({.kind = ErrorClass::kUnsupported, .operation = operation});
}

class ProcessGroup final : public comm::Communicator {
 public:
  ProcessGroup(std::shared_ptr<SocketExchange> exchange,
               std::vector<std::uint32_t> members,
               std::uint32_t own_rank,
               std::uint32_t per_node)
      : exchange_(std::move(exchange)),
        members_(std::move(members)),
        own_rank_(own_rank),
        per_node_(per_node),
        nodes_(nodes_of(members_, per_node)) {}

  Rank rank() const noexcept override { return {own_rank_}; }
  std::uint32_t size() const noexcept override {
    return static_cast<std::uint32_t>(members_.size());
  }
  const std::string& name() const noexcept override { return name_; }
  const comm::Nodes& nodes() const noexcept override { return nodes_; }
  comm::ThreadSupport thread_support() const noexcept override {
    return comm::ThreadSupport::kSerialized;
  }

  Status barrier() override {
    const auto gathered = all_gather({});
    return gathered ? Status() : failure(gathered.error());
  }
  Status broadcast(std::span<std::byte> bytes, Rank root) override {
    const auto gathered = all_gather(bytes);
    if (!gathered) return failure(gathered.error());
    std::ranges::copy(gathered->at(root.number), bytes.begin());
    return {};
  }
  Result<std::vector<Bytes>> gather(std::span<const std::byte> bytes, Rank root) override {
    auto gathered = all_gather(bytes);
    if (gathered && rank() != root) gathered->clear();
    return gathered;
  }
  Result<std::vector<Bytes>> all_gather(std::span<const std::byte> bytes) override;
  Result<std::uint64_t> all_reduce(comm::Reduction reduction, std::uint64_t value) override;
  Result<std::shared_ptr<comm::Communicator>> duplicate() override { return split({0, own_rank_}); }
  Result<std::shared_ptr<comm::Communicator>> split(comm::SplitBy by) override;

  comm::MessageRequest send(std::span<const std::byte> /*bytes*/,
                            Rank /*to*/,
                            comm::Tag /*t*/) override {
    return comm::MessageRequest(unsupported("send").value());
  }
  comm::MessageRequest receive(std::span<std::byte> /*into*/,
                               Rank /*from*/,
                               comm::Tag /*t*/) override {
    return comm::MessageRequest(unsupported("receive").value());
  }
  Result<std::unique_ptr<comm::CollectiveFile>> open_file(
      const std::string& /*path*/, const comm::CollectiveOpenOptions& /*how*/) override {
    return unsupported("open a file together");
  }

 private:
  const std::shared_ptr<SocketExchange> exchange_;
  const std::vector<std::uint32_t> members_;
  const std::uint32_t own_rank_;
  const std::uint32_t per_node_;
  const comm::Nodes nodes_;
  const std::string name_ = "processes";
};

/// Each rank sends to the first rank, which then sends all, rank after rank. If the exchange with
/// one rank fails, the remaining ranks wait until the first has exited too, which it does.
Result<std::vector<Bytes>> ProcessGroup::all_gather(std::span<const std::byte> bytes) {
  const Bytes mine(bytes.begin(), bytes.end());
  std::vector<Bytes> gathered(size());
  if (own_rank_ != 0) {
    if (const Status sent = exchange_->send(members_[0], mine); !sent) return failure(sent.error());
    for (Bytes& one : gathered) {
      auto got = exchange_->receive(members_[0]);
      if (!got) return failure(got.error());
      one = std::move(*got);
    }
    return gathered;
  }
  gathered[0] = mine;
  for (std::uint32_t other = 1; other < size(); ++other) {
    auto got = exchange_->receive(members_[other]);
    if (!got) return failure(got.error());
    gathered[other] = std::move(*got);
  }
  for (std::uint32_t other = 1; other < size(); ++other)
    for (const Bytes& one : gathered)
      if (const Status sent = exchange_->send(members_[other], one); !sent)
        return failure(sent.error());
  return gathered;
}

Result<std::uint64_t> ProcessGroup::all_reduce(comm::Reduction reduction, std::uint64_t value) {
  const auto gathered = all_gather(std::as_bytes(std::span(&value, 1)));
  if (!gathered) return failure(gathered.error());
  std::vector<std::uint64_t> values;
  for (const Bytes& one : *gathered) {
    std::uint64_t number = 0;
    std::memcpy(&number, one.data(), sizeof number);
    values.push_back(number);
  }
  if (reduction == comm::Reduction::kMin) return std::ranges::min(values);
  if (reduction == comm::Reduction::kMax) return std::ranges::max(values);
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

Result<std::shared_ptr<comm::Communicator>> ProcessGroup::split(comm::SplitBy by) {
  const auto gathered = all_gather(std::as_bytes(std::span(&by, 1)));
  if (!gathered) return failure(gathered.error());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ours;  // key and rank in this group
  for (std::uint32_t place = 0; place < size(); ++place) {
    comm::SplitBy other;
    std::memcpy(&other, gathered->at(place).data(), sizeof other);
    if (other.color == by.color) ours.emplace_back(other.key, place);
  }
  std::ranges::sort(ours);
  std::vector<std::uint32_t> members;
  std::uint32_t own_rank = 0;
  for (const auto& [key, place] : ours) {
    if (place == own_rank_) own_rank = static_cast<std::uint32_t>(members.size());
    members.push_back(members_[place]);
  }
  return std::make_shared<ProcessGroup>(exchange_, std::move(members), own_rank, per_node_);
}

}  // namespace

ProcessRanks::ProcessRanks(std::uint32_t count, std::uint32_t per_node, const Code& code) {
  const auto exchange = std::make_shared<SocketExchange>(count);
  std::vector<std::uint32_t> members(count);
  std::iota(members.begin(), members.end(), 0U);
  for (std::uint32_t rank = 0; rank < count; ++rank)
    children_.emplace_back([&] {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      exchange->select_rank(rank);
      return code(std::make_shared<ProcessGroup>(exchange, members, rank, per_node));
    });
}

}  // namespace forebay::faults
