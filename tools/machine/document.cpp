// SPDX-License-Identifier: Apache-2.0
// Machine files as JSON. Numbers keep the units of their keys; unlimited values are null.
#include "tools/machine/document.hpp"

#include <cmath>

#include "model/queueing.hpp"

namespace forebay::machine_tool {

namespace {

using model::Machine;
using model::RequestKind;
using nlohmann::json;

json finite(double number) { return std::isfinite(number) ? json(number) : json(nullptr); }

/// The main numbers.
json summary_of(const Machine& machine) {
  return {{"clients", machine.client.count},
          {"servers", machine.server_count()},
          {"metadata_servers", machine.metadata.servers},
          {"page_cache", machine.client.page_cache},
          {"read_mb_per_s", finite(storage_limit_mb_per_s(machine, RequestKind::kRead))},
          {"write_mb_per_s", finite(storage_limit_mb_per_s(machine, RequestKind::kWrite))},
          {"latency_us", machine.servers.front().latency_us}};
}

/// Values of describe() are TOML; single values are the same in JSON.
json value_of(const std::string& toml) { return json::parse(toml); }

json values_of(const Machine& machine) {
  json values = json::array();
  for (const model::MachineValue& one : describe(machine)) {
    values.push_back({{"key", one.key},
                      {"value", value_of(one.value)},
                      {"source", one.source ? json(*one.source) : json(nullptr)}});
  }
  return values;
}

json lock_unit_of(const json& values) {
  for (const json& one : values) {
    if (one["key"] == "locks.unit") return one["value"];
  }
  return nullptr;
}

json keys_without_source(const Machine& machine) {
  json keys = json::array();
  for (const model::MachineValue& one : describe(machine)) {
    if (!one.source) keys.push_back(one.key);
  }
  return keys;
}

json entry_of(const Machine& machine, const std::filesystem::path& path) {
  json summary = summary_of(machine);
  summary["lock_unit"] = lock_unit_of(values_of(machine));
  return {{"name", machine.name},
          {"path", path.string()},
          {"about", machine.about},
          {"numbers_hash", numbers_hash(machine)},
          {"summary", std::move(summary)}};
}

json list_one(const std::string& name, Directories directories) {
  const auto path = model::find_machine(name, directories);
  const auto machine = model::load_machine(name, directories);
  if (path && machine) return entry_of(*machine, *path);
  return {{"name", name},
          {"path", path ? json(path->string()) : json(nullptr)},
          {"error", machine.error().message()}};
}

}  // namespace

json list_machines(Directories directories) {
  json machines = json::array();
  for (const std::string& name : model::machine_names(directories))
    machines.push_back(list_one(name, directories));
  json places = json::array();
  for (const std::filesystem::path& directory : directories)
    places.push_back(directory.string());
  return {{"folders", std::move(places)}, {"machines", std::move(machines)}};
}

Result<json> show_machine(const std::string& name_or_path, Directories directories) {
  const auto path = model::find_machine(name_or_path, directories);
  if (!path) return failure(path.error());
  const auto machine = model::load_machine(name_or_path, directories);
  if (!machine) return failure(machine.error());
  json document = entry_of(*machine, *path);
  document["values"] = values_of(*machine);
  document["without_source"] = keys_without_source(*machine);
  document["toml"] = model::to_toml(*machine);
  return document;
}

}  // namespace forebay::machine_tool
