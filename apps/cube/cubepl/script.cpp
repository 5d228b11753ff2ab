// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/script.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace forebay::cubepl {
namespace {

struct Entity {
  std::string_view name;
  char character;
};

constexpr std::array<Entity, 5> kEntities = {
    {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}}};

/// One character of the decoded text, and its size in the file.
struct Character {
  char value;
  std::size_t size;
};

Character character_at(std::string_view raw, std::size_t at) {
  if (raw[at] == '&') {
    for (const Entity& entity : kEntities)
      if (raw.substr(at).starts_with(entity.name)) return {entity.character, entity.name.size()};
  }
  return {raw[at], 1};
}

}  // namespace

Position advance(Position start, std::string_view text) {
  for (const char c : text) {
    ++start.column;
    if (c == '\n') start = {start.line + 1, 1};
  }
  return start;
}

std::string decode_entities(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    decoded += character.value;
    at += character.size;
  }
  return decoded;
}

Script::Script(std::string raw, Position start)
    : raw_(std::move(raw)), text_(decode_entities(raw_)), start_(start) {}

bool Script::empty() const noexcept {
  return text_.find_first_not_of(" \t\r\n") == std::string::npos;
}

Position Script::position(std::size_t offset) const {
  std::size_t at = 0;
  for (std::size_t i = 0; i < offset && at < raw_.size(); ++i)
    at += character_at(raw_, at).size;
  return advance(start_, std::string_view(raw_).substr(0, at));
}

std::string describe_position(std::size_t offset,
                              const Script& script,
                              const ScriptOrigin& origin) {
  const Position position = script.position(offset);
  return fmt::format("metric {}, {}, line {}, column {}", origin.metric, origin.element,
                     position.line, position.column);
}

Error make_error(const ScriptError& error, const Script& script, const ScriptOrigin& origin) {
  return Error({.kind = error.kind,
                .operation = "run remapping specification",
                .path = origin.path,
                .cause = describe_position(error.offset, script, origin) + ": " + error.message});
}

}  // namespace forebay::cubepl
