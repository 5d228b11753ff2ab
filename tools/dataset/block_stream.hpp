// SPDX-License-Identifier: Apache-2.0
// The bytes of a step as a stream, for a program that makes another format of them without knowing
// ours.
#pragma once

#include <cstdio>

#include "tools/dataset/selection.hpp"

namespace forebay::dataset_tool {

/// Writes a line of JSON that tells of the fields; then for each block a line that tells its field,
/// part or start, shape and bytes, and the bytes themselves; then the line {"end":true}, without
/// which it is not whole. All bytes are verified. Memory for two pieces. Blocks.
Status stream_blocks(const Selection& selection, std::FILE* into);

}  // namespace forebay::dataset_tool
