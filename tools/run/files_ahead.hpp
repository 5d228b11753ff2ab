// SPDX-License-Identifier: Apache-2.0
// FilesAhead: the files that a process will probably open next. They are those that earlier runs
// have read, in their order, and the next ones of a numbered or dated series. It opens no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace forebay::run {

/// One thread.
class FilesAhead {
 public:
  /// Files that are ahead of the newest one.
  static constexpr std::size_t kPlannedAhead = 64;
  static constexpr std::size_t kSeriesAhead = 2;

  /// `planned`: files of earlier runs, in the order of their first reads.
  explicit FilesAhead(std::vector<std::string> planned);

  struct Next {
    std::vector<std::string> planned = {};
    std::vector<std::string> series = {};  ///< expected to be read as the file before
  };
  /// The process reads its first bytes of a file. Returns files that are ahead now, each once.
  Next open(const std::string& path);
  /// The process has waited for storage: planned files are returned from now on.
  Next wait();
  enum class Help : std::uint8_t { kNone, kUseful };
  /// The reads of a file are complete. Its series continues if they have waited, or had help.
  void close(Help help) noexcept { is_series_useful_ = help == Help::kUseful; }

 private:
  void advance(Next& next);
  void continue_series(Next& next);

  const std::vector<std::string> planned_;
  std::unordered_map<std::string, std::size_t> places_;  ///< of paths in planned_
  std::unordered_set<std::string> known_;                ///< opened, or returned before
  std::size_t next_ = 0;                                 ///< planned files before it were returned
  std::size_t reached_ = 0;
  bool has_waited_ = false;
  bool is_series_useful_ = false;
  std::vector<std::string> series_;  ///< the newest names, oldest first
};

}  // namespace forebay::run
