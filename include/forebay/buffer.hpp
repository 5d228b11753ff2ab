// SPDX-License-Identifier: Apache-2.0
// Buffer: memory that the program computes in and that agents can write out as it is. It is aligned
// for direct I/O, faulted in, and the other processes of the node can map it; so what is handed
// over in it, with adopt(), is not copied.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace forebay {

namespace shm {
struct BufferLease;
}  // namespace shm

/// Where memory is. Part of the interface from the beginning, so that device memory needs no other.
enum class MemoryKind : std::uint8_t {
  kHost,    ///< ordinary memory
  kPinned,  ///< ordinary memory that is never swapped out
  kDevice,  ///< memory of an accelerator: not supported yet, an Error says so
};

/// "host", "pinned" or "device".
constexpr std::string_view name_of(MemoryKind kind) noexcept {
  constexpr std::string_view kNames[] = {"host", "pinned", "device"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// Memory from Runtime::allocate(). Moves, and is empty afterwards; its address stays. Goes back to
/// its Runtime when it is destroyed, on any thread, and may outlive the Runtime. One object is used
/// by one thread at a time; its bytes are as any memory.
class Buffer {
 public:
  Buffer() noexcept;
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  /// Null if it is empty; else at a multiple of 4 KiB, from 2 MiB on of 2 MiB.
  std::byte* data() const noexcept { return data_; }
  /// In bytes, as it was asked for.
  std::size_t size() const noexcept { return size_bytes_; }
  bool empty() const noexcept { return size_bytes_ == 0; }
  std::span<std::byte> bytes() const noexcept { return {data_, size_bytes_}; }
  /// As many whole values as fit. They have the bytes of whoever used the memory before.
  template <class T>
  std::span<T> as() const noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    return {reinterpret_cast<T*>(data_), size_bytes_ / sizeof(T)};
  }
  MemoryKind kind() const noexcept { return kind_; }

 private:
  friend struct shm::BufferLease;
  std::unique_ptr<shm::BufferLease> lease_;
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
  MemoryKind kind_ = MemoryKind::kHost;
};

/// A Buffer that was given away: what a dataset takes without copying. Made by adopt() alone. Goes
/// back to its Runtime when the last byte of it was written.
class [[nodiscard]] AdoptedBuffer {
 public:
  /// The bytes to write.
  std::span<const std::byte> bytes() const noexcept { return buffer_.bytes().first(size_bytes_); }
  MemoryKind kind() const noexcept { return buffer_.kind(); }
  /// kInvalidArgument if more bytes were asked for than there are; bytes() has none then.
  Status check() const;
  /// The buffer itself, whole.
  const Buffer& buffer() const noexcept { return buffer_; }
  /// Takes it back, if nobody else did.
  Buffer take() && noexcept { return std::move(buffer_); }

 private:
  friend AdoptedBuffer adopt(Buffer&& buffer) noexcept;
  friend AdoptedBuffer adopt(Buffer&& buffer, std::size_t size_bytes) noexcept;
  AdoptedBuffer(Buffer&& buffer, std::size_t wanted_bytes) noexcept
      : buffer_(std::move(buffer)),
        wanted_bytes_(wanted_bytes),
        size_bytes_(wanted_bytes <= buffer_.size() ? wanted_bytes : 0) {}

  Buffer buffer_;
  std::size_t wanted_bytes_;
  std::size_t size_bytes_;
};

/// Gives a buffer away, with all its bytes.
inline AdoptedBuffer adopt(Buffer&& buffer) noexcept {
  const std::size_t size_bytes = buffer.size();
  return {std::move(buffer), size_bytes};
}

/// The same for its first `size_bytes` bytes; see AdoptedBuffer::check().
inline AdoptedBuffer adopt(Buffer&& buffer, std::size_t size_bytes) noexcept {
  return {std::move(buffer), size_bytes};
}

}  // namespace forebay
