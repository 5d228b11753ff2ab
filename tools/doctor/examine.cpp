// SPDX-License-Identifier: Apache-2.0
// Asks the library's own probes, the kernel and hwloc, and writes down what they say.
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
#include "tools/probe/machine.hpp"

namespace forebay::doctor {
namespace {

using nlohmann::json;

/// Looked at besides the folder: programs keep scratch files there.
constexpr const char* kSharedMemory = "/dev/shm";

json limit_json(int resource) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return nullptr;
  if (limit.rlim_cur == RLIM_INFINITY) return nullptr;
  return limit.rlim_cur;
}

// A null is "no limit".
json limits_json() {
  return {{"memlock_bytes", limit_json(RLIMIT_MEMLOCK)},
          {"open_files", limit_json(RLIMIT_NOFILE)},
          {"threads", limit_json(RLIMIT_NPROC)}};
}

json io_uring_json(const storage::BackendProbe& probe) {
  json disabled = nullptr;
  if (probe.io_uring_disabled) disabled = *probe.io_uring_disabled;
  return {{"works", probe.ring_works},
          {"reason", probe.ring_reason},
          {"disabled_sysctl", std::move(disabled)},
          {"buffers_register", probe.buffers_register},
          {"buffers_reason", probe.buffers_reason}};
}

// Whether the kernel can count a file's cached pages in one call (Linux 6.5); mincore is always
// there.
bool knows_cachestat() {
  constexpr long kCachestatCall = 451;
  constexpr int kNoDescriptor = -1;
  return syscall(kCachestatCall, kNoDescriptor, nullptr, nullptr, 0) != 0 && errno != ENOSYS;
}

json direct_json(const probe::DirectAccess& direct) {
  return {{"possible", direct.possible},
          {"memory_alignment_bytes", direct.memory_alignment_bytes},
          {"offset_alignment_bytes", direct.offset_alignment_bytes},
          {"refusal", direct.refusal}};
}

Result<json> folder_json(const std::filesystem::path& folder) {
  const auto file_system = probe::describe_file_system(folder);
  if (!file_system) return tl::unexpected(file_system.error());
  json result = to_json(*file_system);
  result["writable"] = access(folder.c_str(), W_OK | X_OK) == 0;
  result["direct"] = nullptr;
  if (const auto direct = probe::probe_direct_access(folder))
    result["direct"] = direct_json(*direct);
  return result;
}

}  // namespace

Result<json> examine(const std::filesystem::path& folder, const Settings& settings) {
  Result<json> place = folder_json(folder);
  if (!place) return place;
  const storage::BackendProbe probe = storage::probe_backends();
  const std::array<std::filesystem::path, 2> places{folder, kSharedMemory};
  return json{{"machine", to_json(probe::describe_machine())},
              {"load", to_json(probe::current_load())},
              {"topology", to_json(find_topology())},
              {"io_uring", io_uring_json(probe)},
              {"limits", limits_json()},
              {"page_cache", {{"cachestat", knows_cachestat()}, {"mincore", true}}},
              {"folder", std::move(*place)},
              {"backends", backends_json(places, probe, settings)}};
}

}  // namespace forebay::doctor
