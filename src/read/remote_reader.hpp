// SPDX-License-Identifier: Apache-2.0
// RemoteReader: fetches the parts of a session that agents of other nodes read. An agent calls it
// before each transfer.
#pragma once

#include <memory>

#include "read/transfer_source.hpp"

namespace forebay::read {

class RemoteReader {
 public:
  virtual ~RemoteReader() = default;

  /// True if another node's agent reads this transfer: the request has been sent. Its result is
  /// passed to `source` later (finish(), then ReadAgent::notify()). On the agent's thread.
  virtual bool try_fetch(const std::shared_ptr<TransferSource>& source,
                         const TransferSource::Transfer& transfer) = 0;
};

}  // namespace forebay::read
