// SPDX-License-Identifier: Apache-2.0
// Runtime and File: where a program enters Forebay. A Runtime owns the agents (service threads) and
// the memory they fill; it needs no MPI and no configuration. Where a program has ranks, a Runtime
// is made of them, and nothing else changes.
#pragma once

#include <forebay/buffer.hpp>
#include <forebay/config.hpp>
#include <forebay/dataset.hpp>
#include <forebay/error.hpp>
#include <forebay/executor.hpp>
#include <forebay/log.hpp>
#include <forebay/output_stream.hpp>
#include <forebay/placement.hpp>
#include <forebay/plan.hpp>
#include <forebay/range.hpp>
#include <forebay/ranks.hpp>
#include <forebay/session.hpp>
#include <forebay/stored_dataset.hpp>
#include <forebay/write_plan.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace forebay {

class RuntimeCore;

/// Which asynchronous interface of the system moves what is read or written directly.
enum class EngineChoice : std::uint8_t {
  kAuto,     ///< io_uring where it works, else threads
  kRing,     ///< io_uring or an Error
  kThreads,  ///< a pool of threads
  kAio,  ///< POSIX AIO, to compare with: one transfer of a file at a time; never chosen by kAuto
};

/// What carries the bytes of splinters between nodes.
enum class Bulk : std::uint8_t {
  kAuto,   ///< MPI where any thread may call it (MPI_THREAD_MULTIPLE), else links
  kLinks,  ///< the connections between agents (TCP)
};

/// Where the threads run that copy what streams write into the page cache.
enum class WriterCores : std::uint8_t {
  kApart,     ///< away from the cores to which the thread is bound that opens the first file on a
              ///< device, if the process was started with others
  kAnywhere,  ///< as any thread that it makes
};

/// What a rank is there for.
enum class Role : std::uint8_t {
  kCompute,  ///< the application's work; it opens files
  kAgent,    ///< reading and writing for others: it calls Runtime::serve()
};

struct RuntimeOptions {
  /// Most memory for data of all sessions together. Sessions start small and grow within it.
  std::uint64_t budget_bytes = 64ULL << 20U;
  /// Upper limit of the memory of freed Buffers that is kept for later allocate() calls, in bytes,
  /// for all ranks of a node together.
  std::uint64_t buffer_cache_bytes = 1ULL << 30U;
  EngineChoice engine = EngineChoice::kAuto;
  /// Threads that copy from the page cache; 0: chosen from the cores of this machine.
  unsigned copy_threads = 0;
  /// Name of a network interface, or an address, by which agents of other nodes reach this one;
  /// empty: all that the host has are tried. Of use where ranks are on several nodes.
  std::string network = {};
  Bulk bulk = Bulk::kAuto;
  /// Whether ranks are given to I/O. The same on all ranks. docs/guides/agents.md says when that is
  /// better, and what it asks of a program.
  Placement placement = Placement::kInRank;
  /// What storage is like: the name of a machine, looked for in the folders that FOREBAY_MACHINES
  /// names (separated by ':') and among those that Forebay ships, or the path of a machine file
  /// (docs/formats/machine.md), for example one that `forebay calibrate` made. Sessions on files
  /// that are not in memory ask for as much at a time as keeps it busy. Empty: not known, but where
  /// the file system itself tells, as emufs does: what that says comes first in any case, and
  /// ReadPlan::reason has whose word it was. Output streams have more under way where the servers
  /// need it, see OutputPlan::reason. One that cannot be read is an Error of each session and
  /// stream.
  std::string machine = {};
  WriterCores writer_cores = WriterCores::kApart;
  /// Processors (numbers of the system, sorted) for agents and all other threads of Forebay that
  /// start after this Runtime is created; writer_cores is ignored then. Use it if the launcher
  /// binds each rank to one core. The list applies to the process: the newest Runtime sets it.
  /// Empty: threads inherit the affinity of the thread that starts them.
  std::vector<int> cores = {};
  /// The path of a profile (docs/formats/profile.md): how many bytes streams have under way to each
  /// place. Absent: the one that FOREBAY_PROFILE names, else that of whoever runs the program,
  /// which `forebay calibrate --profile` makes, where there is one. Empty: none, so that all is as
  /// is usual for its kind. One that cannot be read is an Error of each stream.
  std::optional<std::string> profile = std::nullopt;
  /// Where coroutines resume by default; null: the Runtime's own EventLoop. Must outlive the
  /// Runtime.
  Executor* executor = nullptr;
  /// Receives diagnostics, among them a line of kInfo for each session: its file, buffered or
  /// direct, and why. Null: nobody does. Must outlive the Runtime.
  LogSink* log = nullptr;
};

/// Options from FOREBAY_BUDGET ("64MiB"), FOREBAY_BUFFER_CACHE ("1GiB"), FOREBAY_ENGINE (auto,
/// ring, threads, aio), FOREBAY_COPY_THREADS, FOREBAY_NETWORK, FOREBAY_BULK (auto, links),
/// FOREBAY_PLACEMENT (in-rank, dedicated), FOREBAY_MACHINE (a name or a path), FOREBAY_WRITER_CORES
/// (apart, anywhere), FOREBAY_CORES (as in "2-3,7") and FOREBAY_PROFILE (a path), or from the TOML
/// file that FOREBAY_CONFIG names (budget, buffer_cache, engine, copy_threads, network, bulk,
/// placement, machine, writer_cores, cores, profile); what is not set keeps its default. Fails with
/// kInvalidArgument naming variable or key, also for an unknown FOREBAY_... variable.
Result<RuntimeOptions> options_from(const Environment& environment);

/// The same from the environment of this process.
Result<RuntimeOptions> options_from_environment();

/// A file opened for reading. A small handle; usable from any thread. Must not outlive its Runtime.
class File {
 public:
  const std::string& path() const noexcept;
  /// The size in bytes when the file was opened.
  std::uint64_t size() const noexcept;

  /// Declares that `extent` will be read, by default the whole file: agents start on it. Any number
  /// of sessions may be open on one file. `extent.size == all`, which is its default, reaches to
  /// the end of the file. Fails with kOutOfRange if the extent passes the end of the file (sizes
  /// are in the text), kInvalidArgument for a plan that cannot work, kLimit if the Runtime's memory
  /// budget is used up by other sessions.
  ///
  /// Where there are ranks, all of them open their sessions in the same order, with the same
  /// extent; that is what makes a SessionHandle mean the same everywhere. Nobody waits for the
  /// others here. Of plans that differ, Session::plan() tells the one in force; one that cannot
  /// work is refused on its rank alone.
  Result<Session> read_session(Extent extent = {}, const ReadPlan& plan = {}) const;

 private:
  friend class Runtime;
  struct Opened;
  Result<Session> open_session(ByteRange extent,
                               const ReadPlan& plan,
                               const SessionHandle& handle) const;
  File(std::shared_ptr<RuntimeCore> runtime, std::shared_ptr<const Opened> opened);
  std::shared_ptr<RuntimeCore> runtime_;
  std::shared_ptr<const Opened> opened_;
};

/// Owns agents and memory. Making one starts nothing that costs CPU time while idle. Its functions
/// may be called from any thread, those that are collective from one at a time. At its end sessions
/// are closed and agents joined; Views and Futures must be gone by then.
class Runtime {
 public:
  /// This process alone.
  explicit Runtime(RuntimeOptions options = {});
  /// One of several ranks. Collective: all of them make their Runtime together.
  explicit Runtime(const Ranks& ranks, RuntimeOptions options = {});
  /// The same for what <forebay/mpi.hpp> and its like know: `Runtime runtime(MPI_COMM_WORLD)`.
  template <class Native>
    requires requires(const Native& native) {
      { RanksOf<Native>::make(native) } -> std::same_as<Ranks>;
    }
  explicit Runtime(const Native& native, RuntimeOptions options = {})
      : Runtime(RanksOf<Native>::make(native), std::move(options)) {}
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Opens an existing file for reading; nothing is ever created. Fails with kNotFound,
  /// kPermission, ... Collective, by the ranks that compute: if one of them cannot open it, or sees
  /// another size, all get the same Error, which names the first such rank. On others:
  /// kInvalidArgument, at once.
  Result<File> open(const std::string& path);

  /// Memory that agents write out as it is: see Buffer. It is faulted in and has the bytes of
  /// whoever used it before, or zeros; none at all for a size of 0. It is not part of
  /// RuntimeOptions::budget_bytes. What was freed is kept for the next: memory of about that size
  /// costs microseconds then, where new memory costs 0.1 to 1 ms for each MiB. Buffers larger than
  /// 1 MiB take a descriptor of the process each. Fails with kLimit if there is no memory, no
  /// descriptor, or (kPinned) RLIMIT_MEMLOCK is too small, and with kUnsupported for kDevice.
  Result<Buffer> allocate(std::uint64_t size_bytes, MemoryKind kind = MemoryKind::kHost);

  /// Opens a dataset for reading; nothing is ever created. Fails with kNotFound, kDamage, ... .
  /// Collective, by the ranks that compute: the first one reads which steps there are, and all see
  /// the same, or get the same Error; `path` and `options` count on each rank for itself from then
  /// on. On other ranks: kInvalidArgument, at once.
  Result<StoredDataset> open_dataset(const std::string& path, const StoredOptions& options = {});

  /// A stream that writes behind the computation of this rank. Takes the memory of its buffers,
  /// which is not part of RuntimeOptions::budget_bytes. Fails with kInvalidArgument for a plan that
  /// cannot work and on a rank that does not compute, and with kLimit if there is no memory. Not
  /// collective.
  Result<OutputStream> output_stream(const StreamPlan& plan = {});

  /// Opens the dataset (a folder) at `path` for writing: makes it if it is not there, and appends
  /// to it if it is. The path is that of the same folder on all ranks; it stays where it is when
  /// the program goes to another one. The plan of the first rank is in force, without one that
  /// which FOREBAY_PLAN names (see write_plan_from); what is left open is chosen.
  /// Collective, by the ranks that compute, and the last such call; where it fails on one, all get
  /// its Error: kPermission if somebody else writes to it (the text says who), kInvalidArgument for
  /// a plan that cannot work, and if a rank that is to write has another folder there, kClosed or
  /// kLimit if a rank that is to write does not serve(), ...
  Result<Dataset> dataset(const std::string& path,
                          const std::optional<WritePlan>& plan = std::nullopt);
  Result<Dataset> dataset(const std::string& path, Strategy strategy) {
    return dataset(path, plan_of(strategy));
  }

  /// The session that a handle stands for, on this rank; it may have come from another one. Fails
  /// with kNotFound if this rank has not opened it yet, kClosed if it has ended here,
  /// kInvalidArgument for a handle of another Runtime, and on a rank that does not compute.
  Result<Session> session(const SessionHandle& handle) const;

  /// Which of the ranks of its role this process is, from 0, in the order of all ranks, and how
  /// many there are: all, if none is given to I/O. Error::rank() counts so, these after all others.
  std::uint32_t rank() const noexcept;
  std::uint32_t rank_count() const noexcept;

  /// What this rank is there for; kCompute on all unless RuntimeOptions::placement says otherwise.
  Role role() const noexcept;

  /// The ranks that compute, in a message space of their own that is the program's to use:
  /// communicator_of() in <forebay/mpi.hpp> gives its communicator. Not collective. Copies keep it
  /// alive, also beyond the Runtime; with MPI all must be gone before MPI_Finalize. On a rank that
  /// does not compute it holds an Error instead.
  Ranks compute() const;

  /// Reads for the ranks of this node, and writes datasets for all, until those that compute have
  /// ended their Runtime. The thread sleeps, agents work on their own; while a dataset is opened it
  /// calls MPI. For a rank whose role() is kAgent, once it has nothing else to do; on others it
  /// gives kInvalidArgument at once. A Runtime that ends without it leaves the others reading for
  /// themselves, and what it was to write cannot be opened.
  Status serve();

  /// The Runtime's own executor: coroutines that await a Future resume inside its poll() and wait()
  /// unless the options named another one.
  EventLoop& loop() noexcept;

 private:
  std::shared_ptr<RuntimeCore> core_;
};

}  // namespace forebay
