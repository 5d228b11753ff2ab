// SPDX-License-Identifier: Apache-2.0
// Shared code of tests of links: an owner that keeps messages, and a loop that drives links until a
// condition holds, or a minute is over. For tests only.
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
class RecordingLinkHandler final : public LinkHandler {
 public:
  struct Message {
    Rank from;
    LinkHeader header;
    Bytes payload;
  };

  Result<std::span<std::byte>> payload_buffer(Link& /*link*/, const LinkHeader& header) override {
    ++buffer_count;
    if (header.kind == refuse_kind) return failure({.operation = "allocate a buffer"});
    if (header.kind == drop_kind) return std::span<std::byte>();
    buffers_.emplace_back(header.payload_bytes);
    return std::span(buffers_.back());
  }

  Status handle_message(Link& link,
                        const LinkHeader& header,
                        std::span<const std::byte> payload) override {
    Message message{link.peer(), header, {}};
    // Links of several peers fill their buffers in any order.
    for (auto buffer = buffers_.begin(); !payload.empty() && buffer != buffers_.end(); ++buffer) {
      if (buffer->data() != payload.data()) continue;
      message.payload = std::move(*buffer);
      buffers_.erase(buffer);
      break;
    }
    EXPECT_EQ(message.payload.size(), payload.size()) << "not in the memory of payload_buffer()";
    messages.push_back(std::move(message));
    if (on_message) on_message(link, messages.back());
    return {};
  }

  std::vector<Message> messages;
  std::uint32_t buffer_count = 0;
  std::uint32_t drop_kind = UINT32_MAX;
  std::uint32_t refuse_kind = UINT32_MAX - 1;
  std::function<void(Link&, const Message&)> on_message;

 private:
  std::list<Bytes> buffers_;
};

/// A link and its owner.
struct PolledLink {
  Link* link;
  LinkHandler* owner;
};

/// Processes events of the links until `is_done`; false after a minute.
inline bool run_until(const std::vector<PolledLink>& all, const std::function<bool()>& is_done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!is_done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::vector<pollfd> entries;
    for (const PolledLink& one : all) {
      const int descriptor = one.link->close_reason() ? -1 : one.link->descriptor();
      entries.push_back({descriptor, one.link->interest(), 0});
    }
    ::poll(entries.data(), entries.size(), 1000);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (entries[i].revents == 0) continue;
      std::ignore = all[i].link->process_events(entries[i].revents, *all[i].owner);
    }
  }
  return true;
}

}  // namespace forebay::comm
