// SPDX-License-Identifier: Apache-2.0
// What all native programs behind the command line print: one JSON document, or one error line.
#pragma once

#include <forebay/error.hpp>

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace forebay::command {

using Json = nlohmann::ordered_json;

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitProblems = 3;  ///< the document is complete and lists what is wrong

/// What a program prints at its end, and its exit code.
struct Outcome {
  int exit_code = kExitDone;
  std::string output;  ///< for standard output
  std::string errors;  ///< for standard error
};

/// The "error" document; `class_name` replaces the name of the Error's class unless empty.
Json to_json(const Error& error, std::string_view class_name = {});

/// Text that is valid JSON whatever bytes a path has.
std::string dump(const Json& document, int indent);

/// A document that is done, or has problems if its "ok" is false.
Outcome answered(const Json& document);
/// An error line; one of usage has its own class and exit code.
Outcome failed(const Error& error);

/// The error line for an exception, such as one of memory running out.
std::string describe_exception(std::string_view what);

/// What main() of a program does: prints the outcome of `run` for its words, or the error line of
/// what that threw. Returns the exit code.
int run_and_print(int count,
                  char** words,
                  const std::function<Outcome(std::span<const std::string_view>)>& run);

}  // namespace forebay::command
