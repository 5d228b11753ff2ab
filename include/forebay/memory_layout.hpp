// SPDX-License-Identifier: Apache-2.0
// MemoryLayout: where the elements of a part or block lie in memory that is not packed, such as an
// array with ghost layers, in Fortran order, or with strides. StepWriter::put() and
// StepReader::read() take one. Peers: the memory dataspace of HDF5, SetMemorySelection() of ADIOS2,
// std::layout_stride.
#pragma once

#include <forebay/part.hpp>
#include <forebay/range.hpp>

#include <cstdint>

namespace forebay {

/// Where the elements of a box lie in memory. The box is a part, a block or a selection; its count
/// is that of put() or read(). Dimensions are those of the dataset. Members that are not empty have
/// a number for each of them. The defaults describe packed elements in C order.
///
/// With `shape` and without `strides`, the memory is exactly the whole array. With `strides` it
/// ends at the last element of the box or later. A layout that does not fit the box or the memory
/// fails with kInvalidArgument, which names the dimension and the numbers.
struct MemoryLayout {
  /// Number of elements of the whole array in memory, with its ghost layers. Empty: the box is the
  /// whole array. With `strides`, it only bounds `start`; empty: no bound.
  Shape shape = {};
  /// First element of the box in that array. Empty: zeros.
  Shape start = {};
  /// Order of the elements in memory. A dataset is always in C order: kFortran transposes. An
  /// array of a Fortran program needs no transposition if its dimensions are reversed in all calls.
  ArrayOrder order = ArrayOrder::kC;
  /// Distance of neighbors in each dimension, in elements. Empty: as `shape` and `order` imply. For
  /// put(), elements may share memory: stride 0 repeats one. For read(), each stride must be larger
  /// than the distance between the first and the last element of all dimensions with smaller
  /// strides together.
  Shape strides = {};

  /// True if all members have their defaults.
  bool is_packed() const noexcept {
    return shape.empty() && start.empty() && strides.empty() && order == ArrayOrder::kC;
  }
  friend bool operator==(const MemoryLayout&, const MemoryLayout&) = default;
};

/// The layout of a box of `count` elements with `layers` ghost layers on both sides of each
/// dimension.
inline MemoryLayout with_ghosts(const Shape& count,
                                std::uint64_t layers,
                                ArrayOrder order = ArrayOrder::kC) {
  MemoryLayout layout{
      .shape = count, .start = Shape(count.size(), layers), .order = order, .strides = {}};
  for (std::uint64_t& extent : layout.shape)
    extent += 2 * layers;
  return layout;
}

}  // namespace forebay
