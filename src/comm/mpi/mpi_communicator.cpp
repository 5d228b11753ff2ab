// SPDX-License-Identifier: Apache-2.0
// The Communicator of an MPI job.
#include "comm/mpi/mpi_communicator.hpp"

#include <algorithm>
#include <climits>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"
#include "comm/mpi/mpi_call.hpp"
#include "comm/mpi/mpi_file.hpp"
#include "comm/mpi/mpi_operation.hpp"
#include "comm/mpi/transfer_parts.hpp"
#include "comm/posix_collective_file.hpp"

namespace forebay::comm {

namespace {

constexpr std::uint64_t kPartBytesMax = std::uint64_t{1} << 30U;

MPI_Op operation_of(Reduction reduction) noexcept {
  switch (reduction) {
    case Reduction::kMin:
      return MPI_MIN;
    case Reduction::kMax:
      return MPI_MAX;
    case Reduction::kSum:
      return MPI_SUM;
  }
  return MPI_OP_NULL;
}

/// The first line of the version, with single spaces: "mpi: MPICH Version: 5.0.2".
std::string library_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string line(text, static_cast<std::size_t>(length));
  line.resize(std::min(line.find('\n'), line.size()));
  std::replace(line.begin(), line.end(), '\t', ' ');
  const auto gap = [](char a, char b) { return a == ' ' && b == ' '; };
  line.erase(std::unique(line.begin(), line.end(), gap), line.end());
  return "mpi: " + line;
}

using MpiCommPtr = std::shared_ptr<const MpiCommHandle>;

/// Contiguous parts of different lengths, by rank: arguments of MPI_Gatherv().
struct GatherLayout {
  std::vector<int> counts;
  std::vector<int> displacements;
  int total = 0;
};

class MpiCommunicator final : public Communicator {
 public:
  struct RankLocation {
    Rank rank;
    std::uint64_t node_key;  ///< equal for ranks of one node
  };
  MpiCommunicator(MpiCommPtr mpi_comm,
                  RankLocation location,
                  const std::vector<std::uint64_t>& node_keys)
      : mpi_comm_(std::move(mpi_comm)),
        location_(location),
        size_(static_cast<std::uint32_t>(node_keys.size())),
        name_(library_name()),
        nodes_(node_keys) {}

  Rank rank() const noexcept override { return location_.rank; }
  std::uint32_t size() const noexcept override { return size_; }
  const std::string& name() const noexcept override { return name_; }
  const Nodes& nodes() const noexcept override { return nodes_; }
  ThreadSupport thread_support() const noexcept override { return mpi_comm_->support; }
  MPI_Comm handle() const noexcept { return mpi_comm_->handle; }

  Status barrier() override;
  Status broadcast(std::span<std::byte> bytes, Rank root) override;
  Result<std::vector<Bytes>> gather(std::span<const std::byte> bytes, Rank root) override;
  Result<std::vector<Bytes>> all_gather(std::span<const std::byte> bytes) override;
  Result<std::uint64_t> all_reduce(Reduction reduction, std::uint64_t value) override;
  Result<std::shared_ptr<Communicator>> duplicate() override;
  Result<std::shared_ptr<Communicator>> duplicate_for_application() override;
  Result<std::shared_ptr<Communicator>> split(SplitBy by) override;
  MessageRequest send(std::span<const std::byte> bytes, Rank to, Tag tag) override;
  MessageRequest receive(std::span<std::byte> into, Rank from, Tag tag) override;
  void progress() override;
  Result<std::unique_ptr<CollectiveFile>> open_file(const std::string& path,
                                                    const CollectiveOpenOptions& options) override;

 private:
  Result<GatherLayout> exchange_lengths(std::size_t mine);

  const MpiCommPtr mpi_comm_;
  const RankLocation location_;
  const std::uint32_t size_;
  const std::string name_;
  const Nodes nodes_;
};

/// `code` is the result of the MPI call that created `raw`. After success, sets MPI_ERRORS_RETURN
/// for `raw`. Returns `code`. Call it under the MpiCallGuard of that call.
int set_errors_return(MPI_Comm raw, int code) {
  if (code == MPI_SUCCESS) MPI_Comm_set_errhandler(raw, MPI_ERRORS_RETURN);
  return code;
}

/// Takes ownership of `raw`.
MpiCommPtr adopt(MPI_Comm raw, const MpiCommSettings& like) {
  return std::make_shared<const MpiCommHandle>(raw, like);
}

/// Collective. Exchanges node keys, and makes a Communicator of `mpi_comm`.
Result<std::shared_ptr<Communicator>> make_communicator(MpiCommPtr mpi_comm,
                                                        std::uint64_t node_key) {
  int rank = 0;
  int size = 0;
  std::vector<std::uint64_t> keys;
  const Status status = mpi_comm->call({.operation = "set up a communicator"}, [&] {
    MPI_Comm_rank(mpi_comm->handle, &rank);
    MPI_Comm_size(mpi_comm->handle, &size);
    keys.resize(static_cast<std::size_t>(size));
    return MPI_Allgather(&node_key, 1, MPI_UINT64_T, keys.data(), 1, MPI_UINT64_T,
                         mpi_comm->handle);
  });
  if (!status) return failure(status.error());
  const MpiCommunicator::RankLocation location{Rank{static_cast<std::uint32_t>(rank)}, node_key};
  return std::make_shared<MpiCommunicator>(std::move(mpi_comm), location, keys);
}

/// Collective. Returns a number that is equal on two ranks if and only if MPI reports that they can
/// share memory.
Result<std::uint64_t> find_node_key(const MpiCommHandle& mpi_comm) {
  int lowest = 0;
  const Status found = mpi_comm.call({.operation = "find the ranks of this node"}, [&] {
    int rank = 0;
    MPI_Comm_rank(mpi_comm.handle, &rank);
    MPI_Comm node = MPI_COMM_NULL;
    const int code =
        MPI_Comm_split_type(mpi_comm.handle, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    if (code != MPI_SUCCESS) return code;
    const int reduced = MPI_Allreduce(&rank, &lowest, 1, MPI_INT, MPI_MIN, node);
    MPI_Comm_free(&node);
    return reduced;
  });
  if (!found) return failure(found.error());
  return checked_cast<std::uint64_t>(lowest);
}

Status MpiCommunicator::barrier() {
  return mpi_comm_->call({.operation = "barrier"}, [this] { return MPI_Barrier(handle()); });
}

Status MpiCommunicator::broadcast(std::span<std::byte> bytes, Rank root) {
  if (Status checked = check_rank("broadcast", root); !checked) return checked;
  const TransferParts parts(bytes.size(), mpi_comm_->part_bytes);
  for (std::uint64_t i = 0; i < parts.count(); ++i) {
    const TransferPart part = parts.at(i);
    const Status status = mpi_comm_->call({.operation = "broadcast"}, [&] {
      return MPI_Bcast(bytes.data() + part.first, part.size, MPI_BYTE,
                       static_cast<int>(root.number), handle());
    });
    if (!status) return status;
  }
  return {};
}

/// Collective. Every rank receives all lengths, so that all return kLimit if the total is too
/// large.
Result<GatherLayout> MpiCommunicator::exchange_lengths(std::size_t mine) {
  const std::uint64_t length = mine;
  std::vector<std::uint64_t> counts(size());
  const Status status = mpi_comm_->call({.operation = "gather"}, [&] {
    return MPI_Allgather(&length, 1, MPI_UINT64_T, counts.data(), 1, MPI_UINT64_T, handle());
  });
  if (!status) return failure(status.error());
  GatherLayout layout;
  std::uint64_t total = 0;
  for (const std::uint64_t one : counts) {
    if (one > INT_MAX - total) {
      return failure({.kind = ErrorClass::kLimit,
                      .operation = "gather",
                      .cause = "the ranks have 2 GiB or more together"});
    }
    layout.counts.push_back(static_cast<int>(one));
    layout.displacements.push_back(static_cast<int>(total));
    total += one;
  }
  layout.total = static_cast<int>(total);
  return layout;
}

std::vector<Bytes> split_bytes(const Bytes& all, const GatherLayout& layout) {
  std::vector<Bytes> parts;
  for (std::size_t i = 0; i < layout.counts.size(); ++i) {
    const auto first = all.begin() + layout.displacements[i];
    parts.emplace_back(first, first + layout.counts[i]);
  }
  return parts;
}

Result<std::vector<Bytes>> MpiCommunicator::gather(std::span<const std::byte> bytes, Rank root) {
  if (Status checked = check_rank("gather", root); !checked) return failure(checked.error());
  const Result<GatherLayout> layout = exchange_lengths(bytes.size());
  if (!layout) return failure(layout.error());
  Bytes all(rank() == root ? static_cast<std::size_t>(layout->total) : 0);
  const Status status = mpi_comm_->call({.operation = "gather"}, [&] {
    return MPI_Gatherv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, all.data(),
                       layout->counts.data(), layout->displacements.data(), MPI_BYTE,
                       static_cast<int>(root.number), handle());
  });
  if (!status) return failure(status.error());
  return rank() == root ? split_bytes(all, *layout) : std::vector<Bytes>();
}

Result<std::vector<Bytes>> MpiCommunicator::all_gather(std::span<const std::byte> bytes) {
  const Result<GatherLayout> layout = exchange_lengths(bytes.size());
  if (!layout) return failure(layout.error());
  Bytes all(static_cast<std::size_t>(layout->total));
  const Status status = mpi_comm_->call({.operation = "gather"}, [&] {
    return MPI_Allgatherv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, all.data(),
                          layout->counts.data(), layout->displacements.data(), MPI_BYTE, handle());
  });
  if (!status) return failure(status.error());
  return split_bytes(all, *layout);
}

Result<std::uint64_t> MpiCommunicator::all_reduce(Reduction reduction, std::uint64_t value) {
  std::uint64_t reduced = 0;
  const Status status = mpi_comm_->call({.operation = "reduce"}, [&] {
    return MPI_Allreduce(&value, &reduced, 1, MPI_UINT64_T, operation_of(reduction), handle());
  });
  if (!status) return failure(status.error());
  return reduced;
}

Result<std::shared_ptr<Communicator>> MpiCommunicator::duplicate() {
  MPI_Comm raw = MPI_COMM_NULL;
  const Status made = mpi_comm_->call({.operation = "duplicate a communicator"}, [&] {
    const int code = MPI_Comm_dup(handle(), &raw);
    return set_errors_return(raw, code);
  });
  if (!made) return failure(made.error());
  return make_communicator(adopt(raw, *mpi_comm_), location_.node_key);
}

Result<std::shared_ptr<Communicator>> MpiCommunicator::duplicate_for_application() {
  auto made = duplicate();
  if (!made) return made;
  const Status set = mpi_comm_->call({.operation = "set an error handler"}, [&] {
    return MPI_Comm_set_errhandler(handle_of(**made), mpi_comm_->application_error_handler->handle);
  });
  if (!set) return failure(set.error());
  return made;
}

Result<std::shared_ptr<Communicator>> MpiCommunicator::split(SplitBy by) {
  const ErrorDetails what{.operation = "split a communicator"};
  if (std::max(by.color, by.key) > INT32_MAX) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = what.operation,
                    .cause = "color and key must be below 2^31"});
  }
  MPI_Comm raw = MPI_COMM_NULL;
  const Status made = mpi_comm_->call(what, [&] {
    const int code =
        MPI_Comm_split(handle(), static_cast<int>(by.color), static_cast<int>(by.key), &raw);
    return set_errors_return(raw, code);
  });
  if (!made) return failure(made.error());
  return make_communicator(adopt(raw, *mpi_comm_), location_.node_key);
}

MessageRequest MpiCommunicator::send(std::span<const std::byte> bytes, Rank to, Tag tag) {
  if (Status checked = check_message("send", to, tag); !checked)
    return MessageRequest(checked.error());
  return start_send(mpi_comm_, bytes, to, tag);
}

MessageRequest MpiCommunicator::receive(std::span<std::byte> into, Rank from, Tag tag) {
  if (Status checked = check_message("receive", from, tag); !checked)
    return MessageRequest(checked.error());
  return start_receive(mpi_comm_, into, from, tag);
}

void MpiCommunicator::progress() {
  std::ignore = mpi_comm_->call({.operation = "make progress on messages"}, [this] {
    int flag = 0;
    return MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, mpi_comm_->handle, &flag, MPI_STATUS_IGNORE);
  });
}

Result<std::unique_ptr<CollectiveFile>> MpiCommunicator::open_file(
    const std::string& path, const CollectiveOpenOptions& options) {
  Result<std::shared_ptr<Communicator>> own = duplicate();
  if (!own) return failure(own.error());
  const MPI_Comm raw = handle_of(**own);
  return open_mpi_file({std::move(*own), raw, mpi_comm_->part_bytes}, path, options);
}

Status check_mpi_active() {
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  if (is_initialized == 0) {
    return failure({.kind = ErrorClass::kUnsupported,
                    .operation = "use MPI",
                    .cause = "MPI is not initialized; call MPI_Init_thread first"});
  }
  int is_finalized = 0;
  MPI_Finalized(&is_finalized);
  if (is_finalized == 0) return {};
  return failure(
      {.kind = ErrorClass::kClosed, .operation = "use MPI", .cause = "MPI has been finalized"});
}

Status check_communicator(MPI_Comm application) {
  const auto refused = [](const char* cause) {
    return failure({.kind = ErrorClass::kInvalidArgument, .operation = "use MPI", .cause = cause});
  };
  if (application == MPI_COMM_NULL) return refused("the communicator is MPI_COMM_NULL");
  int is_inter = 0;
  if (MPI_Comm_test_inter(application, &is_inter) != MPI_SUCCESS || is_inter != 0) {
    return refused("the communicator joins two groups (an intercommunicator)");
  }
  return {};
}

Status check_part_bytes(std::uint64_t part_bytes) {
  if (part_bytes > 0 && part_bytes <= kPartBytesMax) return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "use MPI",
                  .cause = "part_bytes must be between 1 byte and 1 GiB"});
}

}  // namespace

Result<std::shared_ptr<Communicator>> from_mpi(MPI_Comm application, MpiOptions options) {
  if (Status ready = check_mpi_active(); !ready) return failure(ready.error());
  if (Status checked = check_part_bytes(options.part_bytes); !checked) {
    return failure(checked.error());
  }
  const ThreadSupport support = mpi_thread_support();
  const ErrorDetails what{.operation = "duplicate the communicator of the application"};
  MPI_Comm raw = MPI_COMM_NULL;
  MPI_Errhandler errors = MPI_ERRHANDLER_NULL;
  Status applicable;
  const Status made = mpi_call(support, what, [&] {
    applicable = check_communicator(application);
    if (!applicable) return MPI_SUCCESS;
    // Without the application's hints: they may assert properties that this code does not have.
    const int code = MPI_Comm_dup_with_info(application, MPI_INFO_NULL, &raw);
    return set_errors_return(raw, code) == MPI_SUCCESS
               ? MPI_Comm_get_errhandler(application, &errors)
               : code;
  });
  if (!made) return failure(made.error());
  if (!applicable) return failure(applicable.error());

  MpiCommSettings settings{.support = support, .part_bytes = options.part_bytes};
  settings.application_error_handler = std::make_shared<const MpiErrorHandler>(errors, support);
  MpiCommPtr mpi_comm = adopt(raw, settings);
  if (options.node) return make_communicator(std::move(mpi_comm), *options.node);
  const Result<std::uint64_t> node = find_node_key(*mpi_comm);
  if (!node) return failure(node.error());
  return make_communicator(std::move(mpi_comm), *node);
}

MPI_Comm handle_of(const Communicator& ranks) noexcept {
  const auto* const mine = dynamic_cast<const MpiCommunicator*>(&ranks);
  return mine == nullptr ? MPI_COMM_NULL : mine->handle();
}

}  // namespace forebay::comm
