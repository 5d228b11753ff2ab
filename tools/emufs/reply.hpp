// SPDX-License-Identifier: Apache-2.0
// A complete reply to the kernel that waits for its time. What it holds (buffers, open files,
// lookups) passes to the kernel when it is sent, and is released when an error is sent instead.
#pragma once

#include <memory>
#include <utility>

namespace forebay::emufs {

class Reply {
 public:
  virtual ~Reply() = default;
  /// Sends the reply to the kernel. At most once.
  virtual void send() = 0;
  /// Sends an error instead. At most once, and not after send().
  virtual void send_error(int error_number) = 0;
};

/// A Reply from two functions; their captures are what it holds.
template <class Send, class SendError>
class FunctionReply final : public Reply {
 public:
  FunctionReply(Send send, SendError on_error)
      : send_(std::move(send)), send_error_(std::move(on_error)) {}
  void send() override { send_(); }
  void send_error(int error_number) override { send_error_(error_number); }

 private:
  Send send_;
  SendError send_error_;
};

template <class Send, class SendError>
std::unique_ptr<Reply> make_reply(Send send, SendError on_error) {
  return std::make_unique<FunctionReply<Send, SendError>>(std::move(send), std::move(on_error));
}

}  // namespace forebay::emufs
