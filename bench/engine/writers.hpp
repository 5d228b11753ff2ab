// SPDX-License-Identifier: Apache-2.0
// A loop that computes a buffer, writes it and computes the next, with four methods of writing:
// synchronous, glibc's asynchronous I/O, a thread, and Forebay. They throw Errors.
#pragma once

#include <forebay/runtime.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "bench/engine/computation.hpp"

namespace forebay::bench::engine {

/// `count` buffers to compute and write, alternating between `paths`, at consecutive offsets. The
/// files exist, with blocks for all bytes.
struct WriteLoop {
  std::vector<std::string> paths;
  Access access = Access::kDirect;
  std::uint64_t buffer_bytes = 0;
  std::uint64_t count = 0;
  BufferComputation computation;
};

/// Times until all is written, in the sense of write(2), without the opening of files.
struct LoopTimes {
  double total_s = 0;
  double compute_s = 0;  ///< of all buffers
};

/// Compute, pwrite, compute, pwrite; one buffer.
LoopTimes run_synchronous(const WriteLoop& loop);

/// aio_write, as in the deck of the Cube re-mapper: fresh memory for each buffer, freed after its
/// write, without a bound; waits for all writes at the end.
LoopTimes run_with_aio(const WriteLoop& loop);

/// A thread that writes submitted buffers, and two buffers that alternate: a careful implementation
/// by hand.
LoopTimes run_with_thread(const WriteLoop& loop);

/// The memory of buffers, each time that they are filled.
enum class BufferMemory : std::uint8_t {
  kReused,  ///< the stream's memory, allocated at its creation
  kFresh,  ///< pages newly allocated by the system, as for memory from malloc; buffered access only
};

/// Options of the loop's stream.
struct StreamOptions {
  std::uint32_t buffers = 2;
  BufferMemory memory = BufferMemory::kReused;
};

/// With an OutputStream.
LoopTimes run_with_forebay(Runtime& runtime, const WriteLoop& loop, StreamOptions options = {});

}  // namespace forebay::bench::engine
