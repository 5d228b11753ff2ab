// SPDX-License-Identifier: Apache-2.0
// Runtime and File: where a program enters Forebay. A Runtime owns the agents (service threads) and
// the memory they fill; it needs no MPI and no configuration.
#pragma once

#include <forebay/config.hpp>
#include <forebay/error.hpp>
#include <forebay/executor.hpp>
#include <forebay/log.hpp>
#include <forebay/plan.hpp>
#include <forebay/range.hpp>
#include <forebay/session.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace forebay {

class RuntimeCore;

/// Which asynchronous interface of the system reads files that are read directly.
enum class EngineChoice : std::uint8_t {
  kAuto,     ///< io_uring where it works, else threads
  kRing,     ///< io_uring or an Error
  kThreads,  ///< a pool of threads
};

struct RuntimeOptions {
  /// Most memory for data of all sessions together. Sessions start small and grow within it.
  std::uint64_t budget_bytes = 64ULL << 20U;
  EngineChoice engine = EngineChoice::kAuto;
  /// Threads that copy from the page cache; 0: chosen from the cores of this machine.
  unsigned copy_threads = 0;
  /// Where coroutines resume by default; null: the Runtime's own EventLoop. Must outlive the
  /// Runtime.
  Executor* executor = nullptr;
  /// Receives diagnostics, among them a line of kInfo for each session: its file, buffered or
  /// direct, and why. Null: nobody does. Must outlive the Runtime.
  LogSink* log = nullptr;
};

/// Options from FOREBAY_BUDGET ("64MiB"), FOREBAY_ENGINE (auto, ring, threads) and
/// FOREBAY_COPY_THREADS, or from the TOML file that FOREBAY_CONFIG names (budget, engine,
/// copy_threads); what is not set keeps its default. Fails with kInvalidArgument naming variable or
/// key, also for a FOREBAY_... variable that nobody knows.
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
  Result<Session> read_session(Extent extent = {}, const ReadPlan& plan = {}) const;

 private:
  friend class Runtime;
  struct Opened;
  Result<Session> open_session(ByteRange extent, const ReadPlan& plan) const;
  File(std::shared_ptr<RuntimeCore> runtime, std::shared_ptr<const Opened> opened);
  std::shared_ptr<RuntimeCore> runtime_;
  std::shared_ptr<const Opened> opened_;
};

/// Owns agents and memory. Making one starts nothing that costs CPU time while idle. Its functions
/// may be called from any thread. At its end sessions are closed and agents joined; Views and
/// Futures must be gone by then.
class Runtime {
 public:
  explicit Runtime(RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Opens an existing file for reading; nothing is ever created. Fails with kNotFound,
  /// kPermission, ...
  Result<File> open(const std::string& path);

  /// The Runtime's own executor: coroutines that await a Future resume inside its poll() and wait()
  /// unless the options named another one.
  EventLoop& loop() noexcept;

 private:
  std::shared_ptr<RuntimeCore> core_;
};

}  // namespace forebay
