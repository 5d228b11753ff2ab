// SPDX-License-Identifier: Apache-2.0
// The ranks that write one profile together. A program with several ranks derives from WriterComm;
// the base class is a single rank. So nothing here depends on a message library.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <vector>

namespace forebay::cube {

/// A communicator of one rank, unless derived from.
class WriterComm {
 public:
  WriterComm() = default;
  WriterComm(const WriterComm&) = delete;
  WriterComm& operator=(const WriterComm&) = delete;
  virtual ~WriterComm() = default;

  virtual std::uint32_t rank() const { return 0; }
  virtual std::uint32_t size() const { return 1; }
  /// Collective: returns when all ranks have called it. All ranks get the failure of the first rank
  /// that failed.
  virtual Status agree(const Status& local) { return local; }
  /// Collective: returns the numbers of all ranks, ordered by rank, on all ranks. Fails as agree()
  /// does.
  virtual Result<std::vector<std::uint64_t>> allgather(Result<std::vector<std::uint64_t>> local) {
    return local;
  }
};

}  // namespace forebay::cube
