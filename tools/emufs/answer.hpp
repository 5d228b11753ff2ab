// SPDX-License-Identifier: Apache-2.0
// An answer to the kernel that is complete and waits for its time. What it holds (buffers, open
// files, names looked up) goes to the kernel when it is sent, and is given back when it is refused.
#pragma once

#include <memory>
#include <utility>

namespace forebay::emufs {

class Answer {
 public:
  virtual ~Answer() = default;
  /// Tells the kernel. Once.
  virtual void send() = 0;
  /// Tells the kernel of a failure instead. Once, and not after send().
  virtual void refuse(int error_number) = 0;
};

/// An Answer from two functions; what they capture is what it holds.
template <class Send, class Refuse>
class AnswerOf final : public Answer {
 public:
  AnswerOf(Send send, Refuse refuse) : send_(std::move(send)), refuse_(std::move(refuse)) {}
  void send() override { send_(); }
  void refuse(int error_number) override { refuse_(error_number); }

 private:
  Send send_;
  Refuse refuse_;
};

template <class Send, class Refuse>
std::unique_ptr<Answer> make_answer(Send send, Refuse refuse) {
  return std::make_unique<AnswerOf<Send, Refuse>>(std::move(send), std::move(refuse));
}

}  // namespace forebay::emufs
