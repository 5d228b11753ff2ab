// SPDX-License-Identifier: Apache-2.0
// What a native program tells its caller while it works: one line of JSON for each step, on
// standard error.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <string>

namespace forebay::bench {

/// How far one piece of work is.
struct Step {
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  std::string unit;  ///< of both: "runs", "bytes"
  std::string what;  ///< the piece of work; a new text begins a new bar
};

enum class Telling : std::uint8_t { kSilent, kTell };

/// Writes {"progress","total","unit","what"} lines, at most twenty a second and always the last one
/// of a piece.
class Progress {
 public:
  explicit Progress(Telling telling) : telling_(telling) {}
  void report(const Step& step);

 private:
  Telling telling_;
  std::int64_t told_at_ms_ = 0;
};

/// {"error":{"class","operation","path","offset","errno","message"}}, one line; offset is null
/// where there is none.
std::string error_line(const Error& error);

}  // namespace forebay::bench
