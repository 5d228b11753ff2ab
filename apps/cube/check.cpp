// SPDX-License-Identifier: Apache-2.0
#include "cube/check.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cube/profile_file.hpp"

namespace forebay::cube {

namespace {

bool is_file_error(const Error& error) {
  return error.kind() == ErrorClass::kDamage || error.kind() == ErrorClass::kShortFile ||
         error.kind() == ErrorClass::kUnsupported || error.kind() == ErrorClass::kLimit;
}

/// A metric whose rows were located.
struct MeasuredMetric {
  std::size_t metric = 0;
  StoredRows rows;
};

/// Values of a metric that are not finite.
struct NonFiniteCount {
  std::uint64_t count = 0;
  std::uint64_t first_offset = 0;
};

/// Checks a file and collects its problems. Each step returns only Errors that end the check: those
/// of the machine.
class Checker {
 public:
  explicit Checker(const CheckOptions& options) : options_(options) {}

  Result<Json> run() {
    auto source = open_posix_file(options_.path);
    if (!source) return failure(source.error());
    source_ = std::move(*source);
    if (const Status done = check_all(); !done) return failure(done.error());
    return document();
  }

 private:
  Status check_all() {
    auto container = read_container(*source_);
    if (!container) return add_problem(container.error());
    container_ = std::move(*container);
    auto anchor = read_anchor(*source_, container_);
    if (!anchor) return add_problem(anchor.error());
    anchor_ = std::move(*anchor);
    if (const Status found = find_all_rows(); !found) return found;
    check_members();
    auto reader = open_session_file(options_.path);
    if (!reader) return failure(reader.error());
    return check_rows(**reader);
  }

  Status find_all_rows() {
    for (std::size_t i = 0; i < anchor_.metrics.size(); ++i) {
      auto rows = find_rows(*source_, container_, anchor_, anchor_.metrics[i]);
      if (!rows) {
        if (const Status noted = add_problem(rows.error()); !noted) return noted;
      } else if (*rows) {
        metrics_.push_back({i, std::move(**rows)});
      }
    }
    // In file order, so that the whole file is read sequentially.
    std::ranges::sort(metrics_, {},
                      [](const MeasuredMetric& found) { return found.rows.data.offset; });
    return {};
  }

  void check_members() {
    std::set<std::string> known{std::string(kAnchorName), std::string(kSpecificationName),
                                std::string(kPaddingName)};
    for (const Metric& metric : anchor_.metrics) {
      if (!is_measured(metric.kind)) continue;
      known.insert(data_name(metric.id));
      known.insert(index_name(metric.id));
    }
    for (const Member& member : container_.members) {
      if (known.contains(member.name)) continue;
      container_.remarks.push_back(
          {member.header_offset, fmt::format("{} belongs to no measured metric", member.name)});
    }
  }

  Status check_rows(const RandomAccessFile& reader) {
    std::uint64_t bytes = 0;
    for (const MeasuredMetric& found : metrics_)
      bytes += found.rows.row_bytes * found.rows.index.rows.size();
    command::Progress progress(options_.progress, {"checking " + options_.path, "bytes", bytes});
    progress.advance(0);
    for (const MeasuredMetric& found : metrics_) {
      if (const Status checked = check_metric(reader, found, progress); !checked) return checked;
    }
    return {};
  }

  Status check_metric(const RandomAccessFile& reader,
                      const MeasuredMetric& found,
                      command::Progress& progress) {
    const Metric& metric = anchor_.metrics[found.metric];
    if (found.rows.trailing_bytes > 0) {
      container_.remarks.push_back(
          {found.rows.data.end() - found.rows.trailing_bytes,
           fmt::format("{} bytes follow the last row of metric {} ({})", found.rows.trailing_bytes,
                       metric.id, metric.unique_name)});
    }
    std::vector<std::byte> row(found.rows.row_bytes);
    NonFiniteCount non_finite;
    for (std::uint64_t position = 0; position < found.rows.index.rows.size(); ++position) {
      const Status read = read_stored_row(reader, found.rows, position, row, scratch_);
      if (!read) {
        if (const Status noted = add_problem(read.error()); !noted) return noted;
      } else {
        count_non_finite(row, metric.type, found.rows.row(position).offset, non_finite);
        ++rows_checked_;
      }
      progress.advance(row.size());
    }
    remark_non_finite(metric, non_finite);
    return {};
  }

  /// A number that is not finite is a sign of a failed measurement.
  static void count_non_finite(std::span<const std::byte> row,
                               ValueType type,
                               std::uint64_t offset,
                               NonFiniteCount& non_finite) {
    const bool is_number = type.kind >= ValueKind::kDouble && type.kind <= ValueKind::kMaxDouble;
    if (!is_number) return;
    for (; !row.empty(); row = row.subspan(sizeof(double))) {
      if (std::isfinite(load<double>(row))) continue;
      if (non_finite.count++ == 0) non_finite.first_offset = offset;
    }
  }

  void remark_non_finite(const Metric& metric, const NonFiniteCount& non_finite) {
    if (non_finite.count == 0) return;
    container_.remarks.push_back(
        {non_finite.first_offset,
         fmt::format(
             "{} values of metric {} ({}) are not finite; the first is in the row at this offset",
             non_finite.count, metric.id, metric.unique_name)});
  }

  /// Records damage of the file; returns any other Error.
  Status add_problem(const Error& error) {
    if (!is_file_error(error)) return failure(error);
    Json offset = nullptr;
    if (error.offset_bytes()) offset = *error.offset_bytes();
    problems_.push_back(
        {{"class", name_of(error.kind())}, {"offset", offset}, {"message", error.message()}});
    return {};
  }

  Json document() const {
    Json remarks = Json::array();
    for (const Remark& remark : container_.remarks)
      remarks.push_back(to_json(remark));
    return {{"path", options_.path},
            {"ok", problems_.empty()},
            {"problems", problems_},
            {"remarks", remarks},
            {"members", container_.members.size()},
            {"metrics", anchor_.metrics.size()},
            {"rows_checked", rows_checked_},
            {"values_checked", rows_checked_ * anchor_.locations.size()}};
  }

  const CheckOptions& options_;
  std::shared_ptr<const RandomAccessFile> source_;
  Container container_;
  Anchor anchor_;
  std::vector<MeasuredMetric> metrics_;
  RowScratch scratch_;
  Json problems_ = Json::array();
  std::uint64_t rows_checked_ = 0;
};

}  // namespace

Result<Json> check(const CheckOptions& options) { return Checker(options).run(); }

}  // namespace forebay::cube
