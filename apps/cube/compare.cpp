// SPDX-License-Identifier: Apache-2.0
#include "cube/compare.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cube/compare_rows.hpp"
#include "cube/compare_structure.hpp"
#include "cube/profile_file.hpp"

namespace forebay::cube {

namespace {

/// JSON has no infinity: a number that is not finite becomes null.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

/// A metric in both files.
struct MetricPair {
  std::array<std::size_t, 2> metrics;
  ValueTypePair types;
  std::uint64_t row_bytes_a = 0;
  std::uint64_t row_bytes_b = 0;
};

/// The differences of one metric.
struct MetricDifferences {
  std::uint64_t count = 0;
  ValueDifference largest;
  Json first = Json::array();
};

class ValueComparison {
 public:
  ValueComparison(const CompareOptions& options, const Profile& a, const Profile& b)
      : options_(options), a_(a), b_(b) {}

  Result<Json> run(const std::vector<std::pair<std::size_t, std::size_t>>& metrics) {
    std::vector<MetricPair> pairs;
    std::uint64_t bytes = 0;
    for (const auto& [i, j] : metrics) {
      pairs.push_back(make_pair_of(i, j));
      bytes += pairs.back().row_bytes_a * a_.anchor().call_tree.size();
    }
    command::Progress progress(options_.progress, {"comparing " + a_.path(), "bytes", bytes});
    progress.advance(0);
    Json json = Json::array();
    for (const MetricPair& pair : pairs) {
      const auto found = compare_metric(pair, progress);
      if (!found) return failure(found.error());
      if (found->count > 0) json.push_back(metric_json(pair, *found));
    }
    return json;
  }

  std::uint64_t values_compared() const { return values_compared_; }

 private:
  MetricPair make_pair_of(std::size_t i, std::size_t j) const {
    const Metric& a = a_.anchor().metrics[i];
    const Metric& b = b_.anchor().metrics[j];
    return {{i, j}, {a.type, b.type}, a_.anchor().row_bytes(a), b_.anchor().row_bytes(b)};
  }

  Result<MetricDifferences> compare_metric(const MetricPair& pair, command::Progress& progress) {
    MetricDifferences found;
    row_a_.resize(pair.row_bytes_a);
    row_b_.resize(pair.row_bytes_b);
    const Metric& metric = a_.anchor().metrics[pair.metrics[0]];
    const auto indices = a_.anchor().call_tree.call_paths_by_row(metric.kind);
    for (std::uint32_t row = 0; row < indices.size(); ++row) {
      if (const Status read = read_rows(pair, row); !read) {
        return failure(read.error());
      }
      compare_row(pair, indices[row], found);
      progress.advance(pair.row_bytes_a);
    }
    return found;
  }

  Status read_rows(const MetricPair& pair, std::uint32_t row) {
    if (const Status read = a_.read_row(pair.metrics[0], row, row_a_, scratch_); !read) return read;
    return b_.read_row(pair.metrics[1], row, row_b_, scratch_);
  }

  void compare_row(const MetricPair& pair, std::uint32_t index, MetricDifferences& found) {
    values_compared_ += a_.anchor().locations.size();
    if (pair.types.a == pair.types.b && row_a_ == row_b_) return;
    const std::uint64_t bytes_a = pair.types.a.size_bytes();
    const std::uint64_t bytes_b = pair.types.b.size_bytes();
    for (std::uint32_t id = 0; id < a_.anchor().locations.size(); ++id) {
      const auto a = std::span<const std::byte>(row_a_).subspan(bytes_a * id, bytes_a);
      const auto b = std::span<const std::byte>(row_b_).subspan(bytes_b * id, bytes_b);
      const auto difference = compare_values(pair.types, options_.tolerance, a, b);
      if (difference) add(index, id, *difference, found);
    }
  }

  void add(std::uint32_t index,
           std::uint32_t location,
           const ValueDifference& difference,
           MetricDifferences& found) const {
    if (found.count++ < options_.shown_max) {
      found.first.push_back({{"call_path", path_name(a_.anchor(), index)},
                             {"location", location_name(a_.anchor(), location)},
                             {"a", number(difference.a)},
                             {"b", number(difference.b)}});
    }
    found.largest.absolute = std::max(found.largest.absolute, difference.absolute);
    found.largest.relative = std::max(found.largest.relative, difference.relative);
  }

  Json metric_json(const MetricPair& pair, const MetricDifferences& found) const {
    const Metric& metric = a_.anchor().metrics[pair.metrics[0]];
    return {{"name", metric.unique_name},
            {"id", metric.id},
            {"differences", found.count},
            {"largest_absolute", number(found.largest.absolute)},
            {"largest_relative", number(found.largest.relative)},
            {"first", found.first}};
  }

  const CompareOptions& options_;
  const Profile& a_;
  const Profile& b_;
  RowScratch scratch_;
  std::vector<std::byte> row_a_;
  std::vector<std::byte> row_b_;
  std::uint64_t values_compared_ = 0;
};

}  // namespace

Result<Json> compare(const CompareOptions& options) {
  const auto a = open_profile_for_scan(options.paths[0]);
  if (!a) return failure(a.error());
  const auto b = open_profile_for_scan(options.paths[1]);
  if (!b) return failure(b.error());
  const StructureDifferences structure = compare_structure(a->anchor(), b->anchor());
  ValueComparison values(options, *a, *b);
  Json metrics = Json::array();
  if (structure.has_matching_rows) {
    auto compared = values.run(structure.metrics);
    if (!compared) return failure(compared.error());
    metrics = std::move(*compared);
  }
  return Json{
      {"a", a->path()},
      {"b", b->path()},
      {"ok", structure.messages.empty() && metrics.empty()},
      {"structure", structure.messages},
      {"metrics", metrics},
      {"values_compared", values.values_compared()},
      {"tolerance",
       {{"absolute", options.tolerance.absolute}, {"relative", options.tolerance.relative}}}};
}

}  // namespace forebay::cube
