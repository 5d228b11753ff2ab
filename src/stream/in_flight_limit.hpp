// SPDX-License-Identifier: Apache-2.0
// in_flight_limit(): limit of bytes in flight to the device of a directory, and its source: a
// profile, facts about the storage, or a default. Separate from the queues, so that the doctor
// reports the same limit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "model/profile.hpp"
#include "storage/file.hpp"

namespace forebay::stream {

enum class LimitSource : std::uint8_t { kProfile, kStorage, kDefault };

struct InFlightLimit {
  std::uint64_t bytes = 0;
  LimitSource source = LimitSource::kDefault;
  std::string reason;  ///< text for reports
};

/// Facts about a storage besides its file system.
struct StorageNeeds {
  std::uint64_t saturation_bytes = 0;  ///< in flight, to keep its servers busy; 0: unknown
  std::string reason = {};             ///< its source; empty: none
};

/// The entry of a profile that applies to files in `directory` on this host; no value if none does,
/// or the directory does not exist. It need not be absolute.
std::optional<model::ProfileMount> mount_of_directory(model::Profile profile,
                                                      const std::filesystem::path& directory);

/// The limit for files of `directory`, whose file system is of this kind. A profile was measured,
/// so it has priority. Otherwise the limit is the default, or more if the storage needs more.
InFlightLimit in_flight_limit(const model::Profile& profile,
                              const std::filesystem::path& directory,
                              storage::FileSystem kind,
                              const StorageNeeds& needs = {});

}  // namespace forebay::stream
