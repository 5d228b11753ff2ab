// SPDX-License-Identifier: Apache-2.0
// What a native program tells its caller besides its answer: how far it is, and why it failed.
// Lines of JSON on standard error, the same for all programs, so that one caller understands them
// all.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace forebay::probe {

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

/// The same form for a wrong command line; its class is "usage".
std::string usage_error_line(const std::string& complaint);

/// A document as programs print it: indented, invalid UTF-8 replaced, without a newline at the end.
std::string document_text(const nlohmann::json& document);

/// Prints the document to standard output, or the error line to standard error. Returns the exit
/// code.
int print_document(const Result<nlohmann::json>& document);
/// Print an error line to standard error, and return the exit code.
int print_error(const Error& error);
int print_usage_error(const std::string& complaint);

/// What programs return: done; the world failed; the command line is wrong.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

}  // namespace forebay::probe
