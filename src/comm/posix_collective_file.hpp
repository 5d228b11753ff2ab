// SPDX-License-Identifier: Apache-2.0
// A CollectiveFile on POSIX calls: each rank transfers its own part, and the ranks agree on the
// outcome. Used by ranks without MPI, and as the reference for MPI-IO.
#pragma once

#include <forebay/detail/export.hpp>

#include <memory>
#include <string>

#include "comm/communicator.hpp"

namespace forebay::comm {

/// Checks whether this rank can open `path`: opens and closes it. Local. Creates a missing file if
/// `intent` is kCreate. Rejects all but regular files and block devices.
FOREBAY_EXPORT Status try_open(const std::string& path, FileIntent intent);

/// Collective. The file keeps `ranks`, which should not be used for anything else. Ignores hints.
Result<std::unique_ptr<CollectiveFile>> open_posix_file(std::shared_ptr<Communicator> ranks,
                                                        const std::string& path,
                                                        const CollectiveOpenOptions& options);

}  // namespace forebay::comm
