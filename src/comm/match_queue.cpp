// SPDX-License-Identifier: Apache-2.0
// Messages of one sender with one tag match in the order of the calls.
#include "comm/match_queue.hpp"

#include <algorithm>
#include <cstring>

namespace forebay::comm {

namespace {

Status deliver(std::span<const std::byte> bytes, std::span<std::byte> into) {
  const std::size_t common = std::min(bytes.size(), into.size());
  if (common > 0) std::memcpy(into.data(), bytes.data(), common);
  if (bytes.size() == into.size()) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "receive",
                  .cause = "the message has " + std::to_string(bytes.size()) + " bytes, " +
                           std::to_string(into.size()) + " are expected"});
}

}  // namespace

std::shared_ptr<PendingMessage> MatchQueue::take_match(PendingMessages& messages,
                                                       const PendingMessage& other) {
  const auto found = std::find_if(messages.begin(), messages.end(), [&other](const auto& message) {
    return message->from == other.from && message->tag == other.tag;
  });
  if (found == messages.end()) return nullptr;
  std::shared_ptr<PendingMessage> message = *found;
  messages.erase(found);
  return message;
}

void MatchQueue::send(const std::shared_ptr<PendingMessage>& message) {
  const std::shared_ptr<PendingMessage> receive = take_match(receives_, *message);
  if (receive == nullptr) {
    sends_.push_back(message);
    return;
  }
  receive->outcome = deliver(message->bytes, receive->into);
  message->outcome = Status();
}

void MatchQueue::receive(const std::shared_ptr<PendingMessage>& message) {
  const std::shared_ptr<PendingMessage> send = take_match(sends_, *message);
  if (send == nullptr) {
    receives_.push_back(message);
    return;
  }
  message->outcome = deliver(send->bytes, message->into);
  send->outcome = Status();
}

void MatchQueue::cancel(const std::shared_ptr<PendingMessage>& message) {
  sends_.remove(message);
  receives_.remove(message);
}

}  // namespace forebay::comm
