// SPDX-License-Identifier: Apache-2.0
#include "tipsy/report.hpp"

namespace forebay::tipsy {

namespace {

Json counts_json(const Counts& counts) {
  Json json;
  for (const Family family : kFamilies)
    json[std::string(name_of(family))] = counts.of(family);
  json["total"] = counts.total();
  return json;
}

/// `value(family)` for each family.
template <class Value>
Json for_families(const Value& value) {
  Json json;
  for (const Family family : kFamilies)
    json[std::string(name_of(family))] = value(family);
  return json;
}

}  // namespace

Json to_json(const Snapshot& snapshot) {
  Json json{{"path", snapshot.path},
            {"file_bytes", snapshot.file_bytes},
            {"byte_order", name_of(snapshot.order)},
            {"header_bytes", snapshot.header_bytes},
            {"time", snapshot.header.time},
            {"nbodies", snapshot.counts.total()},
            {"counts", counts_json(snapshot.counts)},
            {"dialect", snapshot.has_ids() ? Json("bonsai-2") : Json(nullptr)},
            {"header_nbodies", snapshot.header.nbodies},
            {"pad", snapshot.header.pad},
            {"pad_used", snapshot.is_pad_used},
            {"precision", nullptr},
            {"candidates", Json::array()},
            {"record_bytes", nullptr},
            {"offset_bytes", nullptr},
            {"trailing_bytes", snapshot.trailing_bytes}};
  for (const Precision candidate : snapshot.candidates) {
    json["candidates"].push_back(name_of(candidate));
  }
  if (const Result<Layout> layout = snapshot.layout()) {
    json["precision"] = name_of(layout->precision);
    json["record_bytes"] =
        for_families([&](Family family) { return record_bytes(family, layout->precision); });
    json["offset_bytes"] = for_families([&](Family family) { return layout->offset_of(family); });
  }
  return json;
}

Json to_json(const PeakMemory& peaks) {
  return {{"peak_pss_bytes", peaks.pss_bytes}, {"peak_rss_bytes", peaks.rss_bytes}};
}

Json to_json(const std::optional<SourceReport>& report) {
  if (!report) return nullptr;
  const SessionReport& session = report->session;
  const ReadPlan& plan = report->plan;
  Json access = nullptr;
  if (plan.access) access = name_of(*plan.access);
  return {{"splinters_loaded", session.splinters_loaded},
          {"splinters_reread", session.splinters_reread},
          {"bytes_read", session.bytes_read},
          {"bytes_served", session.bytes_served},
          {"private_copies", session.private_copies},
          {"private_copy_bytes", session.private_copy_bytes},
          {"window_bytes", session.window_bytes},
          {"loads_by_waiters", session.loads_by_waiters},
          {"splinter_bytes", plan.tuning.splinter_bytes},
          {"budget_bytes", plan.budget_bytes},
          {"access", access},
          {"reason", plan.reason}};
}

}  // namespace forebay::tipsy
