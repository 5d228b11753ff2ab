// SPDX-License-Identifier: Apache-2.0
// Member: a rank's own side of each step. Offers what the application has put to whoever comes
// next on the way to storage, keeps its memory until nobody needs it, tells the file's owner where
// everything lies, and the application what became of the step.
#pragma once

#include <forebay/dataset.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "write/agent_context.hpp"
#include "write/packed_chunk.hpp"
#include "write/promise.hpp"
#include "write/rank_step.hpp"

namespace forebay::write {

/// What the application hands over with commit().
struct CommittedStep {
  RankStep record;
  Receipt receipt;  ///< all but what is known at the end
  TimePoint begun_at;
  Promise<Receipt> promise;
};

/// Belongs to the agent's thread.
class Member {
 public:
  /// `on_resolved` is told of each step once: what the application may count on.
  using OnResolved = std::function<void(const StepName&, const Status&)>;
  Member(AgentContext& context, OnResolved on_resolved)
      : context_(context), on_resolved_(std::move(on_resolved)) {}

  // From the application.
  void begin(const StepName& step);
  void offer(PackedChunk packed);
  void commit(const StepName& step, CommittedStep committed);
  void abandon(const StepName& step, const Error& why);
  /// Nobody waits for the application to commit it or to abandon it, which it still may.
  void withdraw(const StepName& step, const Error& why);
  void leave();

  // From other ranks.
  // What comes from other ranks; an Error of class kDamage if it cannot be.
  Status send_bytes(comm::Rank to, std::uint64_t chunk);
  Status taken(std::uint64_t chunk);
  Status written(const StepName& step, std::vector<std::uint64_t> places);
  void resolved(const StepName& step, const Status& outcome);
  void lost(comm::Rank rank, const Error& why);

  /// Works out one checksum, if there is any to be; false if not.
  bool hash_a_piece();
  bool has_left() const noexcept { return has_left_; }
  bool has_pieces_to_hash() const noexcept { return !to_hash_.empty(); }
  /// Whether the next of these is all that its memory is held for.
  bool is_hashing_awaited() const;
  /// The end: whatever is not resolved gets `why`.
  void end(const Error& why);

 private:
  struct Held {
    PackedChunk packed;
    bool is_needed_elsewhere = true;
    std::size_t pieces_left = 0;
    bool is_being_sent = false;
  };
  struct OwnStep {
    std::optional<CommittedStep> committed;
    bool is_abandoned = false;      ///< by the application: nobody waits for it
    bool is_withdrawn = false;      ///< the rank may leave without its end
    std::uint64_t pieces_left = 0;  ///< to hash
    std::vector<std::pair<std::uint64_t, std::uint64_t>> hashes;
    std::optional<std::vector<std::uint64_t>> places;
    bool is_told = false;  ///< the owner has its part
    std::optional<Error> failure;
  };
  struct Waiting {
    StepName step;
    std::uint64_t chunk;
    PieceToHash piece;
  };

  void give_back(std::uint64_t chunk);
  void let_go(std::uint64_t chunk);
  void abandon_for(const StepName& step, const Error& why);
  static void tell(CommittedStep& committed, const Status& outcome);
  void send_part_if_complete(const StepName& step, OwnStep& own);
  void fail(const StepName& step, const Error& why);
  void leave_if_done();
  bool depends_on(std::uint32_t rank) const;

  AgentContext& context_;
  const OnResolved on_resolved_;
  std::map<StepName, OwnStep> steps_;
  std::optional<StepName> last_begun_;
  std::map<StepName, Error> failed_before_;  ///< steps that failed before this rank began them
  std::map<std::uint64_t, Held> held_;
  std::deque<Waiting> to_hash_;
  std::uint64_t next_chunk_ = 0;
  std::map<std::uint32_t, Error> lost_;
  bool is_leaving_ = false;
  bool has_left_ = false;
};

}  // namespace forebay::write
