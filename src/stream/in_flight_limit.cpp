// SPDX-License-Identifier: Apache-2.0
#include "stream/in_flight_limit.hpp"

#include <system_error>
#include <utility>

#include <sys/stat.h>

#include "stream/write_access.hpp"

namespace forebay::stream {

namespace {

// Of folders, not of files: in an overlay of several file systems a file may say that it is on
// another device than the folder it was made in.
std::optional<dev_t> device_of(const std::filesystem::path& folder) {
  struct stat facts{};
  if (::stat(folder.c_str(), &facts) != 0) return std::nullopt;
  return facts.st_dev;
}

}  // namespace

// Of entries, only folders above `folder` are looked at: a file server that does not answer must
// not hold up those who write elsewhere.
std::optional<model::ProfileMount> mount_of_folder(model::Profile profile,
                                                   const std::filesystem::path& folder) {
  std::error_code failed;
  const model::ProfilePlace place{.folder = std::filesystem::canonical(folder, failed),
                                  .host = model::name_of_this_host()};
  const std::optional<dev_t> device = device_of(folder);
  if (failed || !device) return std::nullopt;
  while (const model::ProfileMount* const found = find_mount(profile, place)) {
    if (device_of(found->path) == device) return *found;
    profile.mounts.erase(profile.mounts.begin() + (found - profile.mounts.data()));
  }
  return std::nullopt;
}

InFlightLimit in_flight_limit(const model::Profile& profile,
                              const std::filesystem::path& folder,
                              storage::FileSystem kind,
                              const StorageNeeds& needs) {
  const std::string storage = needs.reason.empty() ? "" : "; " + needs.reason;
  if (const auto mount = mount_of_folder(profile, folder)) {
    std::string reason = "as the profile has it for " + mount->path.string();
    if (!mount->source.empty()) reason += " (" + mount->source + ")";
    return {mount->in_flight_bytes, LimitSource::kProfile, reason + storage};
  }
  const InFlightDefault usual = default_in_flight(kind);
  if (needs.busy_bytes > usual.bytes)
    return {needs.busy_bytes, LimitSource::kStorage, "as its servers need" + storage};
  return {usual.bytes, LimitSource::kUsual, usual.reason + storage};
}

}  // namespace forebay::stream
