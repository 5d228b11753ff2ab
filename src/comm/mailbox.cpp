// SPDX-License-Identifier: Apache-2.0
// First come, first served, for each sender and tag.
#include "comm/mailbox.hpp"

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
                           std::to_string(into.size()) + " were announced"});
}

}  // namespace

std::shared_ptr<Letter> Mailbox::take_match(Letters& letters, const Letter& other) {
  const auto found = std::find_if(letters.begin(), letters.end(), [&other](const auto& letter) {
    return letter->from == other.from && letter->tag == other.tag;
  });
  if (found == letters.end()) return nullptr;
  std::shared_ptr<Letter> letter = *found;
  letters.erase(found);
  return letter;
}

void Mailbox::send(const std::shared_ptr<Letter>& letter) {
  const std::shared_ptr<Letter> receive = take_match(receives_, *letter);
  if (receive == nullptr) {
    sends_.push_back(letter);
    return;
  }
  receive->outcome = deliver(letter->bytes, receive->into);
  letter->outcome = Status();
}

void Mailbox::receive(const std::shared_ptr<Letter>& letter) {
  const std::shared_ptr<Letter> send = take_match(sends_, *letter);
  if (send == nullptr) {
    receives_.push_back(letter);
    return;
  }
  letter->outcome = deliver(send->bytes, letter->into);
  send->outcome = Status();
}

void Mailbox::take_back(const std::shared_ptr<Letter>& letter) {
  sends_.remove(letter);
  receives_.remove(letter);
}

}  // namespace forebay::comm
