// SPDX-License-Identifier: Apache-2.0
// The objects behind the handles of the C interface. Each keeps the Runtime alive, so the order in
// which a program frees its handles does not matter.
#pragma once

#include <forebay/detail/export.hpp>
#include <forebay/runtime.hpp>

#include <memory>
#include <optional>
#include <utility>

#include <forebay.h>

namespace forebay::bindings {

/// A Runtime with the log that it uses.
struct RuntimeOwner {
  RuntimeOwner(std::unique_ptr<LogSink> sink, const Ranks& ranks, RuntimeOptions options)
      : log(std::move(sink)),
        runtime(ranks, std::move(options)),
        compute_ranks(runtime.compute_ranks()) {}

  std::unique_ptr<LogSink> log;
  Runtime runtime;
  Ranks compute_ranks;  ///< keeps their communicator, which the program may use
};
using SharedRuntime = std::shared_ptr<RuntimeOwner>;

/// The Runtime of these ranks, for libforebay_mpi. Throws an Error.
FOREBAY_EXPORT SharedRuntime create_runtime(const Ranks& ranks,
                                            const forebay_runtime_options* options);

}  // namespace forebay::bindings

// In each struct, `runtime` is destroyed last.

struct forebay_runtime {
  forebay::bindings::SharedRuntime runtime;
};

struct forebay_file {
  forebay::bindings::SharedRuntime runtime;
  forebay::File file;
};

struct forebay_session {
  forebay::bindings::SharedRuntime runtime;
  forebay::Session session;
};

/// A Future with what its value is used for.
struct forebay_request {
  explicit forebay_request(forebay::bindings::SharedRuntime owner) : runtime(std::move(owner)) {}
  forebay_request(const forebay_request&) = delete;
  forebay_request& operator=(const forebay_request&) = delete;
  virtual ~forebay_request() = default;

  /// True once the request has finished; `error` is set then if it failed. Never blocks.
  virtual bool poll() = 0;
  /// Blocks for at most `limit`; without a value, until the request has finished.
  virtual bool wait(std::optional<std::chrono::nanoseconds> limit) = 0;
  virtual forebay::Result<int> event_fd() = 0;
  virtual void cancel() = 0;

  const forebay::bindings::SharedRuntime runtime;
  std::optional<forebay::Error> error;
  std::optional<forebay::Receipt> receipt;  ///< of a finished commit
};

namespace forebay::bindings {

/// Calls `use(T, forebay_request*)` with the value when the request finishes.
template <class T, class Use>
class FutureRequest final : public forebay_request {
 public:
  FutureRequest(SharedRuntime owner, Future<T> future, Use use)
      : forebay_request(std::move(owner)), future_(std::move(future)), use_(std::move(use)) {}

  bool poll() override {
    if (!is_finished_ && future_.poll()) finish();
    return is_finished_;
  }
  bool wait(std::optional<std::chrono::nanoseconds> limit) override {
    if (!is_finished_ && (!limit || future_.wait_for(*limit))) finish();
    return is_finished_;
  }
  Result<int> event_fd() override { return future_.event_fd(); }
  void cancel() override {
    if (!is_finished_) future_.cancel();
  }

 private:
  void finish() {
    Result<T> value = future_.wait();
    is_finished_ = true;
    if (value) {
      use_(std::move(*value), this);
    } else {
      error = value.error();
    }
  }

  Future<T> future_;
  Use use_;
  bool is_finished_ = false;
};

/// Waits for `future` if `request` is null; else stores a request for it, unless it has failed
/// already. Throws the Error.
template <class T, class Use>
void start(const SharedRuntime& runtime, Future<T> future, forebay_request** request, Use use) {
  if (request == nullptr) return use(future.wait().value(), nullptr);
  auto made = std::make_unique<FutureRequest<T, Use>>(runtime, std::move(future), std::move(use));
  if (made->poll() && made->error) throw tl::bad_expected_access<Error>(*made->error);
  *request = made.release();
}

/// For requests whose value is only a number of bytes.
inline void discard(ByteCount /*bytes*/, forebay_request* /*request*/) noexcept {}

/// Stores null for a call that may fail before it stores a request.
inline void clear(forebay_request** request) noexcept {
  if (request != nullptr) *request = nullptr;
}

}  // namespace forebay::bindings
