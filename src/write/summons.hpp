// SPDX-License-Identifier: Apache-2.0
// Summons: how ranks that are given to I/O learn that they are needed. Opening a dataset is
// collective, and MPI has nothing that one could sleep on; so they sleep on a connection to the
// first rank, which calls them when the others are about to come. Whoever has answered is on its
// way; nothing collective is begun before all have, so that nobody waits for a rank that has gone,
// or never came to serve.
#pragma once

#include <forebay/error.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "base/clock.hpp"
#include "comm/communicator.hpp"
#include "comm/links.hpp"
#include "comm/post_office.hpp"

namespace forebay::write {

/// One thread at a time.
class Summons final : private comm::PostReceiver {
 public:
  /// Collective. `ranks` has those that compute first; it is not used afterwards. Connects the
  /// first of them with all that are given to I/O; the others keep nothing.
  static Result<std::unique_ptr<Summons>> open(comm::Communicator& ranks,
                                               std::uint32_t computing,
                                               const comm::LinkOptions& options);
  Summons(const Summons&) = delete;
  Summons& operator=(const Summons&) = delete;
  /// On the first rank: nobody is called any more.
  ~Summons() override = default;

  /// On the first rank: calls all that are given to I/O, and returns when each has answered and was
  /// told to come. kClosed if one has ended, kLimit if one does not serve in time; the Error names
  /// it, and nobody comes.
  Status call(const comm::Bytes& told, std::chrono::milliseconds patience);

  /// On a rank given to I/O: sleeps until it is to come, and returns what it was told; no value
  /// once the first rank has ended.
  std::optional<comm::Bytes> next();

 private:
  Summons(std::unique_ptr<comm::PostOffice> office, std::uint32_t computing)
      : office_(std::move(office)), computing_(computing) {}
  Status meet(std::chrono::milliseconds patience);
  Status ask(const comm::Bytes& told, std::chrono::milliseconds patience);
  Status answers_of_all() const;
  void attend_until(Deadline end);

  bool is_first() const noexcept { return office_->rank() == comm::Rank{0}; }
  bool is_given_to_io() const noexcept { return office_->rank().number >= computing_; }

  Status check(comm::Rank from, const comm::LinkHeader& header) const;
  Result<std::span<std::byte>> place(comm::Rank from, const comm::LinkHeader& header) override;
  Status received(comm::Rank from,
                  const comm::LinkHeader& header,
                  std::span<const std::byte> payload) override;
  void lost(comm::Rank peer, const Error& why) override;

  std::unique_ptr<comm::PostOffice> office_;  ///< null on ranks that neither call nor are called
  const std::uint32_t computing_;
  std::uint64_t number_ = 0;             ///< of the last call
  std::set<std::uint32_t> answered_;     ///< of that one
  std::map<std::uint32_t, Error> gone_;  ///< for good
  comm::Bytes told_;                     ///< with it
  bool was_called_ = false;
  bool is_to_come_ = false;
};

}  // namespace forebay::write
