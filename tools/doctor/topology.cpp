// SPDX-License-Identifier: Apache-2.0
// The only user of hwloc in the doctor.
#include "tools/doctor/topology.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <hwloc.h>
#include <nlohmann/json.hpp>

namespace forebay::doctor {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Handle = std::unique_ptr<hwloc_topology, Destroy>;

Handle load() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return {};
  Handle handle(raw);
  if (hwloc_topology_load(raw) != 0) return {};
  return handle;
}

unsigned count(const Handle& handle, hwloc_obj_type_t type) {
  return static_cast<unsigned>(std::max(0, hwloc_get_nbobjs_by_type(handle.get(), type)));
}

std::uint64_t cache_bytes(const Handle& handle, hwloc_obj_type_t type) {
  const hwloc_obj_t cache = hwloc_get_obj_by_type(handle.get(), type, 0);
  return cache == nullptr ? 0 : cache->attr->cache.size;
}

std::string with_plural(unsigned number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

}  // namespace

Topology find_topology() {
  const Handle handle = load();
  if (!handle) return {};
  return {.packages = count(handle, HWLOC_OBJ_PACKAGE),
          .numa_nodes = count(handle, HWLOC_OBJ_NUMANODE),
          .cores = count(handle, HWLOC_OBJ_CORE),
          .hardware_threads = count(handle, HWLOC_OBJ_PU),
          .l2_bytes = cache_bytes(handle, HWLOC_OBJ_L2CACHE),
          .l3_bytes = cache_bytes(handle, HWLOC_OBJ_L3CACHE)};
}

std::string summary_of(const Topology& topology) {
  return fmt::format("{}, {}, {}, {}", with_plural(topology.packages, "package"),
                     with_plural(topology.numa_nodes, "NUMA node"),
                     with_plural(topology.cores, "core"),
                     with_plural(topology.hardware_threads, "hardware thread"));
}

nlohmann::json to_json(const Topology& topology) {
  return {{"packages", topology.packages},  {"numa_nodes", topology.numa_nodes},
          {"cores", topology.cores},        {"hardware_threads", topology.hardware_threads},
          {"l2_bytes", topology.l2_bytes},  {"l3_bytes", topology.l3_bytes},
          {"summary", summary_of(topology)}};
}

}  // namespace forebay::doctor
