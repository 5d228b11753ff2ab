// SPDX-License-Identifier: Apache-2.0
#include "format/owner.hpp"

#include <nlohmann/json.hpp>

#include "format/checksum.hpp"
#include "format/damage.hpp"

namespace forebay::format {
namespace {

using Json = nlohmann::ordered_json;

/// So long may a text be: six of them as escapes, and the numbers, fit kOwnerBytesMax.
constexpr std::size_t kTextBytesMax = 128;

std::string hex(std::uint64_t number) {
  std::string digits(16, '0');
  for (std::size_t i = digits.size(); i-- > 0; number >>= 4U)
    digits[i] = "0123456789abcdef"[number & 0xfU];
  return digits;
}

/// Texts of a system may be any bytes; those that are no UTF-8 are replaced, which can make three
/// out of one.
std::string shown(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string checksum_of(const Json& object) {
  const std::string text = shown(object);
  return hex(metadata_checksum(0, std::as_bytes(std::span(text))));
}

template <class Value>
bool take(const Json& object, const char* name, Value& value) {
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

/// Members that files of earlier versions do not have.
template <class Value>
bool take_if_there(const Json& object, const char* name, Value& value) {
  return !object.contains(name) || take(object, name, value);
}

}  // namespace

std::string encode_owner(const Owner& owner) {
  Json object;
  object["host"] = owner.host.substr(0, kTextBytesMax);
  object["boot_id"] = owner.boot_id.substr(0, kTextBytesMax);
  object["process_id"] = owner.process_id;
  object["process_start"] = owner.process_start;
  object["process_namespace"] = owner.process_namespace;
  object["user"] = owner.user.substr(0, kTextBytesMax);
  object["program"] = owner.program.substr(0, kTextBytesMax);
  object["opened_ns"] = owner.opened_ns;
  object["nonce"] = owner.nonce;
  object["device"] = owner.device;
  object["inode"] = owner.inode;
  object["is_locked"] = owner.is_locked;
  object["checksum"] = checksum_of(object);
  return shown(object) + "\n";
}

Result<Owner> decode_owner(std::string_view text, const std::string& path) {
  const Source source = {"owner", path};
  if (text.size() > kOwnerBytesMax) return source.damage(0, "it is longer than 4096 bytes");
  Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) return source.damage(0, "it is no JSON object");
  std::string checksum;
  if (!take(object, "checksum", checksum)) return source.damage(0, "it has no checksum");
  object.erase("checksum");
  if (checksum != checksum_of(object)) return source.damage(0, "its checksum does not fit");
  Owner owner;
  const bool is_complete =
      take(object, "host", owner.host) && take(object, "boot_id", owner.boot_id) &&
      take(object, "process_id", owner.process_id) &&
      take(object, "process_start", owner.process_start) && take(object, "user", owner.user) &&
      take(object, "program", owner.program) && take(object, "opened_ns", owner.opened_ns) &&
      take(object, "nonce", owner.nonce) &&
      take_if_there(object, "process_namespace", owner.process_namespace) &&
      take_if_there(object, "device", owner.device) &&
      take_if_there(object, "inode", owner.inode) &&
      take_if_there(object, "is_locked", owner.is_locked);
  if (!is_complete) return source.damage(0, "a member is missing or of another kind");
  return owner;
}

}  // namespace forebay::format
