// SPDX-License-Identifier: Apache-2.0
// A CollectiveFile on POSIX calls: each rank transfers its own part, and the ranks agree on the
// outcome. Used by ranks without MPI, and as the reference for MPI-IO.
#pragma once

#include <memory>
#include <string>

#include "comm/communicator.hpp"

namespace forebay::comm {

/// Opens and closes `path` on this rank alone, and creates it if `intent` is kCreate: checks
/// whether it can be opened. Regular files and block devices only.
Status try_open(const std::string& path, FileIntent intent);

/// Collective. `ranks` becomes part of the file and should be used for nothing else. Ignores hints.
Result<std::unique_ptr<CollectiveFile>> open_posix_file(std::shared_ptr<Communicator> ranks,
                                                        const std::string& path,
                                                        const CollectiveOpenOptions& how);

}  // namespace forebay::comm
