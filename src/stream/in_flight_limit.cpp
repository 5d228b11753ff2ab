// SPDX-License-Identifier: Apache-2.0
#include "stream/in_flight_limit.hpp"

#include <system_error>
#include <utility>

#include <sys/stat.h>

#include "base/host_name.hpp"
#include "stream/write_access.hpp"

namespace forebay::stream {

namespace {

// Compares devices of directories, not of files: in an overlay file system a file may report
// another device than its directory.
std::optional<dev_t> device_of(const std::filesystem::path& directory) {
  struct stat facts{};
  if (::stat(directory.c_str(), &facts) != 0) return std::nullopt;
  return facts.st_dev;
}

}  // namespace

// Accesses only entries above `directory`: an unresponsive file server must not block writes to
// other places.
std::optional<model::ProfileMount> mount_of_directory(model::Profile profile,
                                                      const std::filesystem::path& directory) {
  std::error_code failed;
  const model::MountQuery place{.directory = std::filesystem::canonical(directory, failed),
                                .host = host_name()};
  const std::optional<dev_t> device = device_of(directory);
  if (failed || !device) return std::nullopt;
  while (const model::ProfileMount* const found = find_mount(profile, place)) {
    if (device_of(found->path) == device) return *found;
    profile.mounts.erase(profile.mounts.begin() + (found - profile.mounts.data()));
  }
  return std::nullopt;
}

InFlightLimit in_flight_limit(const model::Profile& profile,
                              const std::filesystem::path& directory,
                              storage::FileSystem kind,
                              const StorageNeeds& needs) {
  const std::string storage = needs.reason.empty() ? "" : "; " + needs.reason;
  if (const auto mount = mount_of_directory(profile, directory)) {
    std::string reason = "as the profile has it for " + mount->path.string();
    if (!mount->source.empty()) reason += " (" + mount->source + ")";
    return {mount->in_flight_bytes, LimitSource::kProfile, reason + storage};
  }
  const InFlightDefault default_limit = default_in_flight(kind);
  if (needs.saturation_bytes > default_limit.bytes)
    return {needs.saturation_bytes, LimitSource::kStorage, "as its servers need" + storage};
  return {default_limit.bytes, LimitSource::kDefault, default_limit.reason + storage};
}

}  // namespace forebay::stream
