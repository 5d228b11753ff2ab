// SPDX-License-Identifier: Apache-2.0
// RemoteReader: the parts of a session that agents of other nodes read. An agent asks it before it
// reads something itself.
#pragma once

#include <memory>

#include "read/transfer_source.hpp"

namespace forebay::read {

class RemoteReader {
 public:
  virtual ~RemoteReader() = default;

  /// True if another node's agent reads this: it has been asked, and `source` will be told of the
  /// outcome (finish(), and Agent::serve()). On the agent's thread.
  virtual bool take(const std::shared_ptr<TransferSource>& source,
                    const TransferSource::Transfer& transfer) = 0;
};

}  // namespace forebay::read
