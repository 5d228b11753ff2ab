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
  static constexpr std::size_t kStreamsMax = 4 * kHintsMax;
  /// A signature that lists more of its reads is not kept by default: lists seldom recur.
  static constexpr double kExplainedMin = 0.9;

  explicit LearnedHints(double explained_min = kExplainedMin, std::size_t reads_min = kReadsMin)
      : explained_min_(explained_min), reads_min_(reads_min) {}

  /// All reads of one thread to a file. The hint will be for this version alone. False if they are
  /// not kept: too few or too many, or the name is not UTF-8.
  bool add(const std::string& file,
           std::vector<trace::Access> reads,
           const FileVersion& version = {});
  /// The hints of this run, with the most reads of a file first, then those of `earlier` for other
  /// files: at most kHintsMax. If this run has only begun what an earlier hint for the same version
  /// describes, that hint stays: the run may have been interrupted. Takes milliseconds for each
  /// 10,000 reads.
  std::vector<FileHint> merge(std::span<const FileHint> earlier) const;

 private:
  struct Stream {
    std::vector<trace::Access> reads;
    FileVersion version;
  };

  std::vector<FileHint> hints_of(std::span<const FileHint> earlier) const;

  const double explained_min_;
  const std::size_t reads_min_;
  mutable std::mutex mutex_;
  std::size_t total_ = 0;
  std::multimap<std::string, Stream> streams_;
};

}  // namespace forebay::push
