// SPDX-License-Identifier: Apache-2.0
// Profile: what earlier runs of a program have read, as hint files, one for each program and class
// of arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "push/hint_file.hpp"
#include "push/learned_hints.hpp"

namespace forebay::run {

/// The class of a text: each number in it counts as the same.
std::string class_of(std::string_view text);

/// The name of the profile of a command line: the program, and a hash of the classes of all its
/// words.
std::string profile_name(const std::vector<std::string>& words);

/// One thread. Its memory and the time of write() have limits, however long a job is.
class Profile {
 public:
  /// Programs of a job that have a profile, reads that are kept of all of them, and profiles that
  /// are written: those of the programs with the most reads.
  static constexpr std::size_t kProgramsMax = 1024;
  static constexpr std::size_t kReadsMax = std::size_t{1} << 21U;
  static constexpr std::size_t kWrittenMax = 64;
  /// Profiles in the folder. Beyond that, those written longest ago are removed.
  static constexpr std::size_t kStoredMax = 1024;

  /// Without a folder nothing is loaded or written.
  explicit Profile(std::string folder) : folder_(std::move(folder)) {}

  /// Loads the profile of a process, by its command line, unless it is loaded.
  void add_process(std::uint32_t process, const std::vector<std::string>& words);
  void end_process(std::uint32_t process) { names_.erase(process); }
  /// Files that earlier runs have read, in the order of their first reads.
  std::vector<std::string> files(std::uint32_t process) const;
  /// Hints of a file in this version, or else of files of the same class. Valid until write().
  std::vector<const push::FileHint*> hints_for(std::uint32_t process,
                                               const std::string& path,
                                               const push::FileVersion& version) const;

  struct File {
    std::string path;
    push::FileVersion version = {};
    std::uint64_t begin_ns = 0;  ///< of the first read
  };
  /// The reads of a stream, for the next run.
  void learn(std::uint32_t process, const File& file, std::vector<trace::Access> reads);
  /// Merges what was learned into the hints that the folder has by now, and writes them for their
  /// user alone. A folder that cannot be written leaves no profile.
  void write();
  /// After write(): hints of a file that was read.
  std::vector<push::FileHint> learned(const std::string& path) const;

 private:
  struct Program {
    std::string command;
    std::string path = {};  ///< empty: nothing is written
    std::vector<push::FileHint> hints = {};
    std::map<std::string, std::vector<const push::FileHint*>> by_class = {};  ///< of paths
    std::vector<const push::FileHint*> patterns = {};
    push::LearnedHints learned{0, 1};                    ///< also random orders and single reads
    std::map<std::string, std::uint64_t> begin_ns = {};  ///< by path as a pattern
    std::size_t reads = 0;

    void load();
    void merge();
  };

  const Program* program_of(std::uint32_t process) const;
  std::vector<Program*> learned_programs() const;

  const std::string folder_;
  std::map<std::uint32_t, std::string> names_;                ///< by process
  std::map<std::string, std::unique_ptr<Program>> programs_;  ///< by name
  std::size_t reads_ = 0;
  std::map<std::string, std::vector<const push::FileHint*>> learned_;  ///< by path as a pattern
};

}  // namespace forebay::run
