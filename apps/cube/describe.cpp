// SPDX-License-Identifier: Apache-2.0
#include "cube/describe.hpp"

#include <algorithm>
#include <set>

namespace forebay::cube {

namespace {

Json metric_json(const Anchor& anchor,
                 const Metric& metric,
                 const std::optional<StoredRows>& rows) {
  Json parent = nullptr;
  if (metric.parent != kNone) parent = anchor.metrics[metric.parent].id;
  Json json{{"id", metric.id},
            {"name", metric.unique_name},
            {"display_name", metric.display_name},
            {"kind", name_of(metric.kind)},
            {"type", metric.type.name()},
            {"unit", metric.unit},
            {"parent", parent},
            {"value_bytes", metric.type.size_bytes()},
            {"rows", rows ? rows->index.rows.size() : 0},
            {"stored", nullptr},
            {"index", nullptr},
            {"byte_order", nullptr},
            {"offset", nullptr},
            {"data_bytes", 0}};
  if (!rows) return json;
  json["stored"] = rows->is_compressed ? "compressed" : "plain";
  json["index"] = name_of(rows->index.format);
  json["byte_order"] = rows->index.order == ByteOrder::kLittle ? "little" : "big";
  json["offset"] = rows->data.offset;
  json["data_bytes"] = rows->data.size;
  return json;
}

/// Members that are neither rows nor description.
Json other_members(const Profile& profile) {
  std::set<std::string> known{std::string(kAnchorName), std::string(kPaddingName)};
  for (const Metric& metric : profile.anchor().metrics) {
    known.insert(data_name(metric.id));
    known.insert(index_name(metric.id));
  }
  Json json = Json::array();
  for (const Member& member : profile.container().members) {
    if (!known.contains(member.name)) {
      json.push_back({{"name", member.name}, {"bytes", member.bytes.size}});
    }
  }
  return json;
}

Json attributes_json(const Anchor& anchor) {
  Json json = Json::object();
  for (const auto& [key, value] : anchor.attributes)
    json[key] = value;
  return json;
}

std::uint32_t depth_of(const CallTree& tree) {
  const auto depths = tree.depths();
  return depths.empty() ? 0 : *std::ranges::max_element(depths) + 1;
}

}  // namespace

Json to_json(const Remark& remark) { return {{"offset", remark.offset}, {"message", remark.text}}; }

Json to_json(const Profile& profile) {
  const Anchor& anchor = profile.anchor();
  Json metrics = Json::array();
  std::uint64_t row_count = 0;
  std::uint64_t value_bytes = 0;
  for (std::size_t i = 0; i < anchor.metrics.size(); ++i) {
    const auto& rows = profile.rows(i);
    metrics.push_back(metric_json(anchor, anchor.metrics[i], rows));
    row_count += rows ? rows->index.rows.size() : 0;
    value_bytes += rows ? rows->index.rows.size() * rows->row_bytes : 0;
  }
  Json remarks = Json::array();
  for (const Remark& remark : profile.container().remarks)
    remarks.push_back(to_json(remark));
  return {{"path", profile.path()},
          {"file_bytes", profile.file_bytes()},
          {"version", anchor.version},
          {"attributes", attributes_json(anchor)},
          {"regions", anchor.regions.size()},
          {"call_paths", anchor.call_tree.size()},
          {"call_depth", depth_of(anchor.call_tree)},
          {"system_nodes", anchor.nodes.size()},
          {"location_groups", anchor.groups.size()},
          {"locations", anchor.locations.size()},
          {"rows", row_count},
          {"row_bytes", value_bytes},
          {"metrics", metrics},
          {"other_members", other_members(profile)},
          {"remarks", remarks}};
}

std::string path_name(const Anchor& anchor, std::uint32_t index) {
  std::vector<std::uint32_t> indices;
  for (std::uint32_t at = index; at != kNone; at = anchor.call_tree.at(at).parent)
    indices.push_back(at);
  std::string text;
  for (std::size_t i = indices.size(); i-- > 0;)
    text += anchor.region_name_at(indices[i]) + (i > 0 ? "/" : "");
  return text;
}

std::string location_name(const Anchor& anchor, std::uint32_t id) {
  const Location& location = anchor.locations[id];
  return anchor.groups[location.group].name + "/" + location.name;
}

}  // namespace forebay::cube
