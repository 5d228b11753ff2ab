// SPDX-License-Identifier: Apache-2.0
// What tests of links share: an owner that keeps what arrives, and a loop that drives links until
// something is so, or a minute is over. For tests only.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>

#include "comm/link.hpp"
#include "comm/testing.hpp"

namespace forebay::comm {

/// Keeps every message, in the order of arrival.
class Inbox final : public LinkReceiver {
 public:
  struct Message {
    Rank from;
    LinkHeader header;
    Bytes payload;
  };

  Result<std::span<std::byte>> place(Link& /*link*/, const LinkHeader& header) override {
    ++placed;
    if (header.kind == refuse_kind) return failure({.operation = "find a place"});
    if (header.kind == drop_kind) return std::span<std::byte>();
    places_.emplace_back(header.payload_bytes);
    return std::span(places_.back());
  }

  Status received(Link& link,
                  const LinkHeader& header,
                  std::span<const std::byte> payload) override {
    Message message{link.peer(), header, {}};
    // Links of several peers fill their places in any order.
    for (auto place = places_.begin(); !payload.empty() && place != places_.end(); ++place) {
      if (place->data() != payload.data()) continue;
      message.payload = std::move(*place);
      places_.erase(place);
      break;
    }
    EXPECT_EQ(message.payload.size(), payload.size()) << "not where it was to go";
    messages.push_back(std::move(message));
    if (on_message) on_message(link, messages.back());
    return {};
  }

  std::vector<Message> messages;
  std::uint32_t placed = 0;
  std::uint32_t drop_kind = UINT32_MAX;
  std::uint32_t refuse_kind = UINT32_MAX - 1;
  std::function<void(Link&, const Message&)> on_message;

 private:
  std::list<Bytes> places_;
};

/// A link and who owns it.
struct Driven {
  Link* link;
  LinkReceiver* owner;
};

/// Attends to the links as poll() says until `is_done`; false after a minute.
inline bool drive(const std::vector<Driven>& all, const std::function<bool()>& is_done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!is_done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::vector<pollfd> entries;
    for (const Driven& one : all) {
      const int descriptor = one.link->end() ? -1 : one.link->descriptor();
      entries.push_back({descriptor, one.link->interest(), 0});
    }
    ::poll(entries.data(), entries.size(), 1000);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (entries[i].revents == 0) continue;
      std::ignore = all[i].link->attend(entries[i].revents, *all[i].owner);
    }
  }
  return true;
}

}  // namespace forebay::comm
