// SPDX-License-Identifier: Apache-2.0
// Tuning profiles: the best measured plan of an application for each machine, step size and number
// of ranks, in a file (docs/formats/tuning-profile.md).
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>
#include <forebay/write_plan.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::write {

struct WriteFacts;

inline constexpr std::size_t kTuningProfileBytesMax = 4_MiB;
inline constexpr std::size_t kTuningPointsMax = 256;
inline constexpr std::size_t kTuningSecondsMax = 64;

/// The machine, the size of steps, and the ranks for which a plan was measured.
struct TuningScope {
  std::string machine = {};       ///< its name
  std::string machine_hash = {};  ///< numbers_hash(); empty: no machine file
  std::uint32_t ranks = 0;
  std::uint32_t nodes = 0;
  std::uint64_t rank_bytes = 0;  ///< mean of a rank in a step; 0: unknown
  double imbalance = 1;          ///< largest / mean

  friend bool operator==(const TuningScope&, const TuningScope&) = default;
};

/// A measured plan. Durations are seconds, scaled to a step of ranks × rank_bytes.
struct TuningPoint {
  WritePlan plan;
  double predicted_s = 0;  ///< 0: no model
  std::vector<double> seconds = {};
  std::uint32_t failures = 0;

  friend bool operator==(const TuningPoint&, const TuningPoint&) = default;
};

struct TuningEntry {
  TuningScope scope;
  double median_s = 0;
  double spread = 0;  ///< standard deviation of the logarithm
  std::uint32_t runs = 1;
  WritePlan plan;
  std::vector<TuningPoint> points = {};

  friend bool operator==(const TuningEntry&, const TuningEntry&) = default;
};

struct TuningProfile {
  std::vector<TuningEntry> entries;
};

/// `path` is for errors, which have class kInvalidArgument and name the line.
Result<TuningProfile> parse_tuning_profile(std::string_view text, const std::string& path);

/// The same for a file. No value if there is none.
Result<std::optional<TuningProfile>> load_tuning_profile(const std::string& path);

/// The text of a profile: parse_tuning_profile() of it returns an equal one.
std::string to_toml(const TuningProfile& profile);

/// The values of a plan that a profile has: strategy, writers, files, unit, alignment, and an
/// exchange other than none, which the others imply.
WritePlan tuned_values(const WritePlan& plan);

/// Whether both have the same tuned_values(). A profile may leave the exchange open, which is then
/// not compared.
bool is_same_plan(const WritePlan& one, const WritePlan& other);

/// Median and spread of `seconds`, which must not be empty.
void set_times(TuningEntry& entry, std::vector<double> seconds);

/// Whether both have the same machine, kernel class, ranks and nodes.
bool is_same_scope(const TuningScope& one, const TuningScope& other);
/// Whether a plan for `other` may serve `one`: same machine, and same kernel class if known.
bool is_comparable(const TuningScope& one, const TuningScope& other);

/// Adds the measurements of `entry` as the page defines under "What a tuned run writes". The entry
/// is then the last one.
void merge(TuningProfile& profile, TuningEntry entry);

/// Merges `entries` into the file, which is replaced atomically, or created. Fails, and leaves the
/// file unchanged, if it or the merged one is not a valid profile. Blocks.
Status update_tuning_profile(const std::string& path, const std::vector<TuningEntry>& entries);

}  // namespace forebay::write
