// SPDX-License-Identifier: Apache-2.0
// Writes a new profile: rows are made by several threads, on one process or several, and written
// behind them, each byte once; plain ones in one pass, compressed ones in rounds of two phases.
// Generated and remapped profiles come from here.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <span>

#include "command/progress.hpp"
#include "cube/profile_layout.hpp"
#include "cube/profile_output.hpp"
#include "cube/team.hpp"

namespace forebay::cube {

/// What makes rows.
class RowSource {
 public:
  virtual ~RowSource() = default;
  /// Fills `into`, which is as long as they are, with rows. `thread` counts from 0; calls of
  /// different threads may be at once.
  virtual Status fill(const RowChunk& chunk, std::span<std::byte> into, unsigned thread) = 0;
  /// These will be asked for soon: a hint, from any thread, several at once.
  virtual void expect(const RowChunk& /*chunk*/) {}
};

/// Who writes what, to where. All of it outlives the call that takes it.
struct ProfileWriter {
  const NewProfile& profile;
  RowSource& rows;
  ProfileOutput& output;
  command::Progress& progress;  ///< in bytes of rows
  unsigned threads = 1;
};

/// Writes the rows of `chunks`, and `frame`, which may be none of it: that of all ranks together is
/// the layout's.
Status write_plain_rows(const ProfileWriter& writer,
                        const ProfileLayout& layout,
                        std::span<const Piece> frame,
                        std::span<const RowChunk> chunks);

/// How rows are compressed.
struct Packing {
  int level = 0;
  std::uint64_t memory_bytes = 0;  ///< for compressed rows on each rank, or a row for each thread
};

/// Compresses and writes everything. Collective over `team`: the profile is the same on all, and so
/// are level and memory. The outcome is the same on all ranks as far as compressing goes; writing
/// goes on behind, and its outcome is agreed upon by ProfileOutput::publish().
Status write_packed_rows(const ProfileWriter& writer, const Packing& packing, Team& team);

}  // namespace forebay::cube
