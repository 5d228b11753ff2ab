// SPDX-License-Identifier: Apache-2.0
// Messages of a native program to its caller besides the result: progress, and the cause of a
// failure. All programs print the same lines of JSON to standard error, so one caller parses them
// all.
#pragma once

#include <forebay/error.hpp>

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "command/progress.hpp"

namespace forebay::probe {

using command::ProgressMode;
using command::ProgressSink;
using command::ProgressStep;
using command::report;
using Progress = command::ProgressLines;

/// {"error":{"class","operation","path","offset","errno","message"}}, one line; offset is null if
/// there is none.
std::string error_line(const Error& error);

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
