// SPDX-License-Identifier: Apache-2.0
// FileOwner: what one rank does for the data file that it owns. It has files made before they are
// needed, gives out places in them as bytes come, lets those that share a file in a baton write one
// after the other, and closes each step with an index of it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "format/records.hpp"
#include "write/agent_context.hpp"
#include "write/letter_bytes.hpp"
#include "write/rank_step.hpp"

namespace forebay::write {

/// In a baton: who has nothing written for so long, and somebody waits, has lost its turn.
inline constexpr std::chrono::milliseconds kTurnLease{2000};

/// Belongs to the agent's thread. For a rank that owns a file.
class FileOwner {
 public:
  struct Setup {
    format::DatasetId dataset;
    std::uint64_t first_group = 0;
    std::uint64_t expected_bytes = 0;  ///< of the first file; 0: not known
    /// Receives each file with its group, before any place in it is given out.
    std::function<void(std::uint64_t, const std::shared_ptr<DataFile>&)> on_made = {};
  };
  FileOwner(AgentContext& context, const Setup& setup);

  /// Has the first files made.
  void start();
  // What comes from other ranks; an Error of class kDamage if it cannot be.
  Status asked(comm::Rank writer,
               const StepName& step,
               std::uint64_t question,
               std::uint64_t bytes);
  /// Of the bytes asked for at that place only so many are needed.
  Status trim(std::uint64_t group, const ByteRange& room, std::uint64_t needed_bytes);
  void turn_over(comm::Rank writer);
  /// The writer whose turn it is gets on.
  void still_writing(comm::Rank writer);
  /// Collective: `ranges` of the file are the rank's to write. Once all of the group are ready,
  /// they receive the rounds.
  Status ready(comm::Rank from, const StepName& step, std::vector<ByteRange> ranges);
  /// A piece of a rank's part, which has `all_bytes`; pieces come in their order.
  Status part_came(comm::Rank from,
                   const StepName& step,
                   std::span<const std::byte> bytes,
                   std::uint64_t all_bytes);
  /// Tells the coordinator now, and whenever it changes, which ranks' parts have not come.
  void tell_missing(const StepName& step);
  void resolved(const StepName& step, StepFate fate, const Status& outcome);
  void gone(comm::Rank rank, const Error& why);
  /// Files that nobody needed go.
  void end();

  void tick(TimePoint now);
  std::optional<TimePoint> due() const noexcept;

 private:
  struct Question {
    comm::Rank writer;
    StepName step;
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
  };
  /// What a step was given of a file.
  struct Place {
    StepName step;
    std::uint64_t bytes = 0;
  };
  /// The file of one group.
  struct GroupFile {
    std::shared_ptr<DataFile> file;  ///< null while it is being made
    std::optional<Error> failure;
    std::uint64_t end = format::kPageBytes;  ///< places are given out from here on
    std::map<std::uint64_t, Place> places;   ///< by offset, of steps that are not published
    std::vector<Question> waiting;           ///< until it is there
    std::set<StepName> steps;
    std::set<StepName> over;  ///< of these: published, or failed
    std::uint32_t steps_durable = 0;
    bool has_steps_to_keep = false;
    std::set<StepName> unanswered;  ///< sealed: the coordinator may have published them already
  };
  struct Parts {
    std::map<std::uint32_t, Pieces> arriving;
    std::map<std::uint32_t, RankStep> by_rank;
    std::map<std::uint32_t, std::vector<ByteRange>> ranges;  ///< of those that are ready
    bool is_sealing = false;
    bool is_asked_for = false;  ///< by the coordinator, which waits for what is missing
  };
  struct Sealing;

  bool use(const StepName& step);
  std::uint64_t failed_in(std::uint64_t group) const;
  Status check_part(const RankStep& part, const StepName& step) const;
  void refuse_another(const StepName& step, std::uint64_t in_its_place);
  void go(const StepName& step, const Parts& parts);
  void make(std::uint64_t group);
  void create(std::uint64_t group);
  void made(std::uint64_t group, const Result<std::shared_ptr<DataFile>>& file);
  void answer(const Question& question);
  void punch_failed(const GroupFile& its);
  void give_turn(TimePoint now);
  void seal(const StepName& step, Parts& parts);
  void encode(const StepName& step, const std::shared_ptr<Sealing>& sealing);
  void write_index(const StepName& step, const std::shared_ptr<Sealing>& sealing);
  void make_durable(const StepName& step, const std::shared_ptr<Sealing>& sealing);
  void tell_sealed(const StepName& step, const Sealing& sealing);
  void retire(std::uint64_t group);
  format::DataFileName name_of_file(std::uint64_t group) const { return {group, file_}; }

  AgentContext& context_;
  const Setup setup_;
  const std::uint32_t file_;
  std::vector<std::uint32_t> ranks_;  ///< whose bytes are in it
  std::map<std::uint64_t, GroupFile> groups_;
  std::map<StepName, Parts> steps_;
  std::set<StepName> failed_;
  std::optional<StepName> newest_published_;
  bool is_rank_gone_ = false;  ///< one of them
  std::uint64_t expected_bytes_;
  // The baton:
  std::optional<comm::Rank> holder_;
  TimePoint held_since_;
  std::deque<Question> queue_;
};

}  // namespace forebay::write
