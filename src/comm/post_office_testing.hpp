// SPDX-License-Identifier: Apache-2.0
// What tests of post offices share: an owner that keeps what arrives, and a loop that sleeps on an
// office until something is so, or a minute is over. For tests only.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "comm/in_process.hpp"
#include "comm/post_office.hpp"
#include "comm/socket.hpp"
#include "comm/testing.hpp"

namespace forebay::comm {

/// Keeps every message, in the order of arrival, and who was lost.
class PostBox final : public PostReceiver {
 public:
  struct Message {
    Rank from;
    LinkHeader header;
    Bytes payload;
  };

  Result<std::span<std::byte>> place(Rank from, const LinkHeader& header) override {
    if (header.kind == refuse_kind) return failure({.operation = "find a place"});
    if (header.kind == drop_kind) return std::span<std::byte>();
    Bytes& place = places_[from];  // messages of one peer come one after the other
    place.assign(header.payload_bytes, std::byte{});
    return std::span(place);
  }

  Status received(Rank from,
                  const LinkHeader& header,
                  std::span<const std::byte> payload) override {
    EXPECT_FALSE(lost_at(from)) << "a message after the end";
    Message message{from, header, {}};
    if (!payload.empty()) message.payload = std::move(places_[from]);
    EXPECT_EQ(message.payload.size(), payload.size()) << "not where it was to go";
    messages.push_back(std::move(message));
    if (on_message) return on_message(messages.back());
    return {};
  }

  void lost(Rank peer, const Error& why) override {
    EXPECT_FALSE(lost_at(peer)) << "told twice";
    EXPECT_EQ(why.rank(), peer.number);
    losses.emplace_back(peer, why);
    if (on_lost) on_lost(peer);
  }

  const Error* lost_at(Rank peer) const {
    const auto found = std::ranges::find(losses, peer, &std::pair<Rank, Error>::first);
    return found == losses.end() ? nullptr : &found->second;
  }

  std::vector<Message> messages;
  std::vector<std::pair<Rank, Error>> losses;
  std::uint32_t drop_kind = UINT32_MAX;
  std::uint32_t refuse_kind = UINT32_MAX - 1;
  std::function<Status(const Message&)> on_message;
  std::function<void(Rank)> on_lost;

 private:
  std::map<Rank, Bytes> places_;
};

/// Sleeps until the office has something to do, at most a second.
inline void wait_for(const PostOffice& office) {
  auto wait = std::chrono::milliseconds(1000);
  if (const auto due = office.due()) {
    const auto left = *due - SteadyClock::shared().now();
    wait = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(left),
                      std::chrono::milliseconds(0), wait);
  }
  pollfd entry{office.descriptor(), POLLIN, 0};
  ::poll(&entry, 1, static_cast<int>(wait.count()));
}

/// Attends to the office until `is_done`; false after a minute.
inline bool drive(PostOffice& office,
                  PostReceiver& receiver,
                  const std::function<bool()>& is_done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!is_done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    wait_for(office);
    office.attend(receiver);
  }
  return true;
}

inline bool drive_until_lost(PostOffice& office, PostBox& box, Rank peer) {
  return drive(office, box, [&] { return box.lost_at(peer) != nullptr; });
}

inline std::unique_ptr<PostOffice> open_office(Communicator& ranks,
                                               const LinkOptions& options = {}) {
  return must(PostOffice::open(ranks, options), "open a post office");
}

/// What all makes of Communicator must carry.
class PostOfficeSuite : public MakeTest {};

/// So many ranks of this process, which wait for each other at the end.
inline void on_ranks(std::uint32_t count, const RankTest& test) {
  const Status ran = run_ranks({.count = count}, [&](const Ranks& ranks) {
    test(ranks);
    return ranks->barrier();
  });
  EXPECT_TRUE(ran) << ran.error().message();
}

/// Where the offices of this process are called.
inline std::vector<Address> listening_here() {
  constexpr int kDescriptorsMax = 1024;
  std::vector<Address> all;
  for (int number = 0; number < kDescriptorsMax; ++number) {
    int listens = 0;
    socklen_t length = sizeof listens;
    if (::getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0) continue;
    Address address;
    address.length = sizeof address.bytes;
    const bool is_known = ::getsockname(number, address.get(), &address.length) == 0;
    if (listens != 0 && is_known) all.push_back(address);
  }
  return all;
}

}  // namespace forebay::comm
