// SPDX-License-Identifier: Apache-2.0
// A profile as JSON; README.md in this directory lists the fields.
#pragma once

#include "command/command_result.hpp"
#include "cube/profile.hpp"

namespace forebay::cube {

using command::Json;

Json to_json(const Remark& remark);
/// The "profile" object of all documents.
Json to_json(const Profile& profile);

/// The names of a call path, from its root: "main/solve/MPI_Send".
std::string path_name(const Anchor& anchor, std::uint32_t index);
/// A location with its group: "MPI rank 3/thread 1".
std::string location_name(const Anchor& anchor, std::uint32_t id);

}  // namespace forebay::cube
