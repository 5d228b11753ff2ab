// SPDX-License-Identifier: Apache-2.0
// Open files of MPI-IO, and records of calls on them. After a call has succeeded, its arguments are
// valid, so queries with them invoke no error handler. All queries are local.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/pmpi/mpi_function.hpp"
#include "trace/run_memory.hpp"

namespace forebay::interpose {

struct MpiFile {
  std::atomic<Word> handle;  ///< 0: the entry is free
  std::atomic<std::uint16_t> number;
  bool is_sequential;   ///< MPI_MODE_SEQUENTIAL: it has no offsets
  trace::RunOpen open;  ///< as announced
};

/// A call that has read, or has begun to.
struct MpiRead {
  std::int64_t position = -1;  ///< in units of the etype; negative: unknown
  std::int64_t count = 0;
  Word type = 0;
  Word status = 0;  ///< 0: none
  bool is_collective = false;
};

/// Null: nothing is recorded of the file.
MpiFile* find_file(Word handle) noexcept;
/// The individual file pointer; negative if there is none.
std::int64_t position_of(const MpiFile& file) noexcept;

// After a call.
void record_open(Word handle, const char* name, int mode, std::uint64_t begin_ns) noexcept;
void record_view(MpiFile& file,
                 std::int64_t displacement,
                 Word etype,
                 Word filetype,
                 std::uint64_t begin_ns) noexcept;
void record_seek(const MpiFile& file, std::uint64_t begin_ns) noexcept;
void record_read(const MpiFile& file, const MpiRead& read, std::uint64_t begin_ns) noexcept;

/// Before the file is closed: its handle may then belong to a file of another thread. Returns its
/// number, for record_close().
std::uint16_t remove_file(MpiFile& file) noexcept;
void record_close(std::uint16_t number, std::uint64_t begin_ns) noexcept;

}  // namespace forebay::interpose
