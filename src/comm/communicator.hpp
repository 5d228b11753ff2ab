// SPDX-License-Identifier: Apache-2.0
// The ranks of a program and what they say to each other. Everything that needs more than one rank
// is written against this interface; whether the ranks are processes of an MPI job, threads of a
// test or one process alone is decided where the Communicator is made (in_process.hpp,
// mpi/mpi_communicator.hpp).
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/collective_file.hpp"
#include "comm/nodes.hpp"
#include "comm/transfer.hpp"

namespace forebay::comm {

using Bytes = std::vector<std::byte>;

/// Tells messages between the same two ranks apart.
struct Tag {
  std::uint32_t number = 0;  ///< at most kTagMax

  friend constexpr auto operator<=>(const Tag&, const Tag&) noexcept = default;
};

/// Every MPI has at least these tags.
inline constexpr std::uint32_t kTagMax = 32767;

enum class Reduction : std::uint8_t { kMin, kMax, kSum };

/// Which threads may use a Communicator, its Transfers and its files. The makes start no thread of
/// their own: what is called here happens in the thread that calls.
enum class ThreadSupport : std::uint8_t {
  kSingle,      ///< the thread that initialised MPI; any other gets kUnsupported
  kFunneled,    ///< the same
  kSerialized,  ///< any, and calls of ours wait for each other; the application must not call MPI
                ///< at the same moment
  kMultiple,    ///< any, at once
};

/// "single", "funneled", "serialized", "multiple".
std::string_view name_of(ThreadSupport support) noexcept;

/// Where a rank goes when a communicator is split.
struct SplitBy {
  std::uint32_t color = 0;  ///< ranks of one colour stay together; at most INT32_MAX
  std::uint32_t key = 0;    ///< gives their order, then their old rank does; at most INT32_MAX
};

/// A group of ranks, and a space of messages of its own.
///
/// A call marked *collective* is made by all ranks, in the same order on all; it blocks until the
/// others have come as far as it needs them. Collective calls on one Communicator come from one
/// thread at a time. They are meant for opening and starting; nothing here is tuned for thousands
/// of them a second. When one fails, it may fail on some ranks only: agree() makes it common.
///
/// A rank that dies ends an MPI job (its launcher does); a rank of run_ranks() that leaves early
/// gives the others an Error. Nobody waits without end for either.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual Rank rank() const noexcept = 0;
  virtual std::uint32_t size() const noexcept = 0;
  /// "solo", "threads", or "mpi: " and the first line of what the MPI library says of itself.
  virtual const std::string& name() const noexcept = 0;
  virtual const Nodes& nodes() const noexcept = 0;
  virtual ThreadSupport thread_support() const noexcept = 0;

  /// Collective. No rank returns before all have called.
  virtual Status barrier() = 0;

  /// Collective. `bytes` of `root` fill `bytes` of all others; the same size on all ranks.
  virtual Status broadcast(std::span<std::byte> bytes, Rank root) = 0;

  /// Collective. On `root`: what each rank gave, by rank; lengths may differ. Elsewhere: empty. All
  /// together below 2 GiB, else kLimit on all ranks. `root` is the same on all.
  virtual Result<std::vector<Bytes>> gather(std::span<const std::byte> bytes, Rank root) = 0;

  /// Collective. The same on every rank.
  virtual Result<std::vector<Bytes>> all_gather(std::span<const std::byte> bytes) = 0;

  /// Collective. `reduction` is the same on all ranks; a sum wraps around.
  virtual Result<std::uint64_t> all_reduce(Reduction reduction, std::uint64_t value) = 0;

  /// Collective. The same ranks with a message space of their own. Outlives this one if need be.
  virtual Result<std::shared_ptr<Communicator>> duplicate() = 0;

  /// Collective. As duplicate(), for messages of the application: where it gave us a communicator
  /// of its own, errors are handled in the new one as they are in that.
  virtual Result<std::shared_ptr<Communicator>> duplicate_for_application() { return duplicate(); }

  /// Collective. The ranks that gave the same colour, ordered by key.
  virtual Result<std::shared_ptr<Communicator>> split(SplitBy by) = 0;

  /// Starts to send all of `bytes`; any size. The receiver knows the size already and has asked, or
  /// will ask, for exactly that. Messages between two ranks with one tag arrive in the order in
  /// which they were started. Does not block.
  virtual Transfer send(std::span<const std::byte> bytes, Rank to, Tag tag) = 0;

  /// Starts to receive a message that fills `into` exactly. Does not block. A message of another
  /// size is an Error of class kInvalidArgument here, not at the sender; but never count on it:
  /// with MPI it is told only if both sizes take the same number of pieces (see MpiOptions), and
  /// some MPIs do not tell of what a rank sends itself.
  virtual Transfer receive(std::span<std::byte> into, Rank from, Tag tag) = 0;

  /// MPI works on messages only inside its calls, and a send may end only when its receiver makes
  /// one: this is such a call, for a rank that has no Transfer left to test.
  virtual void progress() {}

  /// Collective. Opens one file on all ranks: through MPI-IO where the ranks are those of MPI,
  /// through POSIX calls elsewhere. Contract: see CollectiveFile.
  virtual Result<std::unique_ptr<CollectiveFile>> open_file(const std::string& path,
                                                            const CollectiveOpen& how) = 0;

  /// Collective. Success if `mine` is success on all ranks; otherwise, on all ranks, the Error of
  /// the first rank that has one, with Error::rank() set (an Error that names a rank already keeps
  /// it).
  Status agree(const Status& mine);

 protected:
  /// Checks what MPI would abort or hang on.
  Status check_rank(std::string_view operation, Rank rank) const;
  Status check_message(std::string_view operation, Rank peer, Tag tag) const;
};

}  // namespace forebay::comm
