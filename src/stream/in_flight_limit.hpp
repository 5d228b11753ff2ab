// SPDX-License-Identifier: Apache-2.0
// How many bytes may be under way to the device of a folder, and the source of that: a profile,
// what is known of the storage, or what is usual. Apart from the queues, so that the doctor says
// what streams do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "model/profile.hpp"
#include "storage/file.hpp"

namespace forebay::stream {

enum class LimitSource : std::uint8_t { kProfile, kStorage, kUsual };

struct InFlightLimit {
  std::uint64_t bytes = 0;
  LimitSource source = LimitSource::kUsual;
  std::string reason;  ///< as reports say it
};

/// What is known of a storage besides its file system.
struct StorageNeeds {
  std::uint64_t busy_bytes = 0;  ///< under way, that keep its servers busy; 0: not known
  std::string reason = {};       ///< the source of that; empty: there is none
};

/// The entry of a profile that counts for files in `folder` on this host; no value if none does, or
/// there is no such folder. It need not be absolute.
std::optional<model::ProfileMount> mount_of_folder(model::Profile profile,
                                                   const std::filesystem::path& folder);

/// For files of `folder`, whose file system is of this kind. A profile was measured, so it comes
/// first. Otherwise the limit is what is usual, or more if the storage needs more.
InFlightLimit in_flight_limit(const model::Profile& profile,
                              const std::filesystem::path& folder,
                              storage::FileSystem kind,
                              const StorageNeeds& needs = {});

}  // namespace forebay::stream
