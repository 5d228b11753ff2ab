// SPDX-License-Identifier: Apache-2.0
// Runtime and File: the entry points of Forebay. A Runtime owns agents (service threads) and the
// memory that they fill. It needs neither MPI nor configuration. A program with ranks creates its
// Runtime with them, and nothing else changes.
#pragma once

#include <forebay/backend_choice.hpp>
#include <forebay/buffer.hpp>
#include <forebay/dataset_reader.hpp>
#include <forebay/dataset_writer.hpp>
#include <forebay/detail/export.hpp>
#include <forebay/error.hpp>
#include <forebay/executor.hpp>
#include <forebay/log.hpp>
#include <forebay/output_stream.hpp>
#include <forebay/placement.hpp>
#include <forebay/range.hpp>
#include <forebay/ranks.hpp>
#include <forebay/read_plan.hpp>
#include <forebay/session.hpp>
#include <forebay/write_plan.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace forebay {

class RuntimeCore;

/// The transport of splinters between nodes.
enum class BulkTransport : std::uint8_t {
  kAuto,  ///< MPI if any thread may call it (MPI_THREAD_MULTIPLE), else kTcp
  kTcp,   ///< the connections between agents (TCP)
};

/// Processors of the threads that copy from streams into the page cache.
enum class WriteThreadAffinity : std::uint8_t {
  kSeparate,   ///< the other cores, if the thread that opens the first file on a device is bound to
               ///< some and the process was started with more
  kInherited,  ///< those of the thread that starts them
};

/// The role of a rank.
enum class Role : std::uint8_t {
  kCompute,  ///< runs the application; opens files
  kIo,       ///< an I/O rank: reads and writes for other ranks; calls Runtime::serve()
};

/// Values of RuntimeOptions that depend on hardware rather than on the program.
struct RuntimeTuning {
  BackendChoice backend = BackendChoice::kAuto;
  BulkTransport bulk_transport = BulkTransport::kAuto;
  WriteThreadAffinity write_thread_affinity = WriteThreadAffinity::kSeparate;
  /// Threads that copy from the page cache. 0: chosen from the cores of this machine.
  unsigned copy_threads = 0;
  /// Upper limit of the memory of freed Buffers that is kept for later allocate() calls, in bytes,
  /// for all ranks of a node together.
  std::uint64_t buffer_cache_bytes = 1ULL << 30U;
  /// Processors (system numbers, sorted) of agents and of all other threads of Forebay that start
  /// after this Runtime is created. write_thread_affinity is then ignored. Set it if the launcher
  /// binds each rank to one core. The list applies to the process: the newest Runtime sets it.
  /// Empty: threads inherit the affinity of the thread that starts them.
  std::vector<int> cores = {};
  /// Path of a profile (docs/formats/profile.md): the bytes that streams have in flight to each
  /// place. Absent: the file that FOREBAY_PROFILE names, else the profile of the user, if it exists
  /// (`forebay calibrate --profile` makes it). Empty: none, defaults apply. A profile that cannot
  /// be read is an Error of each stream.
  std::optional<std::string> profile = std::nullopt;
};

struct RuntimeOptions {
  /// Upper limit of the windows of all sessions together. Sessions start small and grow within it.
  /// Private copies, which SessionReport counts, are not included. The ranks of a node take at most
  /// half of its free memory, or of that of their control group.
  std::uint64_t budget_bytes = 64ULL << 20U;
  /// Whether some ranks do only I/O. The same on all ranks. docs/guides/agents.md describes when
  /// that is better, and what a program must do then.
  Placement placement = Placement::kInRank;
  /// Description of the storage: the name of a machine, or the path of a machine file
  /// (docs/formats/machine.md), such as one made by `forebay calibrate`. Names are looked up in the
  /// directories of FOREBAY_MACHINES (separated by ':'), in `forebay/machines` of the user's
  /// configuration directory, and among the machines that Forebay ships.
  /// Sessions on files that are not in memory keep as much in flight as keeps the storage busy.
  /// Output streams have more in flight if the servers need it, see OutputPlan::reason.
  ///
  /// Empty: unknown, unless the file system describes its own storage, as emufs does. A description
  /// by the file system has precedence in any case; ReadPlan::reason names the source. A machine
  /// that cannot be read is an Error of each session and stream.
  std::string machine = {};
  /// Path of a hint file (docs/formats/hints.md): reads of an earlier run, which sessions with
  /// Mode::kOnDemand push. Empty: none. A file that cannot be read is an Error of each session.
  std::string hints_path = {};
  /// Path of a hint file that Forebay keeps: a Runtime pushes what it states, and replaces it at
  /// its end by the reads of its own sessions with Mode::kOnDemand. So the second run of a program
  /// has at most one miss. Files that were not read keep their hints. With several ranks, each
  /// appends its number. Empty: none. A damaged file is an Error of each session.
  std::string learned_hints_path = {};
  /// Path of a trace (docs/formats/trace.md) into which the requests of all sessions are recorded,
  /// without a lock or a system call of the thread that requests. An existing file is replaced.
  /// With several ranks, each appends its number: "run.trace.0". Empty: none. A trace that cannot
  /// be created is an Error of each session.
  std::string trace_path = {};
  /// Network interface (its name, or an address) by which agents of other nodes reach this one.
  /// Empty: tries all of the host. Only used with ranks on several nodes.
  std::string network = {};
  /// Where coroutines resume by default. Null: the Runtime's own EventLoop. Must outlive the
  /// Runtime.
  Executor* executor = nullptr;
  /// Receives diagnostics, including a kInfo line for each session: its file, buffered or direct,
  /// and why. Null: no logging. Must outlive the Runtime.
  LogSink* log = nullptr;
  RuntimeTuning tuning = {};
};

/// Reads options from the environment of this process: FOREBAY_BUDGET ("64MiB"),
/// FOREBAY_BUFFER_CACHE ("1GiB"), FOREBAY_BACKEND (auto, io_uring, threads, aio),
/// FOREBAY_COPY_THREADS, FOREBAY_NETWORK, FOREBAY_BULK (auto, tcp), FOREBAY_PLACEMENT (in-rank,
/// dedicated), FOREBAY_MACHINE (a name or a path), FOREBAY_WRITE_THREAD_AFFINITY (separate,
/// inherited), FOREBAY_CORES (as in "2-3,7"), FOREBAY_PROFILE, FOREBAY_HINTS,
/// FOREBAY_LEARNED_HINTS and FOREBAY_TRACE (paths). FOREBAY_CONFIG may name a TOML file with the
/// same settings: budget, buffer_cache, backend, copy_threads, network, bulk, placement, machine,
/// write_thread_affinity, cores, profile, hints, learned_hints, trace. Settings that are absent
/// keep their defaults. Fails with kInvalidArgument, naming variable or key, also for an unknown
/// FOREBAY_... variable.
FOREBAY_EXPORT Result<RuntimeOptions> options_from_environment();

/// A file opened for reading. A small handle, usable from any thread. Must not outlive its Runtime.
class FOREBAY_EXPORT File {
 public:
  const std::string& path() const noexcept;
  /// Size in bytes when the file was opened.
  std::uint64_t size() const noexcept;

  /// Declares that `extent` will be read, by default the whole file; agents begin to read it. Any
  /// number of sessions may be open on one file. `extent.size == kAll`, its default, extends to the
  /// end of the file. Fails with kOutOfRange if the extent passes the end of the file; the text has
  /// both sizes. Fails with kInvalidArgument for a plan that cannot work, and with kLimit if other
  /// sessions use the whole memory budget of the Runtime.
  ///
  /// With ranks, all of them open their sessions in the same order and with the same extent. A
  /// SessionHandle then identifies the same session everywhere. The call does not wait for other
  /// ranks, except with ReadPlan::tune. If plans differ, Session::plan() returns the one in force.
  /// A plan that cannot work fails only on its rank.
  Result<Session> read_session(Extent extent = {}, const ReadPlan& plan = {}) const;
  /// The same for the whole file: `read_session({.mode = Mode::kOnDemand})`. A template, so that {}
  /// is an Extent.
  template <std::same_as<ReadPlan> Plan = ReadPlan>
  Result<Session> read_session(const Plan& plan) const {
    return read_session(Extent{}, plan);
  }

 private:
  friend class Runtime;
  struct OpenState;
  Result<Session> open_session(Extent extent,
                               const ReadPlan& plan,
                               const SessionHandle& handle) const;
  File(std::shared_ptr<RuntimeCore> runtime, std::shared_ptr<const OpenState> opened);
  std::shared_ptr<RuntimeCore> runtime_;
  std::shared_ptr<const OpenState> opened_;
};

/// Owns agents and memory. Creation starts nothing that takes CPU time while idle. Functions may be
/// called from any thread, collective ones from one thread at a time, as the thread level of MPI
/// permits. The destructor aborts open steps and blocks as DatasetWriter::close(), then for at most
/// one minute for other ranks. Then it closes sessions and joins agents. It is not collective. All
/// Views and Futures of reads must be destroyed before it.
class FOREBAY_EXPORT Runtime {
 public:
  /// This process alone.
  explicit Runtime(RuntimeOptions options = {});
  /// One of several ranks. Collective: all of them create their Runtime together.
  explicit Runtime(const Ranks& ranks, RuntimeOptions options = {});
  /// The same for types that <forebay/mpi.hpp> or a similar header maps to Ranks: `Runtime
  /// runtime(MPI_COMM_WORLD)`.
  template <class Native>
    requires requires(const Native& native) {
      { RanksOf<Native>::make(native) } -> std::same_as<Ranks>;
    }
  explicit Runtime(const Native& native, RuntimeOptions options = {})
      : Runtime(RanksOf<Native>::make(native), std::move(options)) {}
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Opens an existing file for reading; never creates one. Fails with kNotFound, kPermission, ...
  /// Collective over the compute ranks: if a rank cannot open the file or finds another size, all
  /// get the same Error, which names the first such rank. On I/O ranks: kInvalidArgument, at once.
  Result<File> open_file(const std::string& path);

  /// Allocates memory from which agents write to storage without a copy: see Buffer. It is
  /// prefaulted; its content is undefined (zeros, or bytes of an earlier use). A size of 0 gives an
  /// empty Buffer. Not part of RuntimeOptions::budget_bytes. Freed memory is kept for later calls:
  /// an allocation of about the same size then takes microseconds, while new memory takes 0.1 to 1
  /// ms for each MiB. Each Buffer larger than 1 MiB takes a descriptor of the process. Fails with
  /// kLimit if memory or descriptors are exhausted, or if RLIMIT_MEMLOCK is too small for kPinned.
  Result<Buffer> allocate(std::uint64_t size_bytes, MemoryKind kind = MemoryKind::kHost);

  /// Opens a dataset for reading; never creates one. Fails with kNotFound, kDamage, ... Collective
  /// over the compute ranks: the first one reads the list of steps, and all get the same list or
  /// the same Error. After that, `path` and `options` apply to each rank by itself, except
  /// concurrent_readers_max of the first rank. On I/O ranks: kInvalidArgument, at once.
  Result<DatasetReader> open_dataset(const std::string& path,
                                     const DatasetReadOptions& options = {});

  /// Creates a stream that writes behind the computation of this rank. Takes the memory of its
  /// buffers, which is not part of RuntimeOptions::budget_bytes. Fails with kInvalidArgument for a
  /// plan that cannot work and on an I/O rank, and with kLimit if memory is exhausted. Not
  /// collective.
  Result<OutputStream> create_output_stream(const StreamPlan& plan = {});

  /// Creates the dataset (a directory) at `path`, or opens it to append. `path` leads to the same
  /// directory on all ranks; a later chdir() has no effect. The options of the first rank are in
  /// force. The library chooses values of the plan that are left open. Collective over the compute
  /// ranks; no later call on the dataset is.
  ///
  /// If it fails on one rank, all get its Error. kExists: the dataset has steps, which are
  /// unchanged; append with ExistingDataset::kAppend. kPermission: the dataset is open for writing,
  /// in this or another program; the text names it. kInvalidArgument: a plan that cannot work, or a
  /// rank that writes data files finds another directory at `path`. kClosed or kLimit: an I/O rank
  /// does not call serve(). ...
  Result<DatasetWriter> create_dataset(const std::string& path, const DatasetOptions& options = {});

  /// Names a function that Session::preexecute() starts, here or in the process of the node's
  /// agent. Register it on all ranks, I/O ranks too, before sessions are opened. Any thread. Fails
  /// with kExists if the name is taken.
  Status register_next_reads(std::string name, NextReadFactory factory);

  /// The session with this handle on this rank; the handle may come from another rank. Fails with
  /// kNotFound if this rank has not opened the session yet, and with kClosed if it has ended here.
  /// Fails with kInvalidArgument for a handle of another Runtime and on an I/O rank.
  Result<Session> find_session(const SessionHandle& handle) const;

  /// Number of this process among the ranks with its role, from 0, in the order of all ranks.
  /// Error::rank() counts the compute ranks first, then the I/O ranks.
  std::uint32_t rank() const noexcept;
  /// Number of ranks with that role: all ranks, if none is an I/O rank.
  std::uint32_t rank_count() const noexcept;

  /// Role of this rank: kCompute on all ranks unless RuntimeOptions::placement is kDedicated.
  Role role() const noexcept;

  /// The compute ranks, with a message space of their own for the program: communicator_of() in
  /// <forebay/mpi.hpp> returns its communicator. Not collective. Copies keep it alive, also after
  /// the Runtime; with MPI, destroy all of them before MPI_Finalize. On an I/O rank it holds an
  /// Error instead.
  Ranks compute_ranks() const;

  /// Reads and writes for the ranks of this node, and for nodes assigned to it. Blocks until those
  /// of its node and the first rank have ended their Runtime, and its datasets are closed. The
  /// thread sleeps while agents work; it calls MPI while a dataset is opened. Call it on a rank
  /// whose role() is kIo, once the rank has no other work. Fails with kInvalidArgument on other
  /// ranks, at once. If a Runtime ends without this call, other ranks read for themselves, and
  /// datasets that this rank should write cannot be opened.
  Status serve();

  /// The Runtime's own executor. Coroutines that await a Future resume inside its poll() and
  /// wait(), unless the options name another executor.
  EventLoop& event_loop() noexcept;

 private:
  friend struct RuntimeAccess;
  std::shared_ptr<RuntimeCore> core_;
};

}  // namespace forebay
