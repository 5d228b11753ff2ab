// SPDX-License-Identifier: Apache-2.0
// Profile: what earlier runs of a program have read, as hint files, one for each program and class
// of arguments.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "push/hint_file.hpp"
#include "push/learned_hints.hpp"

namespace forebay::run {

/// The name of the profile of a command line: the program, and a hash of all its words, in which
/// each number counts as the same.
std::string profile_name(const std::vector<std::string>& words);

/// One thread.
class Profile {
 public:
  /// Without a folder nothing is read or written.
  explicit Profile(std::string folder) : folder_(std::move(folder)) {}

  /// Reads the profile of a process, by its command line. False if it was read before.
  bool add_process(std::uint32_t process, const std::vector<std::string>& words);
  bool has_process(std::uint32_t process) const { return names_.contains(process); }
  void end_process(std::uint32_t process) { names_.erase(process); }
  /// Files that earlier runs have read, at most `count_max`.
  std::vector<std::string> files(std::uint32_t process, std::size_t count_max) const;
  /// Signatures of earlier reads of the file.
  std::vector<std::shared_ptr<const trace::Signature>> hints_for(std::uint32_t process,
                                                                 std::string_view path) const;
  /// The reads of a stream, for the next run.
  void learn(std::uint32_t process, const std::string& path, std::vector<trace::Access> reads);
  /// Writes the profiles. A folder that cannot be written leaves no profile.
  void write() const;

 private:
  struct Program {
    std::string path;
    std::vector<push::FileHint> hints;
    push::LearnedHints learned{0};  ///< with the random orders that a program repeats
  };

  const std::string folder_;
  std::map<std::uint32_t, std::string> names_;                ///< by process
  std::map<std::string, std::unique_ptr<Program>> programs_;  ///< by name
};

}  // namespace forebay::run
