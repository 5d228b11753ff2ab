// SPDX-License-Identifier: Apache-2.0
#include <forebay/ranks.hpp>

#include "comm/in_process.hpp"

namespace forebay {

Ranks::Ranks() : communicator_(comm::self_communicator()) {}

}  // namespace forebay
