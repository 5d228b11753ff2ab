// SPDX-License-Identifier: Apache-2.0
#include "write/tuning_profile.hpp"

#include <forebay/temporary_file.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>

#include "base/assert.hpp"
#include "base/text_file.hpp"
#include "model/machine_text.hpp"
#include "write/plan_table.hpp"

namespace forebay::write {

namespace {

using model::FieldPresence;
using model::ParseErrors;
using model::RealRule;
using model::TableReader;

constexpr std::int64_t kTuningFormat = 1;
constexpr std::string_view kReadTuning = "read tuning profile";
constexpr model::Range<std::uint64_t> kRanksRange{1, UINT32_MAX};
constexpr model::Range<std::uint64_t> kRankBytesRange{1, 1024 * 1024_GiB};
/// A larger value is another kernel class.
constexpr double kEvenImbalanceMax = 1.5;

WritePlan read_plan(const toml::table& table, std::string_view place, ParseErrors& errors) {
  const toml::table* const plan = table.get_as<toml::table>("plan");
  if (plan == nullptr) {
    errors.add(table.source(), std::string(place) + "plan is missing: add a table of this name");
    return {};
  }
  const WritePlan values = read_plan_table(*plan, errors);
  if (values.strategy == Strategy::kAuto || values.writers == 0 || values.files == 0)
    errors.add(plan->source(), std::string(place) + "plan needs strategy, writers and files");
  return values;
}

std::vector<double> read_seconds(const toml::table& table, ParseErrors& errors) {
  std::vector<double> seconds;
  const toml::node* const node = table.get("seconds");
  const toml::array* const list = node == nullptr ? nullptr : node->as_array();
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const auto value = list->get(i)->value<double>();
    if (value && list->get(i)->is_number() && std::isfinite(*value) && *value > 0)
      seconds.push_back(*value);
  }
  const bool is_valid =
      list != nullptr && seconds.size() == list->size() && seconds.size() <= kTuningSecondsMax;
  if (!is_valid)
    errors.add(node == nullptr ? table.source() : node->source(),
               "entries.points.seconds is not valid: write an array of at most " +
                   std::to_string(kTuningSecondsMax) + " numbers above 0");
  return seconds;
}

TuningPoint read_point(const toml::table& table, ParseErrors& errors) {
  TuningPoint point{.plan = read_plan(table, "entries.points.", errors)};
  TableReader reader(table, "entries.points.", errors);
  reader.other("plan");
  reader.other("seconds");
  reader.real("predicted_s", point.predicted_s, RealRule::kSeconds);
  reader.count("failures", point.failures, {0, UINT32_MAX}, FieldPresence::kOptional);
  reader.finish();
  point.seconds = read_seconds(table, errors);
  if (point.seconds.empty() && point.failures == 0)
    errors.add(table.source(), "entries.points.seconds is empty: add a number, or failures");
  return point;
}

TuningEntry read_entry(const toml::table& table, ParseErrors& errors) {
  TuningEntry entry{.scope = {}, .plan = read_plan(table, "entries.", errors)};
  TableReader reader(table, "entries.", errors);
  reader.other("plan");
  reader.other("points");
  reader.text("machine", entry.scope.machine);
  reader.text("machine_hash", entry.scope.machine_hash);
  reader.count("ranks", entry.scope.ranks, kRanksRange, FieldPresence::kRequired);
  reader.count("nodes", entry.scope.nodes, kRanksRange, FieldPresence::kRequired);
  reader.size("rank_bytes", entry.scope.rank_bytes, kRankBytesRange, model::SizeRule::kAny);
  reader.real("imbalance", entry.scope.imbalance, RealRule::kRatio);
  reader.real("median_s", entry.median_s, RealRule::kSeconds, FieldPresence::kRequired);
  reader.real("spread", entry.spread, RealRule::kDeviation);
  reader.count("runs", entry.runs, {1, UINT32_MAX}, FieldPresence::kOptional);
  reader.finish();
  if (table.get("rank_bytes") == nullptr)
    errors.add(table.source(), "entries.rank_bytes is missing: add it");
  if (entry.scope.nodes > entry.scope.ranks)
    errors.add(table.source(), "entries.nodes is above entries.ranks: write at most " +
                                   std::to_string(entry.scope.ranks));
  entry.points = model::read_tables(table, "points", read_point, errors);
  if (entry.points.size() > kTuningPointsMax)
    errors.add(table.source(), "the entry has " + std::to_string(entry.points.size()) +
                                   " points: write at most " + std::to_string(kTuningPointsMax));
  return entry;
}

std::string plan_text(std::string_view table, WritePlan plan) {
  plan.reason.clear();
  return "\n[" + std::string(table) + "]\n" + forebay::to_toml(plan);
}

std::string point_text(const TuningPoint& point) {
  std::string text = "\n[[entries.points]]\n";
  if (point.predicted_s > 0)
    text += "predicted_s = " + model::number_text(point.predicted_s) + "\n";
  text += "seconds = [";
  for (std::size_t i = 0; i < point.seconds.size(); ++i)
    text += (i == 0 ? "" : ", ") + model::number_text(point.seconds[i]);
  text += "]\n";
  if (point.failures > 0) text += "failures = " + std::to_string(point.failures) + "\n";
  return text + plan_text("entries.points.plan", point.plan);
}

std::string entry_text(const TuningEntry& entry) {
  const TuningScope& scope = entry.scope;
  std::string text = "\n[[entries]]\n";
  if (!scope.machine.empty()) text += "machine = " + model::toml_string(scope.machine) + "\n";
  if (!scope.machine_hash.empty())
    text += "machine_hash = " + model::toml_string(scope.machine_hash) + "\n";
  text += "ranks = " + std::to_string(scope.ranks) + "\nnodes = " + std::to_string(scope.nodes) +
          "\nrank_bytes = " + model::toml_string(model::size_text(scope.rank_bytes)) +
          "\nimbalance = " + model::number_text(scope.imbalance) +
          "\nmedian_s = " + model::number_text(entry.median_s) +
          "\nspread = " + model::number_text(entry.spread) +
          "\nruns = " + std::to_string(entry.runs) + "\n" + plan_text("entries.plan", entry.plan);
  for (const TuningPoint& point : entry.points)
    text += point_text(point);
  return text;
}

/// An equal plan, else one that leaves the exchange open.
auto find_plan(std::vector<TuningPoint>& points, const WritePlan& plan) {
  const auto equal = std::ranges::find_if(points, [&](const TuningPoint& point) {
    return tuned_values(point.plan) == tuned_values(plan);
  });
  if (equal != points.end()) return equal;
  return std::ranges::find_if(
      points, [&](const TuningPoint& point) { return is_same_plan(point.plan, plan); });
}

void scale_times(std::vector<TuningPoint>& points, double factor) {
  for (TuningPoint& point : points) {
    point.predicted_s *= factor;
    for (double& seconds : point.seconds)
      seconds *= factor;
  }
}

/// Adds the measurements of `added`, which are newer.
void merge_point(std::vector<TuningPoint>& points, TuningPoint added) {
  const auto found = find_plan(points, added.plan);
  if (found == points.end()) {
    if (points.size() < kTuningPointsMax) points.push_back(std::move(added));
    return;
  }
  added.failures += found->failures;
  std::vector<double>& seconds = added.seconds;
  seconds.insert(seconds.begin(), found->seconds.begin(), found->seconds.end());
  if (seconds.size() > kTuningSecondsMax)
    seconds.erase(seconds.begin(), seconds.end() - std::ptrdiff_t{kTuningSecondsMax});
  *found = std::move(added);
}

/// Adds the measurements of `earlier` to `entry`.
void merge_entry(TuningEntry& entry, TuningEntry earlier) {
  entry.runs += earlier.runs;
  scale_times(earlier.points, static_cast<double>(entry.scope.rank_bytes) /
                                  static_cast<double>(earlier.scope.rank_bytes));
  for (TuningPoint& point : entry.points)
    merge_point(earlier.points, std::move(point));
  entry.points = std::move(earlier.points);
  const auto best = find_plan(entry.points, entry.plan);
  if (best != entry.points.end() && !best->seconds.empty()) set_times(entry, best->seconds);
}

}  // namespace

Result<TuningProfile> parse_tuning_profile(std::string_view text, const std::string& path) {
  const Result<toml::table> root = model::parse_toml(text, path, kReadTuning);
  if (!root) return failure(root.error());
  ParseErrors errors(path, std::string(kReadTuning));
  model::check_format(*root, kTuningFormat, errors);
  model::reject_unknown_keys(*root, "", {"format", "entries"}, errors);
  TuningProfile profile{.entries = model::read_tables(*root, "entries", read_entry, errors)};
  if (errors.first()) return failure(*errors.first());
  return profile;
}

Result<std::optional<TuningProfile>> load_tuning_profile(const std::string& path) {
  const auto text = read_text_file(path, kReadTuning, kTuningProfileBytesMax);
  if (!text && text.error().kind() == ErrorClass::kNotFound) return std::nullopt;
  if (!text) return failure(text.error());
  return parse_tuning_profile(*text, path).map([](TuningProfile profile) {
    return std::optional(std::move(profile));
  });
}

std::string to_toml(const TuningProfile& profile) {
  std::string text = "format = 1\n";
  for (const TuningEntry& entry : profile.entries)
    text += entry_text(entry);
  return text;
}

WritePlan tuned_values(const WritePlan& plan) {
  WritePlan values{.strategy = plan.strategy,
                   .writers = plan.writers,
                   .files = plan.files,
                   .tuning = {.access = plan.tuning.access,
                              .unit_bytes = plan.tuning.unit_bytes,
                              .alignment_bytes = plan.tuning.alignment_bytes}};
  if (plan.tuning.exchange != Exchange::kNone) values.tuning.exchange = plan.tuning.exchange;
  return values;
}

bool is_same_plan(const WritePlan& one, const WritePlan& other) {
  WritePlan first = tuned_values(one);
  WritePlan second = tuned_values(other);
  if (!first.tuning.exchange || !second.tuning.exchange)
    first.tuning.exchange = second.tuning.exchange = std::nullopt;
  return first == second;
}

void set_times(TuningEntry& entry, std::vector<double> seconds) {
  FOREBAY_ASSERT(!seconds.empty());
  std::ranges::sort(seconds);
  const std::size_t half = seconds.size() / 2;
  entry.median_s =
      seconds.size() % 2 == 1 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
  double mean = 0;
  for (const double one : seconds)
    mean += std::log(one) / static_cast<double>(seconds.size());
  double squares = 0;
  for (const double one : seconds)
    squares += std::pow(std::log(one) - mean, 2);
  entry.spread = std::sqrt(squares / static_cast<double>(seconds.size()));
}

bool is_comparable(const TuningScope& one, const TuningScope& other) {
  if (one.machine_hash != other.machine_hash) return false;
  if (one.rank_bytes == 0 || other.rank_bytes == 0) return true;
  const auto size_class = [](const TuningScope& scope) {
    return std::lround(std::log2(static_cast<double>(scope.rank_bytes)));
  };
  const auto is_even = [](const TuningScope& scope) {
    return scope.imbalance <= kEvenImbalanceMax;
  };
  return size_class(one) == size_class(other) && is_even(one) == is_even(other);
}

bool is_same_scope(const TuningScope& one, const TuningScope& other) {
  return one.ranks == other.ranks && one.nodes == other.nodes && is_comparable(one, other);
}

void merge(TuningProfile& profile, TuningEntry entry) {
  const auto is_same = [&](const TuningEntry& one) {
    return is_same_scope(one.scope, entry.scope);
  };
  const auto found = std::ranges::find_if(profile.entries, is_same);
  if (found != profile.entries.end()) {
    merge_entry(entry, std::move(*found));
    profile.entries.erase(found);
  }
  profile.entries.push_back(std::move(entry));
}

Status update_tuning_profile(const std::string& path, const std::vector<TuningEntry>& entries) {
  auto existing = load_tuning_profile(path);
  if (!existing) return failure(existing.error());
  TuningProfile profile = std::move(*existing).value_or(TuningProfile{});
  for (const TuningEntry& entry : entries)
    merge(profile, entry);
  const std::string text = to_toml(profile);
  if (const auto parsed = parse_tuning_profile(text, path); !parsed) return failure(parsed.error());
  auto file = TemporaryFile::create_beside(path);
  if (!file) return failure(file.error());
  std::ofstream out(file->path(), std::ios::binary);
  out << text;
  out.close();
  if (out) return file->publish();
  return failure(system_error({.operation = "write tuning profile", .path = path}, errno));
}

}  // namespace forebay::write
