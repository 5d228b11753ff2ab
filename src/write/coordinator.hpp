// SPDX-License-Identifier: Apache-2.0
// Coordinator: hears from all ranks what became of a step, and decides. A step is published when
// every rank has committed it and every file of it is durable, after all steps before it; or it is
// skipped, because a rank could not, is gone, or did not come in time. Everybody is told.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "format/records.hpp"
#include "write/agent_context.hpp"
#include "write/lease.hpp"
#include "write/letter_bytes.hpp"
#include "write/publisher.hpp"
#include "write/rank_step.hpp"

namespace forebay::write {

/// Belongs to the agent's thread of the coordinating rank.
class Coordinator {
 public:
  /// The lease outlives what it has the lane do. `first_group` is that of this opening.
  Coordinator(AgentContext& context,
              std::shared_ptr<Publisher> publisher,
              const Lease& lease,
              std::uint64_t first_group)
      : context_(context),
        publisher_(std::move(publisher)),
        lease_(lease),
        first_group_(first_group) {}

  void announced(comm::Rank from,
                 const StepName& step,
                 const std::vector<format::FieldDefinition>& fields);
  void failed(comm::Rank from, const StepName& step, const Error& why);
  /// A piece of a file's StepClaims, which have `all_bytes`; pieces come in their order, and before
  /// the file is sealed. kDamage if it cannot be one.
  Status claimed(const StepName& step,
                 std::uint32_t file,
                 std::span<const std::byte> piece,
                 std::uint64_t all_bytes);
  void sealed(comm::Rank from, const SealedLetter& letter);
  /// An owner's answer: the bytes of these ranks are not in this file yet.
  void missing(const StepName& step, std::uint32_t file, const std::vector<std::uint32_t>& ranks);
  void leave(comm::Rank from);
  void lost(comm::Rank rank, const Error& why);

  void tick(TimePoint now);
  std::optional<TimePoint> due() const noexcept;

 private:
  struct Known {
    format::FieldDefinition field;
    std::uint32_t rank = 0;  ///< who said so first
  };
  struct Collected {
    TimePoint due;
    std::set<std::uint32_t> announced;
    std::map<std::string, Known> fields;
    std::map<std::uint32_t, Pieces> claims;  ///< of files, if there are several
    std::map<std::uint32_t, SealedLetter> files;
    std::map<std::uint32_t, std::vector<std::uint32_t>> missing;  ///< of files, as owners say
    bool has_asked = false;                                       ///< owners for that
    bool is_publishing = false;
  };

  Collected* find_or_begin(const StepName& step);
  void publish_next();
  void publish(const StepName& step, Collected& collected);
  void resolve(const StepName& step, StepFate fate, const Status& outcome);
  StepFate fate_of_failed() const;
  Status why_not_published(const Status& told) const;
  void prune();
  void let_go(const format::DataFileName& name);
  void skip(const StepName& step, const Error& why);
  void end_if_all_left();
  bool is_complete(const Collected& collected) const;
  bool can_do_without(std::uint32_t rank, const Collected& collected) const;
  std::optional<TimePoint> due_of(const Collected& collected) const;
  void ask_missing(const StepName& step, Collected& collected);
  std::string missing_of(const Collected& collected) const;
  std::string late_of(const Collected& collected) const;
  void to_all(LetterKind kind, const AgentContext::Words& words, const comm::Bytes& payload);

  AgentContext& context_;
  const std::shared_ptr<Publisher> publisher_;
  const Lease& lease_;
  const std::uint64_t first_group_;
  std::map<StepName, Collected> steps_;
  std::set<StepName> skipped_;
  std::optional<StepName> newest_published_;
  std::map<std::uint32_t, Error> lost_;
  std::set<std::uint32_t> left_;
  bool has_ended_ = false;
};

}  // namespace forebay::write
