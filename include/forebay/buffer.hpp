// SPDX-License-Identifier: Apache-2.0
// Buffer: memory that the program computes in and from which agents write to storage without a
// copy. It is aligned for direct I/O and prefaulted, and other processes of the node can map it.
// adopt() passes a Buffer to a dataset.
#pragma once

#include <forebay/detail/export.hpp>
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
struct BufferAllocation;
}  // namespace shm

/// The kind of memory.
enum class MemoryKind : std::uint8_t {
  kHost,    ///< ordinary memory
  kPinned,  ///< ordinary memory that is never swapped out
};

/// "host" or "pinned".
constexpr std::string_view name_of(MemoryKind kind) noexcept {
  constexpr std::string_view kNames[] = {"host", "pinned"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// Memory from Runtime::allocate(). Move-only; a Buffer that was moved from is empty. A move does
/// not change the address. The destructor returns the memory to its Runtime, on any thread. May
/// outlive the Runtime. The object is used by one thread at a time; any thread may access its
/// bytes.
class FOREBAY_EXPORT Buffer {
 public:
  Buffer() noexcept;
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  /// Null if empty. Otherwise aligned to 4 KiB, or to 2 MiB if the Buffer has 2 MiB or more.
  std::byte* data() const noexcept { return data_; }
  /// Size in bytes, as requested from allocate().
  std::size_t size() const noexcept { return size_bytes_; }
  bool empty() const noexcept { return size_bytes_ == 0; }
  std::span<std::byte> bytes() const noexcept { return {data_, size_bytes_}; }
  /// The bytes as values of T, as many whole ones as fit. Their content is undefined: zeros, or
  /// bytes of an earlier use.
  template <class T>
  std::span<T> as() const noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    return {reinterpret_cast<T*>(data_), size_bytes_ / sizeof(T)};
  }
  MemoryKind kind() const noexcept { return kind_; }

 private:
  friend struct shm::BufferAllocation;
  std::unique_ptr<shm::BufferAllocation> allocation_;
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
  MemoryKind kind_ = MemoryKind::kHost;
};

/// A Buffer whose ownership was given up, for a dataset that writes it without a copy. Only adopt()
/// makes one. The memory returns to its Runtime when its last byte has been written.
class FOREBAY_EXPORT [[nodiscard]] AdoptedBuffer {
 public:
  /// The bytes to write.
  std::span<const std::byte> bytes() const noexcept { return buffer_.bytes().first(size_bytes_); }
  MemoryKind kind() const noexcept { return buffer_.kind(); }
  /// kInvalidArgument if adopt() was called with more bytes than the buffer has. bytes() is empty
  /// in that case.
  Status check() const;
  /// The whole buffer.
  const Buffer& buffer() const noexcept { return buffer_; }
  /// Returns the buffer to the caller, as after a put() that has failed; an empty one if it was
  /// taken before. bytes() must not be called afterwards.
  Buffer take() && noexcept { return std::move(buffer_); }

 private:
  friend AdoptedBuffer adopt(Buffer&& buffer) noexcept;
  friend AdoptedBuffer adopt(Buffer&& buffer, std::size_t size_bytes) noexcept;
  AdoptedBuffer(Buffer&& buffer, std::size_t requested_bytes) noexcept
      : buffer_(std::move(buffer)),
        requested_bytes_(requested_bytes),
        size_bytes_(requested_bytes <= buffer_.size() ? requested_bytes : 0) {}

  Buffer buffer_;
  std::size_t requested_bytes_;
  std::size_t size_bytes_;
};

/// Gives up ownership of `buffer`, to write all of its bytes.
inline AdoptedBuffer adopt(Buffer&& buffer) noexcept {
  const std::size_t size_bytes = buffer.size();
  return {std::move(buffer), size_bytes};
}

/// The same for its first `size_bytes` bytes; see AdoptedBuffer::check().
inline AdoptedBuffer adopt(Buffer&& buffer, std::size_t size_bytes) noexcept {
  return {std::move(buffer), size_bytes};
}

}  // namespace forebay
