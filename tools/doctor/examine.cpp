// SPDX-License-Identifier: Apache-2.0
// Collects results of the library's probes, the kernel and hwloc into the document.
#include "tools/doctor/examine.hpp"

#include <array>
#include <cerrno>

#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "storage/probe.hpp"
#include "tools/doctor/topology.hpp"
#include "tools/probe/file_system.hpp"
#include "tools/probe/host_info.hpp"

namespace forebay::doctor {
namespace {

using nlohmann::json;

/// Examined besides the directory, because programs store scratch files there.
constexpr const char* kSharedMemory = "/dev/shm";

json limit_json(int resource) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return nullptr;
  if (limit.rlim_cur == RLIM_INFINITY) return nullptr;
  return limit.rlim_cur;
}

// A null means no limit.
json limits_json() {
  return {{"memlock_bytes", limit_json(RLIMIT_MEMLOCK)},
          {"open_files", limit_json(RLIMIT_NOFILE)},
          {"threads", limit_json(RLIMIT_NPROC)}};
}

json io_uring_json(const storage::BackendProbe& probe) {
  json disabled = nullptr;
  if (probe.io_uring_disabled) disabled = *probe.io_uring_disabled;
  return {{"works", probe.is_ring_available},
          {"reason", probe.ring_reason},
          {"disabled_sysctl", std::move(disabled)},
          {"buffers_register", probe.can_register_buffers},
          {"buffers_reason", probe.buffers_reason}};
}

// Whether the kernel can count a file's cached pages in one call (Linux 6.5); mincore always
// exists.
bool has_cachestat() {
  constexpr long kCachestatCall = 451;
  constexpr int kNoDescriptor = -1;
  return syscall(kCachestatCall, kNoDescriptor, nullptr, nullptr, 0) != 0 && errno != ENOSYS;
}

json direct_json(const probe::DirectAccess& direct) {
  return {{"possible", direct.possible},
          {"memory_alignment_bytes", direct.memory_alignment_bytes},
          {"offset_alignment_bytes", direct.offset_alignment_bytes},
          {"reason", direct.reason}};
}

Result<json> directory_json(const std::filesystem::path& directory) {
  const auto file_system = probe::describe_file_system(directory);
  if (!file_system) return tl::unexpected(file_system.error());
  json result = to_json(*file_system);
  result["writable"] = access(directory.c_str(), W_OK | X_OK) == 0;
  result["direct"] = nullptr;
  if (const auto direct = probe::probe_direct_access(directory))
    result["direct"] = direct_json(*direct);
  return result;
}

}  // namespace

Result<json> examine(const std::filesystem::path& directory, const DoctorSettings& settings) {
  Result<json> place = directory_json(directory);
  if (!place) return place;
  const storage::BackendProbe probe = storage::probe_backends();
  const std::array<std::filesystem::path, 2> places{directory, kSharedMemory};
  return json{{"machine", to_json(probe::describe_host())},
              {"load", to_json(probe::current_load_average())},
              {"topology", to_json(find_topology())},
              {"io_uring", io_uring_json(probe)},
              {"limits", limits_json()},
              {"page_cache", {{"cachestat", has_cachestat()}, {"mincore", true}}},
              {"folder", std::move(*place)},
              {"backends", backends_json(places, probe, settings)}};
}

}  // namespace forebay::doctor
