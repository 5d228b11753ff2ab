// SPDX-License-Identifier: Apache-2.0
// Memory across the border: buffers of Python objects that Forebay reads or fills, and memory of
// Forebay that Python objects use through the buffer protocol.
#pragma once

#include <forebay/element_type.hpp>
#include <forebay/memory_layout.hpp>
#include <forebay/part.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>

#include "bindings/python/failure.hpp"

namespace forebay::python {

/// An IEEE 754 binary16 number as stored.
struct Float16 {
  std::uint16_t bits;
};

}  // namespace forebay::python

namespace forebay {
template <>
constexpr std::optional<ElementType> element_type_of<python::Float16>() noexcept {
  return ElementType::kFloat16;
}
}  // namespace forebay

namespace forebay::python {

/// Calls `use` with a value of the C++ type of `type`.
template <class F>
auto with_type(ElementType type, F use) {
  switch (type) {
    case ElementType::kInt8:
      return use(std::int8_t{});
    case ElementType::kInt16:
      return use(std::int16_t{});
    case ElementType::kInt32:
      return use(std::int32_t{});
    case ElementType::kInt64:
      return use(std::int64_t{});
    case ElementType::kUint8:
      return use(std::uint8_t{});
    case ElementType::kUint16:
      return use(std::uint16_t{});
    case ElementType::kUint32:
      return use(std::uint32_t{});
    case ElementType::kUint64:
      return use(std::uint64_t{});
    case ElementType::kFloat16:
      return use(Float16{});
    case ElementType::kFloat32:
      return use(float{});
    case ElementType::kFloat64:
      return use(double{});
    case ElementType::kComplex64:
      return use(std::complex<float>{});
    case ElementType::kComplex128:
      return use(std::complex<double>{});
    case ElementType::kBytes:
      break;
  }
  return use(std::byte{});
}

/// Name of the NumPy type: "float64"; "uint8" for bytes.
const char* numpy_name(ElementType type) noexcept;

/// The element type with this NumPy name or type object. Raises InvalidArgumentError.
ElementType parse_numpy_type(const char* operation, nb::handle dtype);

enum class Need : std::uint8_t { kRead, kWrite };
/// Which arrays a call takes: C-contiguous ones alone, or also those that a MemoryLayout describes.
enum class Elements : std::uint8_t { kContiguous, kStrided };

/// The buffer of a Python object, held until the destruction, on any thread: without the GIL, the
/// buffer is released by a later call that has it.
class ForeignMemory {
 public:
  /// Objects without the buffer protocol are imported by DLPack. For kRead, NumPy copies an array
  /// that `elements` excludes. Raises InvalidArgumentError, naming `operation`, for kWrite and
  /// memory that is read-only or that `elements` excludes, for objects without a buffer, and for
  /// types that no ElementType has.
  ForeignMemory(const char* operation,
                nb::handle object,
                Need need,
                Elements elements = Elements::kContiguous);
  ~ForeignMemory();
  ForeignMemory(const ForeignMemory&) = delete;
  ForeignMemory& operator=(const ForeignMemory&) = delete;

  /// All memory from the first element to the last one.
  std::span<std::byte> bytes() const noexcept {
    return {static_cast<std::byte*>(buffer_->buf), size_bytes_};
  }
  template <class T>
  std::span<T> as() const noexcept {
    return {static_cast<T*>(buffer_->buf), size_bytes_ / sizeof(T)};
  }
  /// Where the elements lie in it; the default if they are C-contiguous.
  const MemoryLayout& layout() const noexcept { return layout_; }
  /// kBytes for bytes and bytearray.
  ElementType type() const noexcept { return type_; }
  /// Replaces the type by another one of the same size.
  void reinterpret_as(ElementType type) noexcept { type_ = type; }
  const Shape& shape() const noexcept { return shape_; }

 private:
  void get_buffer(const char* operation, nb::handle source, Need need);
  bool is_contiguous() const noexcept { return PyBuffer_IsContiguous(buffer_.get(), 'C') != 0; }
  bool find_layout();

  std::unique_ptr<Py_buffer> buffer_;
  std::size_t size_bytes_ = 0;
  MemoryLayout layout_;
  ElementType type_ = ElementType::kBytes;
  Shape shape_;
};
using MemoryPointer = std::shared_ptr<ForeignMemory>;

/// Destroys `object` now if this thread has the GIL, else in a later call of drop_deferred().
void drop_with_gil(std::shared_ptr<void> object);
void drop_deferred();

/// Memory of Forebay with the buffer protocol, the base of Python classes. One dimension of bytes
/// unless stated otherwise.
class ExportedMemory {
 public:
  virtual ~ExportedMemory() = default;
  /// Raises ClosedError once the memory was released.
  virtual std::span<std::byte> bytes() const = 0;
  virtual bool is_read_only() const { return false; }
  virtual ElementType type() const { return ElementType::kUint8; }
  virtual Shape shape() const { return {bytes().size()}; }
  /// Raises BufferError while arrays and memoryviews use the memory.
  void check_unused(const char* operation) const;

  static int export_buffer(PyObject* self, Py_buffer* view, int flags) noexcept;
  static void end_export(PyObject* self, Py_buffer* view) noexcept;

 private:
  int exports_ = 0;  // under the GIL
};

void bind_memory(nb::module_& module);

}  // namespace forebay::python
