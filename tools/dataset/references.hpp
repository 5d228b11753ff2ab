// SPDX-License-Identifier: Apache-2.0
// A step for readers of Zarr: a file of references that say where in the data files each chunk
// lies, so that fields are opened in place and nothing is copied.
#pragma once

#include "command/report.hpp"
#include "tools/dataset/selection.hpp"

namespace forebay::dataset_tool {

/// Writes `output`, version 1 of the reference format of Kerchunk: a part is an array of one chunk,
/// FIELD/PART; a global field is an array whose chunks are its blocks. The file appears when it is
/// whole. kUnsupported, naming the field and what to do, where blocks are no chunks: they form no
/// regular grid, or are stored in ways that Zarr has not; and where the path of the dataset,
/// without links, is no UTF-8 text. Data are not verified. Memory for some 300 bytes of each part.
/// Blocks.
Result<command::Json> write_references(const Selection& selection, const std::string& output);

}  // namespace forebay::dataset_tool
