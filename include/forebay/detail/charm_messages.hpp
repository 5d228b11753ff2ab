// SPDX-License-Identifier: Apache-2.0
// Tokens, messages and commands of <forebay/charm.hpp>, the queue of a PE, and what that header
// needs of a task system.
#pragma once

#include <forebay/detail/export.hpp>
#include <forebay/error.hpp>
#include <forebay/executor.hpp>
#include <forebay/read_plan.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace forebay::charm {

/// An open file. Plain bytes; valid in all processes.
struct File {
  std::uint64_t number = 0;

  template <class Er>
  void pup(Er& p) {
    p | number;
  }
};

/// A read session. Plain bytes, valid in all processes: a chare that migrates takes it along.
struct Session {
  std::uint64_t number = 0;
  File file = {};
  std::size_t bytes = 0;
  std::size_t offset = 0;

  // NOLINTBEGIN(readability-identifier-naming): CkIO's names
  File getFile() const { return file; }
  std::size_t getBytes() const { return bytes; }
  std::size_t getOffset() const { return offset; }
  // NOLINTEND(readability-identifier-naming)
  template <class Er>
  void pup(Er& p) {
    p | number;
    file.pup(p);
    p | bytes;
    p | offset;
  }
  friend bool operator==(const Session& a, const Session& b) { return a.number == b.number; }
};

/// How the sessions of a file read; see ReadPlan. With kDeclared, several processes whose Runtimes
/// have no ranks would each read the whole session: they use kOnDemand instead.
struct Options {
  Mode mode = Mode::kDeclared;
  EvictionPolicy eviction = EvictionPolicy::kReadOnce;
  std::uint64_t budget_bytes = 0;
};

/// Members of every message beside those that CkIO has.
struct MessageFields {
  ErrorClass error_class;  ///< undefined if the call succeeded
  char* error;             ///< Error::message(), terminated by zero; empty if the call succeeded

  bool has_failed() const noexcept { return *error != '\0'; }
};
struct FileReadyFields : MessageFields {
  File file;
};
struct SessionReadyFields : MessageFields {
  Session session;
};
struct ReadCompleteFields : MessageFields {
  std::size_t offset;
  std::size_t bytes;
  char* data;  ///< the bytes, for a read() without a destination
};
struct ClosedFields : MessageFields {};

// clang-format off
/// What <forebay/charm.hpp> needs of the runtime whose callbacks have the type Callback. A
/// specialization has the members below. Forebay calls them on PEs only.
///
///     // Derived from the classes ...Fields:
///     using FileReadyMsg, SessionReadyMsg, ReadCompleteMsg, ClosedMsg;
///     // A message whose `data` and `error` point to space of these sizes.
///     template <class M> static M* make(std::size_t data_bytes, std::size_t error_bytes);
///     template <class M> static void destroy(M* message);
///     // Takes ownership. Never runs the receiver inline.
///     template <class M> static void send(const Callback& callback, M* message);
///     static Process<Callback>& process();       // the state of this process
///     static std::size_t process_count();
///     // Calls process().receive(command) on a PE of that process. Never inline.
///     static void transmit(std::size_t process, Command<Callback> command);
///     static Executor& executor();               // the PeQueue of this PE
///     // User-level threads, for BasicFileReader alone.
///     static auto current_thread();
///     static void suspend();
///     static void awaken(thread);
template <class Callback>
struct TaskSystemOf;
// clang-format on

/// The queue of a PE: agents post, the PE polls. One PE polls each queue. Lock-free; a poll without
/// work costs one load. The queue must outlive all requests of its PE.
class FOREBAY_EXPORT PeQueue : public Executor {
 public:
  void post(Work& work) noexcept override {
    work.next = head_.load(std::memory_order_relaxed);
    while (!head_.compare_exchange_weak(work.next, &work, std::memory_order_acq_rel,
                                        std::memory_order_relaxed)) {
    }
    wake();
  }
  /// Runs what is queued, in the order of the posts. Returns true if there was any.
  bool poll() {
    if (head_.load(std::memory_order_relaxed) == nullptr) return false;
    Work* newest = head_.exchange(nullptr, std::memory_order_acq_rel);
    Work* oldest = nullptr;
    while (newest != nullptr) {
      Work* const older = std::exchange(newest->next, oldest);
      oldest = std::exchange(newest, older);
    }
    while (oldest != nullptr) {
      Work* const next = oldest->next;  // read first: run() may delete the work or post it again
      oldest->run(*oldest);
      oldest = next;
    }
    return true;
  }

 private:
  /// Called after each post, on any thread, for systems whose idle PEs sleep. Must not block.
  virtual void wake() noexcept {}
  std::atomic<Work*> head_ = nullptr;
};

/// The calls that all processes execute, and the reply to process 0.
enum class CommandKind : std::uint8_t { kOpen, kStart, kCloseSession, kCloseFile, kDone };

/// Such a call. `number` is 0 on its way to process 0, which numbers the calls.
template <class Callback>
struct Command {
  CommandKind kind = CommandKind::kOpen;
  std::uint64_t number = 0;
  std::uint64_t target = 0;  ///< file or session
  std::size_t offset = 0;
  std::size_t bytes = 0;
  Options options = {};
  ErrorClass error_class = ErrorClass::kIo;
  std::string text = {};  ///< path of a file, or error
  bool has_callback = true;
  Callback callback = {};

  template <class Er>
  void pup(Er& p) {
    auto enumeration = [&p](auto& value) {
      auto number_of = static_cast<int>(value);
      p | number_of;
      value = static_cast<std::remove_reference_t<decltype(value)>>(number_of);
    };
    enumeration(kind);
    enumeration(options.mode);
    enumeration(options.eviction);
    enumeration(error_class);
    p | number;
    p | target;
    p | offset;
    p | bytes;
    p | options.budget_bytes;
    p | text;
    p | has_callback;
    p | callback;
  }
};

}  // namespace forebay::charm
