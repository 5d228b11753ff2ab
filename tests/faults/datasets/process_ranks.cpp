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
class Exchange {
 public:
  explicit Exchange(std::uint32_t count) : count_(count), ends_(std::size_t{count} * count) {
    for (std::uint32_t a = 0; a < count; ++a)
      for (std::uint32_t b = a + 1; b < count; ++b) {
        std::array<int, 2> pair{};
        FOREBAY_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
        ends_[a * count + b] = Descriptor(pair[0]);
        ends_[b * count + a] = Descriptor(pair[1]);
      }
  }
  /// Who holds the end of another one never learns that this one has gone.
  void become(std::uint32_t rank) {
    for (std::uint32_t a = 0; a < count_; ++a)
      for (std::uint32_t b = 0; b < count_; ++b)
        if (a != rank) ends_[a * count_ + b] = Descriptor();
    me_ = rank;
  }
  std::uint32_t count() const { return count_; }

  Status send(std::uint32_t to, const Bytes& bytes) {
    const std::uint64_t size = bytes.size();
    return send_all(to, &size, sizeof size) && send_all(to, bytes.data(), size) ? Status()
                                                                                : gone(to);
  }
  Result<Bytes> receive(std::uint32_t from) {
    std::uint64_t size = 0;
    if (!receive_all(from, &size, sizeof size)) return failure(gone(from).error());
    Bytes bytes(size);
    if (!receive_all(from, bytes.data(), size)) return failure(gone(from).error());
    return bytes;
  }

 private:
  bool send_all(std::uint32_t to, const void* data, std::size_t size) {
    return size == 0 || ::send(end(to), data, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
  }
  bool receive_all(std::uint32_t from, void* data, std::size_t size) {
    return size == 0 || ::recv(end(from), data, size, MSG_WAITALL) == static_cast<ssize_t>(size);
  }
  int end(std::uint32_t other) const { return ends_[me_ * count_ + other].get(); }
  static Status gone(std::uint32_t rank) {
    const Error error({.kind = ErrorClass::kClosed,
                       .operation = "exchange",
                       .cause = "rank " + std::to_string(rank) + " has gone"});
    return failure(on_rank(error, rank));
  }

  const std::uint32_t count_;
  std::uint32_t me_ = 0;
  std::vector<Descriptor> ends_;  ///< from one to another, by both
};

comm::Nodes nodes_of(const std::vector<std::uint32_t>& members, std::uint32_t per_node) {
  std::vector<std::uint64_t> keys;
  for (const std::uint32_t member : members)
    keys.push_back(member / per_node);
  return comm::Nodes(keys);
}

tl::unexpected<Error> not_here(const char* operation) {
  return failure({.kind = ErrorClass::kUnsupported, .operation = operation});
}

class ProcessGroup final : public comm::Communicator {
 public:
  ProcessGroup(std::shared_ptr<Exchange> exchange,
               std::vector<std::uint32_t> members,
               std::uint32_t me,
               std::uint32_t per_node)
      : exchange_(std::move(exchange)),
        members_(std::move(members)),
        me_(me),
        per_node_(per_node),
        nodes_(nodes_of(members_, per_node)) {}

  Rank rank() const noexcept override { return {me_}; }
  std::uint32_t size() const noexcept override {
    return static_cast<std::uint32_t>(members_.size());
  }
  const std::string& name() const noexcept override { return name_; }
  const comm::Nodes& nodes() const noexcept override { return nodes_; }
  comm::ThreadSupport thread_support() const noexcept override {
    return comm::ThreadSupport::kSerialized;
  }

  Status barrier() override {
    const auto all = all_gather({});
    return all ? Status() : failure(all.error());
  }
  Status broadcast(std::span<std::byte> bytes, Rank root) override {
    const auto all = all_gather(bytes);
    if (!all) return failure(all.error());
    std::ranges::copy(all->at(root.number), bytes.begin());
    return {};
  }
  Result<std::vector<Bytes>> gather(std::span<const std::byte> bytes, Rank root) override {
    auto all = all_gather(bytes);
    if (all && rank() != root) all->clear();
    return all;
  }
  Result<std::vector<Bytes>> all_gather(std::span<const std::byte> bytes) override;
  Result<std::uint64_t> all_reduce(comm::Reduction reduction, std::uint64_t value) override;
  Result<std::shared_ptr<comm::Communicator>> duplicate() override { return split({0, me_}); }
  Result<std::shared_ptr<comm::Communicator>> split(comm::SplitBy by) override;

  comm::Transfer send(std::span<const std::byte> /*bytes*/, Rank /*to*/, comm::Tag /*t*/) override {
    return comm::Transfer(not_here("send").value());
  }
  comm::Transfer receive(std::span<std::byte> /*into*/, Rank /*from*/, comm::Tag /*t*/) override {
    return comm::Transfer(not_here("receive").value());
  }
  Result<std::unique_ptr<comm::CollectiveFile>> open_file(
      const std::string& /*path*/, const comm::CollectiveOpen& /*how*/) override {
    return not_here("open a file together");
  }

 private:
  const std::shared_ptr<Exchange> exchange_;
  const std::vector<std::uint32_t> members_;
  const std::uint32_t me_;
  const std::uint32_t per_node_;
  const comm::Nodes nodes_;
  const std::string name_ = "processes";
};

/// Each to the first rank, and all from there, one after the other. What one cannot have, those
/// behind it get nothing of: they wait in vain until the first has gone as well, which it does.
Result<std::vector<Bytes>> ProcessGroup::all_gather(std::span<const std::byte> bytes) {
  const Bytes mine(bytes.begin(), bytes.end());
  std::vector<Bytes> all(size());
  if (me_ != 0) {
    if (const Status sent = exchange_->send(members_[0], mine); !sent) return failure(sent.error());
    for (Bytes& one : all) {
      auto got = exchange_->receive(members_[0]);
      if (!got) return failure(got.error());
      one = std::move(*got);
    }
    return all;
  }
  all[0] = mine;
  for (std::uint32_t other = 1; other < size(); ++other) {
    auto got = exchange_->receive(members_[other]);
    if (!got) return failure(got.error());
    all[other] = std::move(*got);
  }
  for (std::uint32_t other = 1; other < size(); ++other)
    for (const Bytes& one : all)
      if (const Status sent = exchange_->send(members_[other], one); !sent)
        return failure(sent.error());
  return all;
}

Result<std::uint64_t> ProcessGroup::all_reduce(comm::Reduction reduction, std::uint64_t value) {
  const auto all = all_gather(std::as_bytes(std::span(&value, 1)));
  if (!all) return failure(all.error());
  std::vector<std::uint64_t> values;
  for (const Bytes& one : *all) {
    std::uint64_t number = 0;
    std::memcpy(&number, one.data(), sizeof number);
    values.push_back(number);
  }
  if (reduction == comm::Reduction::kMin) return std::ranges::min(values);
  if (reduction == comm::Reduction::kMax) return std::ranges::max(values);
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

Result<std::shared_ptr<comm::Communicator>> ProcessGroup::split(comm::SplitBy by) {
  const auto all = all_gather(std::as_bytes(std::span(&by, 1)));
  if (!all) return failure(all.error());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ours;  // key and place here
  for (std::uint32_t place = 0; place < size(); ++place) {
    comm::SplitBy other;
    std::memcpy(&other, all->at(place).data(), sizeof other);
    if (other.color == by.color) ours.emplace_back(other.key, place);
  }
  std::ranges::sort(ours);
  std::vector<std::uint32_t> members;
  std::uint32_t me = 0;
  for (const auto& [key, place] : ours) {
    if (place == me_) me = static_cast<std::uint32_t>(members.size());
    members.push_back(members_[place]);
  }
  return std::make_shared<ProcessGroup>(exchange_, std::move(members), me, per_node_);
}

}  // namespace

ProcessRanks::ProcessRanks(std::uint32_t count, std::uint32_t per_node, const Code& code) {
  const auto exchange = std::make_shared<Exchange>(count);
  std::vector<std::uint32_t> members(count);
  std::iota(members.begin(), members.end(), 0U);
  for (std::uint32_t rank = 0; rank < count; ++rank)
    children_.emplace_back([&] {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      exchange->become(rank);
      return code(std::make_shared<ProcessGroup>(exchange, members, rank, per_node));
    });
}

}  // namespace forebay::faults
