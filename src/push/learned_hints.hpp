// SPDX-License-Identifier: Apache-2.0
// LearnedHints: the reads of a run, which become hints for the next one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "push/hint_file.hpp"
#include "trace/access.hpp"

namespace forebay::push {

/// Any thread.
class LearnedHints {
 public:
  /// Shorter streams are learned as fast without a hint; longer ones are not kept.
  static constexpr std::size_t kReadsMin = 4;
  static constexpr std::size_t kReadsMax = std::size_t{1} << 17U;
  /// Reads of all streams together; further streams are not kept.
  static constexpr std::size_t kTotalMax = std::size_t{1} << 21U;
  /// A signature that lists more of its reads is not kept by default: lists seldom recur.
  static constexpr double kExplainedMin = 0.9;

  explicit LearnedHints(double explained_min = kExplainedMin, std::size_t reads_min = kReadsMin)
      : explained_min_(explained_min), reads_min_(reads_min) {}

  /// All reads of one thread to a file. The hint will be for this version alone. A name that is not
  /// UTF-8 gets none.
  void add(const std::string& file,
           std::vector<trace::Access> reads,
           const FileVersion& version = {});
  /// The hints of this run, with the most reads of a file first, then those of `earlier` for other
  /// files. Takes milliseconds for each 10,000 reads.
  std::vector<FileHint> merge(std::span<const FileHint> earlier) const;

 private:
  struct Stream {
    std::vector<trace::Access> reads;
    FileVersion version;
  };

  const double explained_min_;
  const std::size_t reads_min_;
  mutable std::mutex mutex_;
  std::size_t total_ = 0;
  std::multimap<std::string, Stream> streams_;
};

}  // namespace forebay::push
