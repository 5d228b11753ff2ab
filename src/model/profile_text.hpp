// SPDX-License-Identifier: Apache-2.0
// Writes into the text of a profile what a calibration found. The text is somebody's: of it only
// the two values change that were measured, and comments, order and other entries stay as they are.
#pragma once

#include <forebay/error.hpp>

#include <string>
#include <string_view>

#include "model/profile.hpp"

namespace forebay::model {

/// A profile with one entry, as it is written where there was none.
std::string new_profile(const ProfileMount& mount);

/// A text to change, and what errors call it.
struct ProfileText {
  std::string_view text;
  std::string path;
};

/// The same profile, in which `mount` counts for its path on `host`: as docs/formats/profile.md has
/// it under "What a calibration changes". An entry that is there keeps its host. Pure. Fails with
/// kInvalidArgument for a text that is no profile, and for one that is written in a way that cannot
/// be added to.
Result<std::string> with_mount(const ProfileText& profile,
                               const ProfileMount& mount,
                               const std::string& host);

}  // namespace forebay::model
