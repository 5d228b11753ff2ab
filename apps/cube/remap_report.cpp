// SPDX-License-Identifier: Apache-2.0
#include "cube/remap_report.hpp"

#include <algorithm>

namespace forebay::cube {

namespace {

struct Counts {
  std::size_t metrics = 0;
  std::size_t rows = 0;
};

Counts count(const std::vector<RemapMetric>& metrics, RowOrigin origin) {
  Counts counts;
  for (const RemapMetric& metric : metrics) {
    if (metric.origin != origin) continue;
    ++counts.metrics;
    counts.rows += metric.index.rows.size();
  }
  return counts;
}

Json counts_json(const std::vector<RemapMetric>& metrics, RowOrigin origin) {
  const Counts counts = count(metrics, origin);
  return {{"metrics", counts.metrics}, {"rows", counts.rows}};
}

/// Metrics as `info` lists them, as far as known without reading the new file.
Json metrics_json(const std::vector<RemapMetric>& metrics) {
  Json list = Json::array();
  for (const RemapMetric& metric : metrics) {
    const Metric& description = metric.description;
    Json parent = nullptr;
    if (description.parent != kNone) parent = description.parent;
    list.push_back({{"id", description.id},
                    {"name", description.unique_name},
                    {"kind", name_of(description.kind)},
                    {"type", description.type.name()},
                    {"parent", parent},
                    {"rows", metric.index.rows.size()},
                    {"origin", name_of(metric.origin)}});
  }
  return list;
}

}  // namespace

Json to_json(const RemapContext& source, const std::vector<RemapMetric>& metrics) {
  const cubepl::BoundProgram& bound_program = source.bound_program();
  const auto& specified = bound_program.program().specification.metrics;
  std::size_t expressions = 0;
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < specified.size(); ++i) {
    if (is_derived(specified[i].kind)) ++expressions;
    if (bound_program.is_excluded(i)) ++left_out;
  }
  return {{"input", source.profile().path()},
          {"input_bytes", source.profile().file_bytes()},
          {"specification",
           {{"path", bound_program.program().specification.path},
            {"metrics", specified.size()},
            {"expressions", expressions},
            {"switched_off", left_out},
            {"notes", bound_program.program().notes}}},
          {"copied", counts_json(metrics, RowOrigin::kCopied)},
          {"converted", counts_json(metrics, RowOrigin::kConverted)},
          {"computed", counts_json(metrics, RowOrigin::kComputed)},
          {"without_rows", count(metrics, RowOrigin::kNoRows).metrics},
          {"rows_read", source.cache().read_count()},
          {"profile", {{"path", ""}, {"file_bytes", 0}, {"metrics", metrics_json(metrics)}}}};
}

Json to_json(const StreamReport& report) {
  Json devices = Json::array();
  for (const DeviceReport& device : report.devices)
    devices.push_back({{"path", device.path},
                       {"access", name_of(device.access)},
                       {"backend", device.backend},
                       {"reason", device.reason},
                       {"bytes", device.bytes},
                       {"requests", device.requests}});
  return {{"buffers", report.buffers},
          {"bytes", report.bytes},
          {"requests", report.requests},
          {"compute_s", report.compute_s},
          {"write_s", report.write_s},
          {"queue_wait_s", report.queue_wait_s},
          {"producer_wait_s", report.producer_wait_s},
          {"elapsed_s", report.elapsed_s},
          {"model_s", report.model_s},
          {"efficiency", report.efficiency},
          {"copied_bytes", report.copied_bytes},
          {"merged_blocks", report.merged_blocks},
          {"partial_blocks", report.partial_blocks},
          {"devices", devices}};
}

}  // namespace forebay::cube
