// SPDX-License-Identifier: Apache-2.0
// A directory of files as a store, as programs write it without a library. Each step is a directory
// with a file for each part; an empty file `complete` marks a complete step. It is the baseline for
// other stores. Byte order is that of this machine.
#pragma once

#include <memory>
#include <string>

#include "flow/part_store.hpp"

namespace forebay::flow {

/// A StoreOpener. To read, the directory must exist; to write, it is created.
Result<std::unique_ptr<PartStore>> open_directory_store(const std::string& path,
                                                        StoreMode mode,
                                                        SolverComm& comm);

}  // namespace forebay::flow
