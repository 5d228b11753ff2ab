// SPDX-License-Identifier: Apache-2.0
// Communicator: the ranks of a program and the messages between them. All code that needs more than
// one rank uses this interface. The function that creates it determines what the ranks are:
// processes of an MPI job, threads of a test or a single process (in_process.hpp,
// mpi/mpi_communicator.hpp).
#pragma once

#include <forebay/detail/export.hpp>
#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/collective_file.hpp"
#include "comm/message_request.hpp"
#include "comm/nodes.hpp"

namespace forebay::comm {

using Bytes = std::vector<std::byte>;

/// Distinguishes messages between the same two ranks.
struct Tag {
  std::uint32_t number = 0;  ///< at most kTagMax

  friend constexpr auto operator<=>(const Tag&, const Tag&) noexcept = default;
};

/// Every MPI supports at least these tags.
inline constexpr std::uint32_t kTagMax = 32767;

enum class Reduction : std::uint8_t { kMin, kMax, kSum };

/// Which threads may use a Communicator, its MessageRequests and its files. Implementations start
/// no threads: all work of a call happens in the calling thread.
enum class ThreadSupport : std::uint8_t {
  kSingle,      ///< the thread that initialized MPI; any other gets kUnsupported
  kFunneled,    ///< the same
  kSerialized,  ///< any thread; calls of Forebay exclude each other; the application must not call
                ///< MPI at the same time
  kMultiple,    ///< any threads, concurrently
};

/// "single", "funneled", "serialized", "multiple".
FOREBAY_EXPORT std::string_view name_of(ThreadSupport support) noexcept;

/// Arguments of a split.
struct SplitBy {
  std::uint32_t color = 0;  ///< ranks of one color stay together; at most INT32_MAX
  std::uint32_t key = 0;    ///< ranks are ordered by key, then by old rank; at most INT32_MAX
};

/// A group of ranks with a message space of its own.
///
/// All ranks make each call marked *collective*, in the same order. The call blocks until all ranks
/// on which its result depends have made it. Collective calls on one Communicator come from one
/// thread at a time. They are intended for setup; nothing here is tuned for thousands of calls a
/// second. A failure may occur on some ranks only; agree() makes it common.
///
/// If a rank dies, the launcher ends the MPI job. A rank of run_ranks() that leaves early gives the
/// others an Error. No wait is unbounded in either case.
class FOREBAY_EXPORT Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual Rank rank() const noexcept = 0;
  virtual std::uint32_t size() const noexcept = 0;
  /// "solo", "threads", or "mpi: " and the first line of the MPI library's version string.
  virtual const std::string& name() const noexcept = 0;
  virtual const Nodes& nodes() const noexcept = 0;
  virtual ThreadSupport thread_support() const noexcept = 0;

  /// Collective. No rank returns before all have called.
  virtual Status barrier() = 0;

  /// Collective. Copies `bytes` of `root` into `bytes` of all other ranks; the same size on all
  /// ranks.
  virtual Status broadcast(std::span<std::byte> bytes, Rank root) = 0;

  /// Collective. On `root`: the bytes of each rank, by rank; lengths may differ. On other ranks:
  /// empty. `root` is the same on all ranks. The total must be below 2 GiB; MPI ranks check this,
  /// and all get kLimit.
  virtual Result<std::vector<Bytes>> gather(std::span<const std::byte> bytes, Rank root) = 0;

  /// Collective. As gather(), with the same result on every rank.
  virtual Result<std::vector<Bytes>> all_gather(std::span<const std::byte> bytes) = 0;

  /// Collective. `reduction` is the same on all ranks; a sum wraps around.
  virtual Result<std::uint64_t> all_reduce(Reduction reduction, std::uint64_t value) = 0;

  /// Collective. The same ranks with another message space. May outlive this Communicator.
  virtual Result<std::shared_ptr<Communicator>> duplicate() = 0;

  /// Collective. As duplicate(), for messages of the application. If this Communicator was made
  /// from a communicator of the application, the duplicate gets the error handler of that one.
  virtual Result<std::shared_ptr<Communicator>> duplicate_for_application() { return duplicate(); }

  /// Collective. The ranks with the same color, ordered by key.
  virtual Result<std::shared_ptr<Communicator>> split(SplitBy by) = 0;

  /// Starts to send all of `bytes`; any size. The receiver must pass memory of exactly this size to
  /// receive(). Messages with one tag from one rank to another arrive in the order of the send()
  /// calls. Does not block.
  virtual MessageRequest send(std::span<const std::byte> bytes, Rank to, Tag tag) = 0;

  /// Starts to receive a message that fills `into` exactly. Does not block. A message of another
  /// size is an Error of class kInvalidArgument at the receiver, not at the sender. Do not rely on
  /// it: MPI reports it only if both sizes have the same number of parts (see MpiOptions). Some
  /// MPIs do not report it for messages of a rank to itself.
  virtual MessageRequest receive(std::span<std::byte> into, Rank from, Tag tag) = 0;

  /// Makes progress on messages, for a rank that has no MessageRequest to test. MPI makes progress
  /// only inside its calls, and a send may complete only inside a call of its receiver. Other
  /// implementations need no such call.
  virtual void progress() {}

  /// Collective. Opens one file on all ranks: through MPI-IO if the ranks are MPI processes,
  /// through POSIX calls otherwise. Contract: see CollectiveFile.
  virtual Result<std::unique_ptr<CollectiveFile>> open_file(
      const std::string& path, const CollectiveOpenOptions& options) = 0;

  /// Collective. Success if `outcome` is success on all ranks. Otherwise all ranks get the Error of
  /// the lowest rank that has one. Error::rank() is that rank, unless the Error has a rank already.
  /// If the communication of agree() itself fails, the outcome may differ between ranks.
  Status agree(const Status& outcome);

 protected:
  /// Rejects arguments on which MPI would abort or hang.
  Status check_rank(std::string_view operation, Rank rank) const;
  Status check_message(std::string_view operation, Rank peer, Tag tag) const;
};

}  // namespace forebay::comm
