// SPDX-License-Identifier: Apache-2.0
// Writes a new profile, for `generate` and `remap`. Threads of one rank or several produce the
// rows, and a stream writes them behind the computation, each byte once. Plain rows take one pass,
// compressed ones rounds of two phases.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <span>

#include "command/progress.hpp"
#include "cube/profile_layout.hpp"
#include "cube/profile_output.hpp"
#include "cube/writer_comm.hpp"

namespace forebay::cube {

/// Produces rows.
class RowSource {
 public:
  virtual ~RowSource() = default;
  /// Fills `into`, which has the size of `chunk`, with its rows. `thread` counts from 0. Calls of
  /// different threads may overlap.
  virtual Status fill(const RowChunk& chunk, std::span<std::byte> into, unsigned thread) = 0;
  /// A hint that fill() will be called for `chunk` soon. May be called by several threads at once.
  virtual void prefetch(const RowChunk& /*chunk*/) {}
};

/// The arguments of a write. All of them must outlive the call that takes them.
struct ProfileWriter {
  const NewProfile& profile;
  RowSource& rows;
  ProfileOutput& output;
  command::Progress& progress;  ///< counts bytes of rows
  unsigned threads = 1;
};

/// Writes the rows of `chunks`, and the segments of `framing`, which may be empty. The framings of
/// all ranks together must be that of `layout`.
Status write_plain_rows(const ProfileWriter& writer,
                        const ProfileLayout& layout,
                        std::span<const FileSegment> framing,
                        std::span<const RowChunk> chunks);

/// Parameters of compression.
struct CompressionOptions {
  int level = 0;
  /// For compressed rows on each rank; one row for each thread if that is more.
  std::uint64_t memory_bytes = 0;
};

/// Compresses and writes the complete profile. Collective over `comm`; the profile, `level` and
/// `memory_bytes` must be equal on all ranks. Failures of compression are returned on all ranks.
/// Writing continues asynchronously; ProfileOutput::publish() makes its outcome equal on all ranks.
Status write_compressed_rows(const ProfileWriter& writer,
                             const CompressionOptions& compression,
                             WriterComm& comm);

}  // namespace forebay::cube
