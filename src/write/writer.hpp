// SPDX-License-Identifier: Apache-2.0
// Writer: brings the bytes of other ranks, and those of its own, to storage; or a step further,
// where it is a link of a chain. It takes memory of its node in place, asks others for their bytes
// when it has room for them, and gets a place for each region from the owner of its file. Whatever
// it has accepted it can write without anybody else's doing, unless the schedule is collective.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "comm/collective_file.hpp"
#include "write/agent_context.hpp"
#include "write/peer_memory.hpp"
#include "write/staging.hpp"

namespace forebay::write {

/// Belongs to the agent's thread.
class Writer {
 public:
  /// `receiving` is the memory for bytes that come in messages; null where none can.
  Writer(AgentContext& context, std::shared_ptr<Staging> receiving);

  // What comes from other ranks; an Error of class kDamage if it cannot be.
  Status offered(comm::Rank from, const OfferLetter& letter);
  /// The memory that the bytes of a chunk go to; empty if nobody wants them any more.
  std::span<std::byte> room_for(comm::Rank from, std::uint64_t chunk, std::uint64_t bytes);
  void bytes_came(comm::Rank from, std::uint64_t chunk);
  Status finish(const StepName& step, std::uint32_t origin, std::uint32_t regions);
  Status placed(std::uint64_t question, std::uint64_t offset);
  /// This rank has made the file of the group: it need not open it.
  void use_file(std::uint64_t group, std::shared_ptr<DataFile> file);
  /// Collective: all of the group are ready, and write together.
  Status go(const StepName& step, RoundMeans means, std::vector<ByteRange> rounds);
  /// The application waits for memory in this step: what waits to be written together is written
  /// alone, and what comes of it.
  void write_alone(const StepName& step);
  /// The chunk that was passed on is where it was to go.
  Status taken(std::uint64_t ticket);
  Status send_bytes(comm::Rank to, std::uint64_t ticket);
  void resolved(const StepName& step, const Status& outcome);
  void lost(comm::Rank rank, const Error& why);
  /// Room may have come back.
  void ask_for_bytes();
  std::uint64_t written_bytes() const noexcept { return written_bytes_; }

 private:
  enum class State : std::uint8_t {
    kWanted,    ///< waits for room
    kComing,    ///< has been asked for
    kHere,      ///< can be read
    kGathered,  ///< has its place, and waits for the other ranks to write together
    kOnItsWay,  ///< is being written, or passed on
  };
  struct Incoming {
    OfferLetter offer;
    comm::Rank from;
    State state = State::kWanted;
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> mapping;   ///< of memory of another process
    std::optional<std::uint32_t> segment;  ///< of the receiving memory
    bool is_being_sent = false;            ///< to the next one of the chain
  };
  using RankKey = std::pair<StepName, std::uint32_t>;
  struct Region {
    std::optional<std::uint64_t> place;
    std::optional<std::uint64_t> bytes;  ///< known from its last chunk
    std::uint64_t bytes_written = 0;
    std::uint64_t region_bytes = 0;  ///< as all of its chunks say
    std::uint64_t room_bytes = 0;
    bool has_failed = false;  ///< a chunk of it could not be written
    bool is_over = false;     ///< it is whole, and was counted
    bool is_whole() const { return bytes == std::optional(bytes_written); }
    std::vector<std::uint64_t> waiting;  ///< tickets of chunks that are here
  };
  /// One rank's bytes of one step.
  struct RankWork {
    std::optional<std::uint32_t> regions;  ///< known once it has finished
    std::uint32_t regions_written = 0;
    std::map<std::uint32_t, Region> by_number;
    bool is_ready = false;  ///< collective: the owner was told so
    bool is_going = false;  ///< and said that all are
    bool has_gone = false;  ///< and all have written together, or each writes by its queue
  };
  struct Asked {
    RankKey rank;
    std::uint32_t region;
  };

  Status check_offer(comm::Rank from, const OfferLetter& letter) const;
  Status check_chunk(const Chunk& chunk) const;
  Status check_passed_on(LetterKind kind, const Incoming& incoming) const;
  Status check_go(const StepName& step, const std::vector<ByteRange>& rounds);
  void forget_ticket(std::uint64_t ticket);
  void here(std::uint64_t ticket);
  void pass_on(std::uint64_t ticket);
  void write_or_ask(std::uint64_t ticket);
  void start_waiting(const RankKey& key, Region& region);
  void with_file(const StepName& step, std::function<void(const Status&)> then);
  void write(std::uint64_t ticket, const Status& opened);
  void written(std::uint64_t ticket, const Status& outcome);
  void trim(const StepName& step, Region& region);
  void store(std::uint64_t ticket);
  void tell_if_ready(const StepName& step);
  void go_by_queues(const StepName& step);
  void gone_together(const StepName& step, const Status& outcome);
  std::vector<std::uint64_t> gathered(const StepName& step) const;
  comm::FilePiece piece_of(std::uint64_t ticket) const;
  void drop(std::uint64_t ticket);
  void put_down();
  void say_still_writing();
  comm::Rank owner() const;
  void tell_if_complete(const RankKey& key);
  void tell(const RankKey& key);
  bool is_held_back(const Incoming& incoming) const;
  void release_held_back();
  void forget(const StepName& step);
  void give_up(const StepName& step, const Error& why);
  void lose_way(const Error& why);
  bool has_work_in(std::uint64_t group) const;
  format::DataFileName file_of(const StepName& step) const;
  bool is_writer_of(std::uint32_t origin) const;

  AgentContext& context_;
  const std::shared_ptr<Staging> receiving_;
  PeerMemory peers_;
  std::map<std::uint64_t, Incoming> incoming_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> ticket_of_;  ///< sender's chunk
  std::deque<std::uint64_t> wanted_;                                            ///< wait for room
  std::vector<std::uint64_t> held_back_;  ///< of gathered steps that are not whole yet
  std::map<RankKey, RankWork> ranks_;
  std::map<std::uint64_t, Asked> asked_;
  std::map<std::uint64_t, std::shared_ptr<DataFile>> files_;  ///< by group
  std::map<std::uint64_t, std::vector<std::function<void(const Status&)>>> opening_;
  std::set<StepName> failed_;
  std::optional<Error> lost_way_;  ///< why nothing can be written, or passed on, any more
  std::map<StepName, std::set<std::uint32_t>> finished_;  ///< ranks of the group
  std::uint64_t next_ticket_ = 0;
  std::uint64_t next_question_ = 0;
  std::uint64_t in_hand_ = 0;  ///< regions with a place that are not written yet
  std::uint64_t written_bytes_ = 0;
  std::optional<StepName> pressed_;  ///< the application waits, or waited, for memory in it
};

}  // namespace forebay::write
