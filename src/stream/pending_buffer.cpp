// SPDX-License-Identifier: Apache-2.0
// acquire_async(): a Future of a buffer. A released buffer signals it; the Future's owner takes the
// buffer, unless another thread was faster.
#include <utility>

#include "stream/stream_core.hpp"

namespace forebay::stream {

class StreamCore::PendingBuffer final : public detail::PendingResult<OutputBuffer> {
 public:
  explicit PendingBuffer(std::shared_ptr<StreamCore> core) : core_(std::move(core)) {}

  bool advance() override {
    if (!buffer_ && !core_->is_stopped()) buffer_ = core_->try_take_buffer();
    return buffer_.has_value() || core_->is_stopped();
  }
  bool arm(detail::Waiter& waiter) override {
    const std::lock_guard lock(core_->mutex_);
    core_->waiters_.fetch_add(1);
    if (advance()) {
      core_->waiters_.fetch_sub(1);
      return false;
    }
    core_->armed_waiters_.push_back(&waiter);
    return true;
  }
  void disarm(detail::Waiter& waiter) noexcept override {
    const std::lock_guard lock(core_->mutex_);
    if (std::erase(core_->armed_waiters_, &waiter) > 0) core_->waiters_.fetch_sub(1);
  }
  Executor& executor() const override { return *core_->setup_.executor; }
  ErrorDetails describe() const override { return {.operation = "acquire a buffer"}; }
  Result<OutputBuffer> take() override {
    if (!buffer_) return core_->first_error();
    return std::move(*buffer_);
  }

 private:
  const std::shared_ptr<StreamCore> core_;
  std::optional<OutputBuffer> buffer_;
};

Future<OutputBuffer> StreamCore::acquire_async() {
  clock_.note_acquire();
  return Future<OutputBuffer>(std::make_unique<PendingBuffer>(shared_from_this()));
}

}  // namespace forebay::stream
