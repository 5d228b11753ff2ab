// SPDX-License-Identifier: Apache-2.0
// The commands of forebay-tipsy, from words to documents, without printing: so tests run them too.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace forebay::tipsy {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitProblems = 3;  ///< check found some

/// What the program prints at its end, and its exit code.
struct Outcome {
  int exit_code = kExitDone;
  std::string output;  ///< for standard output
  std::string errors;  ///< for standard error
};

/// Runs `words`: a command, a path, options. Progress goes to standard error meanwhile.
Outcome run_command(std::span<const std::string_view> words);

/// The error line for an exception, such as one of memory running out.
std::string describe_exception(std::string_view what);

}  // namespace forebay::tipsy
