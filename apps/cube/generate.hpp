// SPDX-License-Identifier: Apache-2.0
// Writes a synthetic profile at the bandwidth of the disk: free threads compute rows, and a stream
// writes them behind the computation, each to its offset.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "command/progress.hpp"
#include "cube/index.hpp"
#include "cube/synthetic.hpp"

namespace forebay::cube {

struct GenerateOptions {
  std::string path;
  SyntheticOptions shape;
  std::uint64_t rows = 0;  ///< of all metrics; from metrics to metrics * call_paths
  std::uint64_t seed = 1;
  IndexFormat index = IndexFormat::kSparse;  ///< dense applies to metrics that have all rows
  ByteOrder order = ByteOrder::kLittle;
  std::optional<int> compression_level = std::nullopt;  ///< absent: plain rows
  unsigned workers = 1;
  command::ProgressMode progress = command::ProgressMode::kSilent;
};

/// The default number of rows. For 11 metrics with 56 call paths it is 614, all but two, as in the
/// inputs of the study; other shapes have all rows.
std::uint64_t default_row_count(const SyntheticOptions& shape);

/// Writes the file. Its bytes depend on the options except `workers`. Memory: the description; 8
/// MiB for each worker and two more; if rows are longer, one row for each worker; with compression,
/// another 128 MiB and one row for each worker. After a failure there is no new file.
Status generate(const GenerateOptions& options);

}  // namespace forebay::cube
