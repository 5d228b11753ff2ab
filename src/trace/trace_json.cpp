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

template <class Info>
bool read_members(const Json& object, Info& into);

bool read(const Json& value, std::string& into) {
  if (value.is_string()) value.get_to(into);
  return value.is_string();
}
bool read(const Json& value, std::uint64_t& into) {
  if (value.is_number_unsigned()) value.get_to(into);
  return value.is_number_unsigned();
}
bool read(const Json& value, std::uint32_t& into) {
  std::uint64_t number = 0;
  if (!read(value, number) || number > std::numeric_limits<std::uint32_t>::max()) return false;
  into = static_cast<std::uint32_t>(number);
  return true;
}
bool read(const Json& value, FileView& into) { return read_members(value, into); }
template <class Value>
bool read(const Json& value, std::optional<Value>& into) {
  return read(value, into.emplace());
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
  member("interface", info.interface);
  member("view", info.view);
}
template <class Info>
void for_each_member(Info& info, auto member)
  requires std::is_same_v<std::remove_const_t<Info>, FileView>
{
  member("displacement", info.displacement);
  member("etype_bytes", info.etype_bytes);
  member("filetype_bytes", info.filetype_bytes);
  member("filetype_extent", info.filetype_extent);
}

template <class Info>
bool read_members(const Json& object, Info& into) {
  bool is_valid = object.is_object();
  for_each_member(into, [&](const char* name, auto& value) {
    const auto found = object.find(name);
    is_valid = is_valid && (found == object.end() || read(*found, value));
  });
  return is_valid;
}

template <class Info>
Json object_of(const Info& info);

Json json_of(const std::string& text) { return text.substr(0, kTextBytesMax); }
Json json_of(std::uint64_t number) { return number; }
Json json_of(const FileView& view) { return object_of(view); }
template <class Value>
Json json_of(const std::optional<Value>& value) {
  return value ? json_of(*value) : Json();
}

template <class Info>
Json object_of(const Info& info) {
  Json object;
  for_each_member(info, [&](const char* name, const auto& value) {
    Json member = json_of(value);
    if (!member.is_null()) object[name] = std::move(member);
  });
  return object;
}

/// Texts from the system may be any bytes. Bytes that are not UTF-8 are replaced.
template <class Info>
std::string encode(const Info& info) {
  return object_of(info).dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <class Info>
Result<Info> decode(std::span<const std::byte> json, const TracePlace& place) {
  const auto* text = reinterpret_cast<const char*>(json.data());
  const Json object = Json::parse(text, text + json.size(), nullptr, false);
  if (!object.is_object()) return place.damage("its payload is not a JSON object");
  Info info;
  if (!read_members(object, info))
    return place.damage("a member of its JSON has another type or is too large");
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
