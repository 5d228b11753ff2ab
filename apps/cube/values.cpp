// SPDX-License-Identifier: Apache-2.0
#include "cube/values.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cube/profile_file.hpp"

namespace forebay::cube {

namespace {

Json number_json(Scalar scalar, std::span<const std::byte> bytes) {
  if (scalar == Scalar::kU64) return load<std::uint64_t>(bytes);
  if (scalar == Scalar::kI64) return load<std::int64_t>(bytes);
  const double number = as_double(scalar, bytes);
  if (!std::isfinite(number)) return nullptr;
  if (scalar == Scalar::kF64) return number;
  return static_cast<std::int64_t>(number);
}

Json value_json(ValueType type, std::span<const std::byte> value) {
  Json numbers = Json::array();
  auto rest = value;
  for (const ScalarRun& run : scalar_runs_of(type, value)) {
    for (std::uint32_t i = 0; i < run.count; ++i) {
      numbers.push_back(number_json(run.scalar, rest));
      rest = rest.subspan(size_of(run.scalar));
    }
  }
  return type.is_scalar() ? numbers.front() : numbers;
}

Json row_json(ValueType type, std::span<const std::byte> row) {
  Json values = Json::array();
  for (; !row.empty(); row = row.subspan(type.size_bytes()))
    values.push_back(value_json(type, row.first(type.size_bytes())));
  return values;
}

tl::unexpected<Error> values_error(const ValuesOptions& options,
                                   ErrorClass kind,
                                   std::string cause) {
  return failure(
      {.kind = kind, .operation = "read values", .path = options.path, .cause = std::move(cause)});
}

Result<std::size_t> find_measured(const Profile& profile, const ValuesOptions& options) {
  const auto found = find_metric(profile.anchor(), options.metric);
  if (!found) return failure(with_location(found.error(), options.path));
  if (!is_measured(profile.anchor().metrics[*found].kind)) {
    return values_error(
        options, ErrorClass::kUnsupported,
        fmt::format("metric '{}' is derived and has no stored values", options.metric));
  }
  return found;
}

}  // namespace

Result<Json> read_values(const ValuesOptions& options) {
  const auto profile = open_profile(options.path);
  if (!profile) return failure(profile.error());
  const auto metric = find_measured(*profile, options);
  if (!metric) return failure(metric.error());
  const Anchor& anchor = profile->anchor();
  const Metric& described = anchor.metrics[*metric];
  const auto rows = anchor.call_tree.rows_by_call_path(described.kind);
  std::vector<std::byte> row(anchor.row_bytes(described));
  RowScratch scratch;
  Json paths = Json::array();
  for (std::uint32_t index = 0; index < rows.size(); ++index) {
    const std::uint32_t id = anchor.call_tree.at(index).id;
    if (options.cnode && *options.cnode != id) continue;
    const Status read = profile->read_row(*metric, rows[index], row, scratch);
    if (!read) return failure(read.error());
    paths.push_back({{"cnode", id},
                     {"call_path", path_name(anchor, index)},
                     {"row", rows[index]},
                     {"values", row_json(described.type, row)}});
  }
  if (options.cnode && paths.empty()) {
    return values_error(options, ErrorClass::kNotFound,
                        fmt::format("no call path has the id {}", *options.cnode));
  }
  return Json{{"metric", described.unique_name},
              {"kind", name_of(described.kind)},
              {"type", described.type.name()},
              {"call_paths", paths}};
}

}  // namespace forebay::cube
