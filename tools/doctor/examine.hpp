// SPDX-License-Identifier: Apache-2.0
// Collects all facts about a machine into a JSON document. `forebay doctor` interprets them and
// gives advice.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>

#include <nlohmann/json_fwd.hpp>

#include "tools/doctor/backends.hpp"

namespace forebay::doctor {

/// Examines this machine, `directory` and /dev/shm, without measurements. Keys: machine, topology,
/// io_uring, limits, page_cache, directory, backends. Fails if the directory does not exist.
Result<nlohmann::json> examine(const std::filesystem::path& directory,
                               const DoctorSettings& settings = {});

}  // namespace forebay::doctor
