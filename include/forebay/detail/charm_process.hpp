// SPDX-License-Identifier: Apache-2.0
// The state of a process behind <forebay/charm.hpp>. Process 0 gives each call that all processes
// execute a number, so that they execute the calls in one order, as collective calls of a Runtime
// with ranks require.
#pragma once

#include <forebay/detail/charm_messages.hpp>
#include <forebay/error.hpp>
#include <forebay/executor.hpp>
#include <forebay/future.hpp>
#include <forebay/read_plan.hpp>
#include <forebay/runtime.hpp>
#include <forebay/session.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace forebay::charm {

/// Creates the Runtime of a process. May block and be collective.
using RuntimeFactory = std::function<Result<std::unique_ptr<Runtime>>()>;

/// One process alone, with the options of its environment.
inline Result<std::unique_ptr<Runtime>> runtime_from_environment() {
  auto options = options_from_environment();
  if (!options) return failure(options.error());
  return std::make_unique<Runtime>(*options);
}

/// Files and sessions of one process. Its thread executes the calls, so that no PE blocks.
template <class Callback>
class Process {
 public:
  using System = TaskSystemOf<Callback>;
  using Call = Command<Callback>;

  /// The first call creates the Runtime.
  explicit Process(RuntimeFactory make_runtime = runtime_from_environment)
      : make_runtime_(std::move(make_runtime)) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  /// Ends the Runtime. Calls in progress are finished, waiting ones are dropped.
  ~Process() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  /// Handles a command that transmit() delivered to this process. On a PE; does not block.
  void receive(Call command) {
    if (command.kind == CommandKind::kDone) return count_reply(command);
    if (command.number == 0) return number_and_distribute(std::move(command));
    enqueue(std::move(command));
  }

  /// The session of Forebay. Fails with kClosed if it is not open.
  Result<forebay::Session> session(const Session& token) {
    const std::lock_guard lock(mutex_);
    const auto found = sessions_.find(token.number);
    if (found != sessions_.end()) return found->second;
    return failure({.kind = ErrorClass::kClosed,
                    .operation = "read session " + std::to_string(token.number),
                    .cause = "the session is not open; start one with startReadSession()"});
  }

 private:
  struct Pending {
    Call call;
    std::size_t replies = 0;
    std::string error = {};
    ErrorClass error_class = ErrorClass::kIo;
  };
  struct Queued {
    Call call;
    Executor* executor;  // of the PE that received the call
    std::size_t process_count;
  };
  struct Reply : Work {
    explicit Reply(Call reply) : call(std::move(reply)) { run = &transmit; }
    static void transmit(Work& work) noexcept {
      const std::unique_ptr<Reply> self(static_cast<Reply*>(&work));
      System::transmit(0, std::move(self->call));
    }
    Call call;
  };

  void number_and_distribute(Call call) {
    {
      const std::lock_guard lock(mutex_);
      call.number = ++last_number_;
      pending_.emplace(call.number, Pending{.call = call});
    }
    for (std::size_t process = 0; process < System::process_count(); ++process)
      System::transmit(process, call);
  }

  void count_reply(const Call& reply) {
    std::unique_lock lock(mutex_);
    const auto found = pending_.find(reply.number);
    Pending& pending = found->second;
    if (pending.error.empty() && !reply.text.empty()) {
      pending.error = reply.text;
      pending.error_class = reply.error_class;
    }
    if (++pending.replies < System::process_count()) return;
    const Pending complete = std::move(pending);
    pending_.erase(found);
    lock.unlock();
    if (!complete.error.empty()) discard(complete.call);
    if (complete.call.has_callback) send_completion(complete);
  }

  /// Closes what other processes opened in a call that failed.
  void discard(const Call& failed) {
    const bool is_open = failed.kind == CommandKind::kOpen;
    if (!is_open && failed.kind != CommandKind::kStart) return;
    System::transmit(0, {.kind = is_open ? CommandKind::kCloseFile : CommandKind::kCloseSession,
                         .target = failed.number,
                         .has_callback = false});
  }

  void send_completion(const Pending& complete) {
    const Call& call = complete.call;
    if (call.kind == CommandKind::kOpen) {
      auto* message = make<typename System::FileReadyMsg>(complete);
      message->file = {call.number};
      System::send(call.callback, message);
    } else if (call.kind == CommandKind::kStart) {
      auto* message = make<typename System::SessionReadyMsg>(complete);
      message->session = {call.number, {call.target}, call.bytes, call.offset};
      System::send(call.callback, message);
    } else {
      System::send(call.callback, make<typename System::ClosedMsg>(complete));
    }
  }
  template <class Message>
  static Message* make(const Pending& complete) {
    auto* message = System::template make<Message>(0, complete.error.size() + 1);
    std::memcpy(message->error, complete.error.c_str(), complete.error.size() + 1);
    message->error_class = complete.error_class;
    return message;
  }

  /// Messages may arrive in any order; the thread executes calls in the order of their numbers.
  void enqueue(Call call) {
    Executor* executor = &System::executor();
    const std::size_t process_count = System::process_count();
    std::unique_lock lock(mutex_);
    const std::uint64_t number = call.number;
    early_.emplace(number, Queued{std::move(call), executor, process_count});
    while (!early_.empty() && early_.begin()->first == next_number_) {
      queue_.push_back(std::move(early_.begin()->second));
      early_.erase(early_.begin());
      ++next_number_;
    }
    if (!thread_.joinable()) start_thread();
    lock.unlock();
    changed_.notify_all();
  }
  void start_thread() {
    try {
      thread_ = std::thread([this] { execute_calls(); });
    } catch (const std::system_error& refused) {
      const Error error({.kind = ErrorClass::kLimit,
                         .operation = "start the thread that opens files",
                         .error_number = refused.code().value(),
                         .cause = "end other threads or raise the limit of this user"});
      for (Queued& queued : queue_)
        reply(queued, failure(error));
      queue_.clear();
    }
  }

  void execute_calls() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return is_stopping_ || !queue_.empty(); });
      if (is_stopping_) break;
      const Queued queued = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      reply(queued, execute(queued));
      lock.lock();
    }
    lock.unlock();
    sessions_.clear();
    files_.clear();
    runtime_.reset();
  }

  static void reply(const Queued& queued, const Status& status) {
    Call call{.kind = CommandKind::kDone, .number = queued.call.number};
    if (!status) {
      call.text = status.error().message();
      call.error_class = status.error().kind();
    }
    queued.executor->post(*new Reply(std::move(call)));
  }

  Status execute(const Queued& queued) {
    const Call& call = queued.call;
    switch (call.kind) {
      case CommandKind::kOpen:
        return open_file(call);
      case CommandKind::kStart:
        return start_session(call, queued.process_count);
      case CommandKind::kCloseSession:
        return close_session(call);
      default:
        return close_file(call);
    }
  }
  Status open_file(const Call& call) {
    if (!runtime_) {
      auto made = make_runtime_();
      if (!made) return failure(made.error());
      runtime_ = std::move(*made);
    }
    auto file = runtime_->open_file(call.text);
    if (!file) return failure(file.error());
    files_.emplace(call.number, OpenFile{std::move(*file), call.options});
    return {};
  }
  Status start_session(const Call& call, std::size_t process_count) {
    const auto found = files_.find(call.target);
    if (found == files_.end()) return not_open("start session of file", call.target, "open()");
    const auto& [file, options] = found->second;
    const bool is_alone = runtime_->rank_count() == 1 && process_count > 1;
    auto session = file.read_session({call.offset, call.bytes},
                                     {.mode = is_alone ? Mode::kOnDemand : options.mode,
                                      .budget_bytes = options.budget_bytes,
                                      .eviction = options.eviction});
    if (!session) return failure(session.error());
    const std::lock_guard lock(mutex_);
    sessions_.emplace(call.number, std::move(*session));
    return {};
  }
  Status close_session(const Call& call) {
    std::unique_lock lock(mutex_);
    auto closing = sessions_.extract(call.target);
    lock.unlock();
    if (!closing) return not_open("close session", call.target, "startReadSession()");
    closing.mapped().close();
    return {};
  }
  Status close_file(const Call& call) {
    if (files_.erase(call.target) == 0) return not_open("close file", call.target, "open()");
    return {};
  }
  static Status not_open(const char* operation, std::uint64_t number, const char* source) {
    return failure({.kind = ErrorClass::kClosed,
                    .operation = operation + (" " + std::to_string(number)),
                    .cause = std::string("it is not open; pass a token of ") + source});
  }

  struct OpenFile {
    forebay::File file;
    Options options;
  };

  RuntimeFactory make_runtime_;
  std::unique_ptr<Runtime> runtime_;  // used by thread_ only, as files_
  std::map<std::uint64_t, OpenFile> files_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::map<std::uint64_t, forebay::Session> sessions_;
  std::map<std::uint64_t, Pending> pending_;  // of process 0
  std::uint64_t last_number_ = 0;             // of process 0
  std::uint64_t next_number_ = 1;
  std::map<std::uint64_t, Queued> early_;
  std::deque<Queued> queue_;
  bool is_stopping_ = false;
  std::thread thread_;
};

namespace detail {

template <class Callback>
void request(Command<Callback> command) {
  TaskSystemOf<Callback>::transmit(0, std::move(command));
}

template <class Callback>
Future<ByteCount> read_into(const Session& token, std::size_t offset, std::span<std::byte> into) {
  auto session = TaskSystemOf<Callback>::process().session(token);
  if (!session) return session.error();
  return session->read(offset, into);
}

/// A ReadCompleteMsg with space for `data_bytes`.
template <class Callback>
auto* read_message(std::size_t data_bytes,
                   std::size_t bytes,
                   std::size_t offset,
                   const Result<ByteCount>& result) {
  using System = TaskSystemOf<Callback>;
  const std::string text = result ? std::string() : result.error().message();
  auto* message =
      System::template make<typename System::ReadCompleteMsg>(data_bytes, text.size() + 1);
  std::memcpy(message->error, text.c_str(), text.size() + 1);
  if (!result) message->error_class = result.error().kind();
  message->offset = offset;
  message->bytes = result ? bytes : 0;
  return message;
}

/// Suspends the user-level thread until `future` is finished.
template <class Callback, class T>
Result<T> await(Future<T> future) {
  using System = TaskSystemOf<Callback>;
  if (future.poll()) return future.wait();
  std::optional<Result<T>> finished;
  auto finish = [&finished, thread = System::current_thread()](Result<T> result) {
    finished.emplace(std::move(result));
    System::awaken(thread);
  };
  std::move(future).then(System::executor(), std::move(finish));
  while (!finished)
    System::suspend();
  return std::move(*finished);
}

inline tl::unexpected<Error> too_long(std::size_t bytes, std::size_t offset) {
  return failure(
      {.kind = ErrorClass::kLimit,
       .operation = "read " + std::to_string(bytes) + " bytes into a message",
       .offset_bytes = offset,
       .cause = "a message carries at most 1 GiB; pass a destination, or read in parts"});
}

inline Error bad_seek(const Session& session, std::size_t base, std::int64_t offset) {
  return Error({.kind = ErrorClass::kOutOfRange,
                .operation = "seek in session " + std::to_string(session.number),
                .cause = "position " + std::to_string(base) + " and offset " +
                         std::to_string(offset) + " lead outside its " +
                         std::to_string(session.bytes) + " bytes"});
}

}  // namespace detail

}  // namespace forebay::charm
