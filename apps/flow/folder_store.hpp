// SPDX-License-Identifier: Apache-2.0
// A store as programs make it by hand: in a folder for each step, a file for each part, and an
// empty file that says that all are there. It needs nothing but files, and is what others are
// compared with. In this machine's byte order.
#pragma once

#include <memory>
#include <string>

#include "flow/part_store.hpp"

namespace forebay::flow {

/// A StoreOpener. The folder must exist for reading; it is made for writing.
Result<std::unique_ptr<PartStore>> open_folder_store(const std::string& path,
                                                     StoreUse use,
                                                     Team& team);

}  // namespace forebay::flow
