// SPDX-License-Identifier: Apache-2.0
#include <forebay/ranks.hpp>

#include "comm/in_process.hpp"

namespace forebay {

Ranks::Ranks() : communicator_(comm::self_communicator()) {}

Status Ranks::status() const {
  return communicator_ ? Status() : Status(failure(communicator_.error()));
}

std::uint32_t Ranks::rank() const noexcept {
  return communicator_ ? (*communicator_)->rank().number : 0;
}

std::uint32_t Ranks::size() const noexcept { return communicator_ ? (*communicator_)->size() : 0; }

}  // namespace forebay
