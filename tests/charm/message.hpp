// SPDX-License-Identifier: Apache-2.0
// Messages of the task systems of these tests, in memory of the heap.
#pragma once

#include <forebay/charm.hpp>

#include <cstddef>
#include <type_traits>
#include <vector>

namespace forebay::charm::testing {

/// Memory of the varying parts of a message.
struct MessageBuffers {
  std::vector<char> data_bytes = {};
  std::vector<char> error_bytes = {};
  virtual ~MessageBuffers() = default;
};
template <class Fields>
struct Message : MessageBuffers, Fields {};

/// The part of a TaskSystemOf that makes messages.
struct MessageSystem {
  using FileReadyMsg = Message<FileReadyFields>;
  using SessionReadyMsg = Message<SessionReadyFields>;
  using ReadCompleteMsg = Message<ReadCompleteFields>;
  using ClosedMsg = Message<ClosedFields>;

  template <class M>
  static M* make(std::size_t data_bytes, std::size_t error_bytes) {
    auto* message = new M;
    message->data_bytes.resize(data_bytes);
    message->error_bytes.resize(error_bytes);
    message->error = message->error_bytes.data();
    if constexpr (std::is_same_v<M, ReadCompleteMsg>) message->data = message->data_bytes.data();
    return message;
  }
  template <class M>
  static void destroy(M* message) {
    delete message;
  }
};

}  // namespace forebay::charm::testing
