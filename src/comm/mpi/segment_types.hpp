// SPDX-License-Identifier: Apache-2.0
// SegmentTypes: MPI derived datatypes of segments in memory and in the file.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <mpi.h>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"
#include "comm/collective_file.hpp"

namespace forebay::comm {

inline std::uint64_t bytes_of(std::span<const FileSegment> segments) {
  std::uint64_t bytes = 0;
  for (const FileSegment& segment : segments)
    bytes += segment.bytes.size();
  return bytes;
}

/// For segments in increasing order of offset that do not overlap. Addresses are absolute: the
/// buffer is MPI_BOTTOM. Without bytes, count() is 0 and both types are MPI_BYTE.
class SegmentTypes {
 public:
  explicit SegmentTypes(std::span<const FileSegment> segments) {
    FOREBAY_ASSERT(bytes_of(segments) <= CollectiveFile::kSegmentsBytesMax);
    std::vector<int> lengths;
    std::vector<MPI_Aint> addresses;
    std::vector<MPI_Aint> offsets;
    for (const FileSegment& segment : segments) {
      if (segment.bytes.empty()) continue;
      lengths.push_back(checked_cast<int>(segment.bytes.size()));
      MPI_Get_address(segment.bytes.data(), &addresses.emplace_back());
      offsets.push_back(checked_cast<MPI_Aint>(segment.offset_bytes));
    }
    if (lengths.empty()) return;
    count_ = 1;
    memory_ = type_of(lengths, addresses);
    file_ = type_of(lengths, offsets);
  }
  ~SegmentTypes() {
    if (count_ == 0) return;
    MPI_Type_free(&memory_);
    MPI_Type_free(&file_);
  }
  SegmentTypes(const SegmentTypes&) = delete;
  SegmentTypes& operator=(const SegmentTypes&) = delete;

  int count() const noexcept { return count_; }  ///< number of memory() to transfer: 0 or 1
  MPI_Datatype memory() const noexcept { return memory_; }
  MPI_Datatype file() const noexcept { return file_; }

 private:
  static MPI_Datatype type_of(const std::vector<int>& lengths,
                              const std::vector<MPI_Aint>& displacements) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const int count = checked_cast<int>(lengths.size());
    MPI_Type_create_hindexed(count, lengths.data(), displacements.data(), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
  }

  int count_ = 0;
  MPI_Datatype memory_ = MPI_BYTE;
  MPI_Datatype file_ = MPI_BYTE;
};

}  // namespace forebay::comm
