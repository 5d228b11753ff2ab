// SPDX-License-Identifier: Apache-2.0
// The same transfers as fio's, by Forebay's storage engine on the ring: buffers of one pool,
// registered where that is allowed, and one thread that issues and collects.
#pragma once

#include <forebay/error.hpp>
#include <forebay/log.hpp>

#include <memory>
#include <string>

#include "bench/engine/fio.hpp"
#include "storage/buffer_pool.hpp"
#include "storage/engine.hpp"

namespace forebay::bench::engine {

/// What the engine's memory is like: usually the best there is.
struct TransferMemory {
  enum class Pages : std::uint8_t { kHuge, kSmall };
  enum class Registration : std::uint8_t { kWhereAllowed, kNone };
  Pages pages = Pages::kHuge;
  Registration registration = Registration::kWhereAllowed;
};

/// Made once and used for several loads, as an application's engine is. Belongs to one thread.
class Transfers {
 public:
  /// Buffers for requests of up to `request_bytes`, as many as may be under way.
  static Result<std::unique_ptr<Transfers>> make(std::uint64_t request_bytes,
                                                 std::uint32_t depth,
                                                 TransferMemory memory = {});

  /// Runs a load on a file, opened for direct access. Its depth is at most that of make().
  Result<Taken> run(const Load& load, const std::string& path);

  /// Whether the kernel knows the buffers beforehand.
  bool is_registered() const noexcept { return is_registered_; }

 private:
  Transfers(std::unique_ptr<storage::BufferPool> pool, std::unique_ptr<storage::Backend> backend);

  std::unique_ptr<storage::BufferPool> pool_;
  storage::Engine engine_;
  bool is_registered_ = false;
};

}  // namespace forebay::bench::engine
