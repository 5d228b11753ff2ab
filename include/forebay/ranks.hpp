// SPDX-License-Identifier: Apache-2.0
// Ranks: the ranks of a program, passed to a Runtime. They are this process alone, or the ranks of
// an MPI job (<forebay/mpi.hpp>).
#pragma once

#include <forebay/detail/export.hpp>
#include <forebay/error.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace forebay {

namespace comm {
class Communicator;
struct RanksAccess;
}  // namespace comm

/// A group of ranks, or the Error of its creation. Cheap to copy; copies share one communicator.
class FOREBAY_EXPORT Ranks {
 public:
  /// This process alone.
  Ranks();
  /// Calls that use these ranks fail with `error`.
  explicit Ranks(Error error) : communicator_(tl::unexpect, std::move(error)) {}
  // A move copies: no object is without ranks.
  Ranks(const Ranks& other) = default;
  Ranks& operator=(const Ranks& other) = default;
  ~Ranks() = default;

  /// Success, or the Error why these ranks cannot work together.
  Status status() const;
  /// Number of this rank, and number of all; 0 if status() is an Error.
  std::uint32_t rank() const noexcept;
  std::uint32_t size() const noexcept;

 private:
  friend struct comm::RanksAccess;
  explicit Ranks(std::shared_ptr<comm::Communicator> communicator)
      : communicator_(std::move(communicator)) {}

  Result<std::shared_ptr<comm::Communicator>> communicator_;
};

/// Converts a communicator of another library to Ranks. <forebay/mpi.hpp> specializes this for MPI
/// with `static Ranks make(Native)`. Then `Runtime runtime(native)` works.
template <class Native>
struct RanksOf;

}  // namespace forebay
