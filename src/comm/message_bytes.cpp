// SPDX-License-Identifier: Apache-2.0
#include "comm/message_bytes.hpp"

namespace forebay::comm {

Error malformed_message(std::string_view kind,
                        std::string_view field,
                        std::uint64_t value,
                        std::string_view must_be) {
  return Error({.kind = ErrorClass::kDamage,
                .operation = "read message '" + std::string(kind) + "'",
                .cause = "field '" + std::string(field) + "' is " + std::to_string(value) + ": " +
                         std::string(must_be)});
}

std::span<const std::byte> MessageReader::take(const char* field, std::size_t size) {
  if (size > bytes_.size()) reject(field, bytes_.size(), "the message ends within this field");
  if (!is_valid()) return {};
  const auto taken = bytes_.first(size);
  bytes_ = bytes_.subspan(size);
  return taken;
}

std::uint64_t MessageReader::count(const char* field, std::size_t item_bytes_min) {
  const auto items = number<std::uint64_t>(field);
  if (items > bytes_.size() / item_bytes_min) reject(field, items, "the message is too short");
  return is_valid() ? items : 0;
}

std::span<const std::byte> MessageReader::take_list(const char* field, std::size_t item_bytes) {
  return take(field, count(field, item_bytes) * item_bytes);
}

Status MessageReader::finish() {
  if (!bytes_.empty()) reject("bytes after the last field", bytes_.size(), "must be 0");
  if (error_) return failure(*error_);
  return {};
}

Status check_header(const LinkHeader& header, std::span<const MessageRule> rules) {
  if (header.kind >= rules.size())
    return failure(malformed_message("unknown", "kind", header.kind,
                                     "must be below " + std::to_string(rules.size())));
  const MessageRule& rule = rules[header.kind];
  for (std::size_t i = rule.words; i < header.words.size(); ++i)
    if (header.words[i] != 0)
      return failure(
          malformed_message(rule.name, "word " + std::to_string(i), header.words[i], "must be 0"));
  const bool fits = header.payload_bytes >= rule.payload_bytes_min &&
                    header.payload_bytes <= rule.payload_bytes_max;
  if (fits) return {};
  return failure(malformed_message(rule.name, "payload bytes", header.payload_bytes,
                                   "must be " + std::to_string(rule.payload_bytes_min) + " to " +
                                       std::to_string(rule.payload_bytes_max)));
}

}  // namespace forebay::comm
