// SPDX-License-Identifier: Apache-2.0
// Writes the result of a calibration into the text of a profile. The text belongs to the user: only
// the two measured values change; comments, order and other entries stay.
#pragma once

#include <forebay/error.hpp>

#include <string>
#include <string_view>

#include "model/profile.hpp"

namespace forebay::model {

/// A profile with one entry, for a file that does not exist yet.
std::string make_profile(const ProfileMount& mount);

/// A text to change, and its name in errors.
struct ProfileText {
  std::string_view text;
  std::string path;
};

/// Returns the profile with `mount` in effect for its path on `host`, as docs/formats/profile.md
/// defines under "What a calibration changes". An existing entry keeps its host. Pure. Fails with
/// kInvalidArgument for a text that is no profile, and for one to which an entry cannot be added.
Result<std::string> update_mount(const ProfileText& profile,
                                 const ProfileMount& mount,
                                 const std::string& host);

}  // namespace forebay::model
