// SPDX-License-Identifier: Apache-2.0
// <forebay/charm.hpp> for charm4py, which has no C++ interface: a C interface that
// charm4py_chares.py calls. A callback is a number, and charm4py sends the messages.
#include <forebay/charm.hpp>
#include <forebay/detail/export.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "message.hpp"

namespace forebay::charm::testing {
namespace {

using Number = std::uint64_t;

/// Delivers a message: the callback, the token or the bytes of the message, and its error.
using Deliver = void (*)(Number callback, const char* bytes, std::size_t size, const char* error);
/// Transmits a packed command to a process.
using Transmit = void (*)(std::size_t process, const char* bytes, std::size_t size);

Deliver deliver = nullptr;
Transmit transmit_bytes = nullptr;
std::size_t process_count = 1;

struct Packer {
  std::string bytes = {};

  template <class T>
  Packer& operator|(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      *this | value.size();
      bytes += value;
    } else {
      static_assert(std::is_trivially_copyable_v<T>);
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    return *this;
  }
};

struct Unpacker {
  const char* next;

  template <class T>
  Unpacker& operator|(T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      std::size_t size = 0;
      *this | size;
      value.assign(next, size);
      next += size;
    } else {
      std::memcpy(&value, next, sizeof value);
      next += sizeof value;
    }
    return *this;
  }
};

void deliver_message(Number to, const Message<FileReadyFields>& message) {
  Packer token;
  File(message.file).pup(token);
  deliver(to, token.bytes.data(), token.bytes.size(), message.error);
}
void deliver_message(Number to, const Message<SessionReadyFields>& message) {
  Packer token;
  Session(message.session).pup(token);
  deliver(to, token.bytes.data(), token.bytes.size(), message.error);
}
void deliver_message(Number to, const Message<ReadCompleteFields>& message) {
  deliver(to, message.data_bytes.data(), message.data_bytes.size(), message.error);
}
void deliver_message(Number to, const Message<ClosedFields>& message) {
  deliver(to, nullptr, 0, message.error);
}

template <class Token>
Token unpacked(const char* bytes) {
  Token token;
  Unpacker unpacker{bytes};
  token.pup(unpacker);
  return token;
}

}  // namespace
}  // namespace forebay::charm::testing

template <>
struct forebay::charm::TaskSystemOf<forebay::charm::testing::Number>
    : forebay::charm::testing::MessageSystem {
  template <class M>
  static void send(testing::Number to, M* message) {
    const std::unique_ptr<M> owner(message);
    testing::deliver_message(to, *message);
  }
  static Process<testing::Number>& process() {
    static Process<testing::Number> instance;
    return instance;
  }
  static std::size_t process_count() { return testing::process_count; }
  static void transmit(std::size_t process, Command<testing::Number> command) {
    testing::Packer packer;
    command.pup(packer);
    testing::transmit_bytes(process, packer.bytes.data(), packer.bytes.size());
  }
  static PeQueue& executor() {
    static PeQueue queue;
    return queue;
  }
};

namespace forebay::charm::testing {

using System = TaskSystemOf<Number>;

// A process has one PE, and only its thread calls these.
extern "C" {

FOREBAY_EXPORT void bridge_start(std::size_t processes, Deliver deliverer, Transmit transmitter) {
  process_count = processes;
  deliver = deliverer;
  transmit_bytes = transmitter;
}
FOREBAY_EXPORT void bridge_receive(const char* bytes) {
  System::process().receive(unpacked<Command<Number>>(bytes));
}
FOREBAY_EXPORT int bridge_poll() { return System::executor().poll() ? 1 : 0; }
FOREBAY_EXPORT void bridge_open(const char* path, Number opened) { open(path, opened); }
FOREBAY_EXPORT void bridge_start_session(const char* file,
                                         std::size_t bytes,
                                         std::size_t offset,
                                         Number ready) {
  startReadSession(unpacked<File>(file), bytes, offset, ready);
}
FOREBAY_EXPORT void bridge_read(const char* session,
                                std::size_t bytes,
                                std::size_t offset,
                                Number after_read) {
  read(unpacked<Session>(session), bytes, offset, after_read);
}
FOREBAY_EXPORT void bridge_close_session(const char* session, Number closed) {
  closeReadSession(unpacked<Session>(session), closed);
}
FOREBAY_EXPORT void bridge_close_file(const char* file, Number closed) {
  close(unpacked<File>(file), closed);
}

}  // extern "C"

}  // namespace forebay::charm::testing
