// SPDX-License-Identifier: Apache-2.0
// One loop of a program that computes a buffer, writes it and computes the next, written in the
// ways that programs are: synchronously, with glibc's asynchronous I/O, with a thread of its own,
// and with Forebay.
#pragma once

#include <forebay/runtime.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "bench/engine/computation.hpp"

namespace forebay::bench::engine {

/// What is computed and written: `count` buffers, in turns to `paths`, at following offsets.
/// The files exist, with blocks for all of it.
struct Loop {
  std::vector<std::string> paths;
  Access access = Access::kDirect;
  std::uint64_t buffer_bytes = 0;
  std::uint64_t count = 0;
  Computation computation;
};

/// Until all is written, as write(2) means it. Opening files is not in it.
struct LoopTimes {
  double total_s = 0;
  double compute_s = 0;  ///< of all buffers
};

/// Compute, pwrite, compute, pwrite; one buffer.
Result<LoopTimes> run_synchronously(const Loop& loop);

/// aio_write, as the deck of the Cube re-mapper uses it: fresh memory for each buffer, given back
/// when its write is done, nothing bounded; at the end it waits for all.
Result<LoopTimes> run_with_aio(const Loop& loop);

/// A thread that writes what it is handed, and two buffers that go to and fro: what a careful
/// programmer writes in an afternoon.
Result<LoopTimes> run_with_thread(const Loop& loop);

/// What buffers lie in, each time that they are filled.
enum class BufferMemory : std::uint8_t {
  kKept,   ///< what the stream took when it was made
  kFresh,  ///< pages that the system gives then, as for memory from malloc; buffered access only
};

/// How the loop has its stream.
struct StreamWay {
  std::uint32_t buffers = 2;
  BufferMemory memory = BufferMemory::kKept;
};

/// A stream.
Result<LoopTimes> run_with_forebay(Runtime& runtime, const Loop& loop, StreamWay way = {});

}  // namespace forebay::bench::engine
