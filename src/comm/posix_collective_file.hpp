// SPDX-License-Identifier: Apache-2.0
// A CollectiveFile of plain system calls: each rank transfers its own part, and the ranks agree on
// the outcome. What ranks without MPI use, and what MPI-IO is compared with.
#pragma once

#include <memory>
#include <string>

#include "comm/communicator.hpp"

namespace forebay::comm {

/// Opens and closes `path` on this rank alone, creating it if `intent` says so: finds out whether
/// it can be opened. Regular files and block devices only.
Status try_open(const std::string& path, FileIntent intent);

/// Collective. `ranks` becomes part of the file and should be used for nothing else. Hints are
/// ignored.
Result<std::unique_ptr<CollectiveFile>> open_posix_file(std::shared_ptr<Communicator> ranks,
                                                        const std::string& path,
                                                        const CollectiveOpen& how);

}  // namespace forebay::comm
