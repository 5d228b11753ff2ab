// SPDX-License-Identifier: Apache-2.0
// DataFileCore: what is behind a DataFile. It is the client of the device's queue: hands it writes
// and syncs, tells each caller what became of its own, and leaves the queue when the last of them
// is done and nobody has the file any more. OpenFiles knows those that have not left yet.
#pragma once

#include <forebay/error.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "format/records.hpp"
#include "stream/device_queue.hpp"
#include "stream/parcel.hpp"
#include "stream/target.hpp"
#include "write/errands.hpp"

namespace forebay::write {

class DataFileCore;

/// Those of a lane that a queue may still know. Any thread.
class OpenFiles {
 public:
  /// Why it is too late, if it is.
  std::optional<Error> add(const std::shared_ptr<DataFileCore>& core);
  /// The queue has forgotten it: it can go.
  void note_closed(const DataFileCore& core);
  /// Lets go of those, on a thread that may wait for a file to close.
  void sweep();
  /// All that are there, and that come, are to begin nothing more.
  void refuse(const Error& why);
  /// Returns when there are none.
  void wait_until_closed();

 private:
  std::mutex mutex_;
  std::condition_variable one_closed_;
  std::optional<Error> refused_;
  std::vector<std::shared_ptr<DataFileCore>> open_;
  std::vector<std::shared_ptr<DataFileCore>> closed_;
};

class DataFileCore final : public stream::Client {
 public:
  using Done = std::function<void(const Status&)>;
  struct Setup {
    format::DataFileName name;
    std::shared_ptr<stream::DeviceQueue> queue;
    std::shared_ptr<stream::Target> target;
    stream::AccountLimits limits;
    std::shared_ptr<Errands> errands;
    std::shared_ptr<OpenFiles> files;
  };
  explicit DataFileCore(Setup setup);

  const format::DataFileName& name() const noexcept { return setup_.name; }
  storage::File& file() const noexcept { return setup_.target->file(); }

  /// As FileLane has them. The file lives until they are done.
  void write(std::uint64_t offset_bytes, std::span<const std::byte> data, Done done);
  void sync(Done done) { wait(stream::Durability::kSynced, std::move(done)); }
  void seal(std::uint64_t end_bytes, Done done);
  /// Blocks.
  Status cut(std::uint64_t end_bytes);
  /// Blocks.
  Status punch(ByteRange place);

  /// Nothing more is begun, for this reason.
  void refuse(const Error& why) noexcept { fail(why); }
  /// Nothing more is asked of it: leaves the queue when all that was is done. Once or more often.
  void close() noexcept;

  // The queue's side.
  bool gives_up() const noexcept override { return failed_.load(std::memory_order_acquire); }
  void fail(const Error& error) noexcept override;
  void fail_parcel(stream::Parcel& parcel, const Error& error) noexcept override;
  void give_back(stream::Parcel& parcel) noexcept override;
  void reached(stream::Barrier& barrier) noexcept override;
  void note_busy(TimePoint /*now*/) noexcept override {}
  void note_idle(TimePoint /*now*/) noexcept override {}

 private:
  struct Write : stream::Parcel {
    Done done;
    std::optional<Error> error;  ///< the first of its requests'
  };
  struct Wait : stream::Barrier {
    Done done;
  };
  // What keeps the file in the queue: those who have it (one, until close()) and what is under way.
  bool hold() noexcept;
  void let_go() noexcept;
  void wait(stream::Durability durability, Done done);
  void finish_seal(const Status& written, std::uint64_t end_bytes, const Done& done);
  void cut_and_sync(std::uint64_t end_bytes, const Done& done);
  void answer_later(Done done);
  Status outcome() const;

  const Setup setup_;
  stream::Account account_;
  stream::Barrier last_;
  std::atomic<std::uint64_t> holds_{1};
  std::atomic<bool> closed_{false};
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace forebay::write
