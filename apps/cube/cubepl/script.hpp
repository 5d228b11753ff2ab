// SPDX-License-Identifier: Apache-2.0
// A CubePL script as it stands in a file, and where in that file each of its characters is. Errors
// are about the file that somebody edits, not about the piece that was cut out and decoded.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace forebay::cubepl {

/// Both from 1; columns count bytes.
struct Position {
  std::uint32_t line = 1;
  std::uint32_t column = 1;

  friend bool operator==(const Position&, const Position&) noexcept = default;
};

/// The position after all of `text`, which begins at `start`.
Position advanced(Position start, std::string_view text);

/// `text` with &lt; &gt; &amp; &quot; &apos; replaced; other entities stay as they are.
std::string decode_entities(std::string_view text);

/// The text of a script and its place in a file.
class Script {
 public:
  Script() = default;
  /// `raw` as it stands in the file, beginning at `start` there.
  explicit Script(std::string raw, Position start = {});

  /// What is to be parsed: entities are decoded.
  const std::string& text() const noexcept { return text_; }
  /// Whether there is nothing but space in it.
  bool empty() const noexcept;
  /// Where in the file the byte at `offset` of text() is.
  Position position(std::size_t offset) const;

 private:
  std::string raw_;
  std::string text_;
  Position start_;
};

/// What is wrong at one place of a script, before anybody says whose script it is.
struct Fault {
  ErrorClass kind = ErrorClass::kInvalidArgument;
  std::size_t offset = 0;  ///< in Script::text()
  std::string what;        ///< what was found, and what to write instead
};

/// Whose script it is.
struct Origin {
  std::string path;     ///< of the specification
  std::string metric;   ///< its unique name
  std::string element;  ///< "cubepl", "cubeplinit", "cubeplaggr plus"
};

/// `fault` as an Error: "metric mpi, cubepl, line 12, column 34: ...".
Error error_of(const Fault& fault, const Script& script, const Origin& origin);

/// "metric mpi, cubepl, line 12, column 34".
std::string place_of(std::size_t offset, const Script& script, const Origin& origin);

}  // namespace forebay::cubepl
