// SPDX-License-Identifier: Apache-2.0
// The output of native programs: one JSON document on success, else one error line.
#pragma once

#include <forebay/error.hpp>

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace forebay::command {

using Json = nlohmann::ordered_json;

inline constexpr int kExitSuccess = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitProblemsFound = 3;  ///< the document is complete and lists problems

/// Output and exit code of a program.
struct CommandResult {
  int exit_code = kExitSuccess;
  std::string output;  ///< for standard output
  std::string errors;  ///< for standard error
};

/// {"class","operation","path","offset","errno","message"}: the offset is null if unknown, the
/// class of a usage_error() is "usage".
Json to_json(const Error& error);

/// Serializes `document`; the text is valid JSON whatever bytes a path has.
std::string dump(const Json& document, int indent);

/// The result of a complete document: kExitProblemsFound if its "ok" is false, else success. The
/// same as make_failure() for an Error.
CommandResult make_result(const Result<Json>& document);
/// The result of an error: one line. A usage error has its own class and exit code.
CommandResult make_failure(const Error& error);

/// The error line of an exception, for example std::bad_alloc.
std::string describe_exception(std::string_view what);

/// The body of main(): prints the result of `run`, or the error line of an exception that it threw.
/// Returns the exit code.
int run_and_print(int count,
                  char** arguments,
                  const std::function<CommandResult(std::span<const std::string_view>)>& run);

}  // namespace forebay::command
