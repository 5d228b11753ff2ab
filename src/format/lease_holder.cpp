// SPDX-License-Identifier: Apache-2.0
#include "format/lease_holder.hpp"

#include <nlohmann/json.hpp>

#include "format/checksum.hpp"
#include "format/decode_context.hpp"

namespace forebay::format {
namespace {

using Json = nlohmann::ordered_json;

/// Longest text: six characters of it as escapes, and the numbers, fit kLeaseHolderBytesMax.
constexpr std::size_t kTextBytesMax = 128;

std::string hex(std::uint64_t number) {
  std::string digits(16, '0');
  for (std::size_t i = digits.size(); i-- > 0; number >>= 4U)
    digits[i] = "0123456789abcdef"[number & 0xfU];
  return digits;
}

/// Texts from the system may be any bytes. Bytes that are not UTF-8 are replaced, which can make
/// three bytes of one.
std::string dump(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string checksum_of(const Json& object) {
  const std::string text = dump(object);
  return hex(metadata_checksum(0, std::as_bytes(std::span(text))));
}

template <class Value>
bool read_member(const Json& object, const char* name, Value& value) {
  const auto found = object.find(name);
  if (found == object.end()) return false;
  if constexpr (std::is_same_v<Value, std::string>) {
    if (!found->is_string()) return false;
  } else if constexpr (std::is_same_v<Value, bool>) {
    if (!found->is_boolean()) return false;
  } else if (!found->is_number_unsigned()) {
    return false;
  }
  found->get_to(value);
  return true;
}

/// For members that files of earlier versions do not have.
template <class Value>
bool read_optional_member(const Json& object, const char* name, Value& value) {
  return !object.contains(name) || read_member(object, name, value);
}

}  // namespace

std::string encode_lease_holder(const LeaseHolder& holder) {
  Json object;
  object["host"] = holder.host.substr(0, kTextBytesMax);
  object["boot_id"] = holder.boot_id.substr(0, kTextBytesMax);
  object["process_id"] = holder.process_id;
  object["process_start"] = holder.process_start;
  object["process_namespace"] = holder.process_namespace;
  object["user"] = holder.user.substr(0, kTextBytesMax);
  object["program"] = holder.program.substr(0, kTextBytesMax);
  object["opened_ns"] = holder.opened_ns;
  object["nonce"] = holder.nonce;
  object["device"] = holder.device;
  object["inode"] = holder.inode;
  object["is_locked"] = holder.is_locked;
  object["checksum"] = checksum_of(object);
  return dump(object) + "\n";
}

Result<LeaseHolder> decode_lease_holder(std::string_view text, const std::string& path) {
  const DecodeContext context = {"owner", path};
  if (text.size() > kLeaseHolderBytesMax)
    return context.damage_error(0, "it is longer than 4096 bytes");
  Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) return context.damage_error(0, "it is not a JSON object");
  std::string checksum;
  if (!read_member(object, "checksum", checksum))
    return context.damage_error(0, "it has no checksum");
  object.erase("checksum");
  if (checksum != checksum_of(object)) return context.damage_error(0, "its checksum does not fit");
  LeaseHolder holder;
  const bool is_complete =
      read_member(object, "host", holder.host) && read_member(object, "boot_id", holder.boot_id) &&
      read_member(object, "process_id", holder.process_id) &&
      read_member(object, "process_start", holder.process_start) &&
      read_member(object, "user", holder.user) && read_member(object, "program", holder.program) &&
      read_member(object, "opened_ns", holder.opened_ns) &&
      read_member(object, "nonce", holder.nonce) &&
      read_optional_member(object, "process_namespace", holder.process_namespace) &&
      read_optional_member(object, "device", holder.device) &&
      read_optional_member(object, "inode", holder.inode) &&
      read_optional_member(object, "is_locked", holder.is_locked);
  if (!is_complete) return context.damage_error(0, "a member is missing or of another kind");
  return holder;
}

}  // namespace forebay::format
