// SPDX-License-Identifier: Apache-2.0
// Messages of a native program to its caller besides the result: progress, and the cause of a
// failure. All programs print the same lines of JSON to standard error, so one caller parses them
// all.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace forebay::probe {

/// Progress of one piece of work.
struct ProgressStep {
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  std::string unit;  ///< of both: "runs", "bytes"
  std::string what;  ///< the piece of work; a new text begins a new bar
};

enum class ProgressMode : std::uint8_t { kSilent, kJsonLines };

/// Writes {"progress","total","unit","what"} lines, at most twenty a second, and always the last
/// one of a piece of work.
class Progress {
 public:
  explicit Progress(ProgressMode progress_mode) : progress_mode_(progress_mode) {}
  void report(const ProgressStep& step);

 private:
  ProgressMode progress_mode_;
  std::int64_t last_report_ms_ = 0;
};

/// {"error":{"class","operation","path","offset","errno","message"}}, one line; offset is null if
/// there is none.
std::string error_line(const Error& error);

/// The same form for a wrong command line; its class is "usage".
std::string usage_error_line(const std::string& text);

/// A document as programs print it: indented, invalid UTF-8 replaced, without a newline at the end.
std::string document_text(const nlohmann::json& document);

/// Prints the document to standard output, or the error line to standard error. Returns the exit
/// code.
int print_document(const Result<nlohmann::json>& document);
/// Print an error line to standard error, and return the exit code.
int print_error(const Error& error);
int print_usage_error(const std::string& text);

/// Exit codes: success; failure of the operation; wrong command line.
inline constexpr int kExitSuccess = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

}  // namespace forebay::probe
