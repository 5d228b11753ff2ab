// SPDX-License-Identifier: Apache-2.0
// Exports a step for readers of Zarr: a file of references to the chunks in the data files. Fields
// are opened in place, and no data are copied.
#pragma once

#include "command/command_result.hpp"
#include "tools/dataset/selection.hpp"

namespace forebay::dataset_tool {

/// Writes `output`, version 1 of the reference format of Kerchunk. A part is an array of one chunk,
/// FIELD/PART; a global field is an array whose chunks are its blocks. The file appears when it is
/// complete. kUnsupported, with the field and what to do, if blocks cannot be chunks: they form no
/// regular grid, or Zarr cannot represent how they are stored. Also if the path of the dataset,
/// with links resolved, is not UTF-8. Data are not verified. Needs some 300 bytes of memory for
/// each part. Blocks.
Result<command::Json> write_references(const Selection& selection, const std::string& output);

}  // namespace forebay::dataset_tool
