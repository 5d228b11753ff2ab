// SPDX-License-Identifier: Apache-2.0
// JSON of sources and files in traces.
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "trace/trace_block.hpp"

namespace forebay::trace {
namespace {

using Json = nlohmann::ordered_json;

/// Longest text: two of them fit kJsonBytesMax with six characters for each byte.
constexpr std::size_t kTextBytesMax = 4096;
static_assert(12 * kTextBytesMax + 4096 <= kJsonBytesMax);

bool read(const Json& value, std::string& into) {
  if (value.is_string()) value.get_to(into);
  return value.is_string();
}
bool read(const Json& value, std::uint64_t& into) {
  if (value.is_number_unsigned()) value.get_to(into);
  return value.is_number_unsigned();
}
template <class Number>
bool read(const Json& value, std::optional<Number>& into) {
  std::uint64_t number = 0;
  if (!read(value, number) || number > std::numeric_limits<Number>::max()) return false;
  into = static_cast<Number>(number);
  return true;
}

/// Calls `member(name, value)` for each member of the JSON.
template <class Info>
void for_each_member(Info& info, auto member)
  requires std::is_same_v<std::remove_const_t<Info>, SourceInfo>
{
  member("host", info.host);
  member("process", info.process);
  member("rank", info.rank);
  member("thread", info.thread);
  member("program", info.program);
}
template <class Info>
void for_each_member(Info& info, auto member)
  requires std::is_same_v<std::remove_const_t<Info>, FileInfo>
{
  member("path", info.path);
  member("device", info.device);
  member("inode", info.inode);
  member("size_bytes", info.size_bytes);
}

void write(Json& into, const std::string& text) { into = text.substr(0, kTextBytesMax); }
void write(Json& into, std::uint64_t number) { into = number; }
template <class Number>
void write(Json& into, const std::optional<Number>& number) {
  if (number) into = *number;
}

/// Texts from the system may be any bytes. Bytes that are not UTF-8 are replaced.
template <class Info>
std::string encode(const Info& info) {
  Json object;
  for_each_member(info, [&](const char* name, const auto& value) {
    Json member;
    write(member, value);
    if (!member.is_null()) object[name] = std::move(member);
  });
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <class Info>
Result<Info> decode(std::span<const std::byte> json, const TracePlace& place) {
  const auto* text = reinterpret_cast<const char*>(json.data());
  const Json object = Json::parse(text, text + json.size(), nullptr, false);
  if (!object.is_object()) return place.damage("its payload is not a JSON object");
  Info info;
  bool is_valid = true;
  for_each_member(info, [&](const char* name, auto& value) {
    const auto found = object.find(name);
    is_valid = is_valid && (found == object.end() || read(*found, value));
  });
  if (!is_valid) return place.damage("a member of its JSON has another type or is too large");
  return info;
}

}  // namespace

std::string to_json(const SourceInfo& source) { return encode(source); }
std::string to_json(const FileInfo& file) { return encode(file); }

Result<SourceInfo> decode_source(std::span<const std::byte> json, const TracePlace& place) {
  return decode<SourceInfo>(json, place);
}
Result<FileInfo> decode_file(std::span<const std::byte> json, const TracePlace& place) {
  return decode<FileInfo>(json, place);
}

}  // namespace forebay::trace
