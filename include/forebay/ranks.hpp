// SPDX-License-Identifier: Apache-2.0
// Ranks: the ranks of a program, passed to a Runtime. They are this process alone, or the ranks of
// an MPI job (<forebay/mpi.hpp>). Programs name this type only if they provide a communicator of
// another kind.
#pragma once

#include <forebay/error.hpp>

#include <memory>
#include <utility>

namespace forebay {

namespace comm {
class Communicator;
}

/// A group of ranks, or the Error of its creation. Cheap to copy; copies share one communicator.
class Ranks {
 public:
  /// This process alone.
  Ranks();
  explicit Ranks(std::shared_ptr<comm::Communicator> communicator)
      : communicator_(std::move(communicator)) {}
  /// Calls that use these ranks fail with `error`.
  explicit Ranks(Error error) : communicator_(tl::unexpect, std::move(error)) {}

  const Result<std::shared_ptr<comm::Communicator>>& communicator() const noexcept {
    return communicator_;
  }

 private:
  Result<std::shared_ptr<comm::Communicator>> communicator_;
};

/// Converts a communicator of another library to Ranks. A header for that library specializes this
/// with `static Ranks make(Native)`. Then `Runtime runtime(native)` works.
template <class Native>
struct RanksOf;

}  // namespace forebay
