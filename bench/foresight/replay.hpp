// SPDX-License-Identifier: Apache-2.0
// Replays the reads of a program: plainly with the kernel's readahead, all at once, and through an
// on-demand session.
#pragma once

#include <forebay/runtime.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "bench/foresight/streams.hpp"

namespace forebay::bench::foresight {

struct Replay;

/// Gives a session a hint before the reads. May be empty.
using Prepare = std::function<Status(const Session&, const Replay&)>;

struct Replay {
  std::filesystem::path path;
  Stream reads;
  std::size_t before = 0;              ///< reads that are not timed; the file is cold after them
  std::chrono::microseconds think{0};  ///< between the timed reads
  bool has_words = true;               ///< false: the content is not verified
  bool is_open_timed = false;
  ReadPlan plan = {.mode = Mode::kOnDemand};  ///< of time_session(), as is `prepare`
  Prepare prepare = {};
};

/// Reads of 1 KiB whose offsets depend on the words of those before, in a file of `file_bytes`.
Stream chain(std::uint64_t file_bytes, std::size_t reads);
/// Yields the first `reads` reads of the chain: reads their words from the session.
NextRead next_of_chain(const Session& session, std::size_t reads);

using ReadOne = std::function<Status(const trace::Access&, std::span<std::byte>)>;

/// Reads with `read_one`. Returns the seconds of the timed reads without the time to think.
Result<double> time_reads(const Replay& replay, const ReadOne& read_one);
/// pread() on one descriptor, one after the other, after posix_fadvise(). Only the timed reads.
Result<double> time_plain(const Replay& replay, int advice);
/// All timed reads are known: 64 threads issue them, neighbors as one request.
Result<double> time_ideal(const Replay& replay);
/// Through a session. Stores its counters in `report`.
Result<double> time_session(Runtime& runtime, const Replay& replay, SessionReport& report);

}  // namespace forebay::bench::foresight
