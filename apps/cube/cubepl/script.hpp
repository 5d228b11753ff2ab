// SPDX-License-Identifier: Apache-2.0
// A CubePL script as stored in a file, with the position of each character. Errors refer to the
// file that is edited, not to the extracted and decoded part.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace forebay::cubepl {

/// Both count from 1; columns count bytes.
struct Position {
  std::uint32_t line = 1;
  std::uint32_t column = 1;

  friend bool operator==(const Position&, const Position&) noexcept = default;
};

/// Returns the position after `text`, which begins at `start`.
Position advance(Position start, std::string_view text);

/// Returns `text` with &lt; &gt; &amp; &quot; &apos; replaced; other entities are kept.
std::string decode_entities(std::string_view text);

/// The text of a script and its position in a file.
class Script {
 public:
  Script() = default;
  /// `raw` is the text as stored in the file, beginning at `start`.
  explicit Script(std::string raw, Position start = {});

  /// The text to parse, with entities decoded.
  const std::string& text() const noexcept { return text_; }
  /// Whether the script has only white space.
  bool empty() const noexcept;
  /// The position in the file of the byte at `offset` of text().
  Position position(std::size_t offset) const;

 private:
  std::string raw_;
  std::string text_;
  Position start_;
};

/// An error in a script, without the script's origin.
struct ScriptError {
  ErrorClass kind = ErrorClass::kInvalidArgument;
  std::size_t offset = 0;  ///< in Script::text()
  std::string message;     ///< the cause, and the remedy
};

/// The origin of a script.
struct ScriptOrigin {
  std::string path;     ///< path of the specification
  std::string metric;   ///< unique name of the metric
  std::string element;  ///< "cubepl", "cubeplinit", "cubeplaggr plus"
};

/// Makes an Error of `error`: "metric mpi, cubepl, line 12, column 34: ...".
Error make_error(const ScriptError& error, const Script& script, const ScriptOrigin& origin);

/// "metric mpi, cubepl, line 12, column 34".
std::string describe_position(std::size_t offset, const Script& script, const ScriptOrigin& origin);

}  // namespace forebay::cubepl
