// SPDX-License-Identifier: Apache-2.0
// The ranks of a program, as a Runtime takes them: this process alone, or those of an MPI job
// (<forebay/mpi.hpp>). Programs name this type only if they bring a communicator of another kind.
#pragma once

#include <forebay/error.hpp>

#include <memory>
#include <utility>

namespace forebay {

namespace comm {
class Communicator;
}

/// Ranks that work together, or the reason why they cannot. A small value; copies mean the same.
class Ranks {
 public:
  /// This process alone.
  Ranks();
  explicit Ranks(std::shared_ptr<comm::Communicator> communicator)
      : communicator_(std::move(communicator)) {}
  /// Whoever uses them gets `why_not`.
  explicit Ranks(Error why_not) : communicator_(tl::unexpect, std::move(why_not)) {}

  const Result<std::shared_ptr<comm::Communicator>>& communicator() const noexcept {
    return communicator_;
  }

 private:
  Result<std::shared_ptr<comm::Communicator>> communicator_;
};

/// How a communicator of another library becomes Ranks: a header for that library specialises this
/// with `static Ranks make(Native)`. Then `Runtime runtime(native)` works.
template <class Native>
struct RanksOf;

}  // namespace forebay
