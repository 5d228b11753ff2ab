// SPDX-License-Identifier: Apache-2.0
// Everything forebay-doctor knows, collected into its one JSON document. Facts only: what they
// mean, and what to do about them, is said by `forebay doctor`.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>

#include <nlohmann/json_fwd.hpp>

#include "tools/doctor/backends.hpp"

namespace forebay::doctor {

/// Looks at this machine, at `folder` and at /dev/shm, without measuring. Keys: machine, topology,
/// io_uring, limits, page_cache, folder, backends. Fails if there is no such folder.
Result<nlohmann::json> examine(const std::filesystem::path& folder, const Settings& settings = {});

}  // namespace forebay::doctor
