// SPDX-License-Identifier: Apache-2.0
// The same transfers as fio's, by Forebay's storage engine on io_uring: buffers of one pool,
// registered where permitted, and one thread that submits and reaps.
#pragma once

#include <forebay/error.hpp>
#include <forebay/log.hpp>

#include <memory>
#include <string>

#include "bench/engine/fio.hpp"
#include "storage/buffer_pool.hpp"
#include "storage/engine.hpp"

namespace forebay::bench::engine {

/// Properties of the engine's memory; by default the fastest available.
struct TransferMemory {
  enum class Pages : std::uint8_t { kHuge, kSmall };
  enum class Registration : std::uint8_t { kWhereAllowed, kNone };
  Pages pages = Pages::kHuge;
  Registration registration = Registration::kWhereAllowed;
};

/// Created once and used for several loads, as an application's engine. Used by one thread.
class EngineTransfers {
 public:
  /// Creates `depth` buffers for requests of up to `request_bytes`.
  static Result<std::unique_ptr<EngineTransfers>> make(std::uint64_t request_bytes,
                                                       std::uint32_t depth,
                                                       TransferMemory memory = {});

  /// Runs a load on a file, opened for direct access. Its depth is at most that of make().
  Result<TransferCost> run(const TransferLoad& load, const std::string& path);

  /// Whether the buffers are registered with the kernel.
  bool is_registered() const noexcept { return is_registered_; }

 private:
  EngineTransfers(std::unique_ptr<storage::BufferPool> pool,
                  std::unique_ptr<storage::Backend> backend);

  std::unique_ptr<storage::BufferPool> pool_;
  storage::Engine engine_;
  bool is_registered_ = false;
};

}  // namespace forebay::bench::engine
