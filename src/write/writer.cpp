// SPDX-License-Identifier: Apache-2.0
// How a chunk gets from an offer to storage.
#include "write/writer.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "format/catalog.hpp"
#include "write/letter_bytes.hpp"

namespace forebay::write {

Writer::Writer(AgentContext& context, std::shared_ptr<Staging> receiving)
    : context_(context), receiving_(std::move(receiving)) {
  if (receiving_)
    receiving_->on_free([&context, this] { context.post([this] { ask_for_bytes(); }); });
}

bool Writer::is_writer_of(std::uint32_t origin) const {
  return context_.routes().writer_of(origin) == context_.rank().number;
}

format::DataFileName Writer::file_of(const StepName& step) const {
  return {step.group, context_.routes().file_of(context_.rank().number)};
}

Status Writer::offered(comm::Rank from, const OfferLetter& letter) {
  if (Status good = check_offer(from, letter); !good) return good;
  if (lost_way_) give_up(letter.chunk.step, *lost_way_);
  if (failed_.contains(letter.chunk.step)) {
    context_.send(from, LetterKind::kTaken, {letter.number}, {});
    return {};
  }
  const std::uint64_t ticket = next_ticket_++ | kRelayed;
  Incoming& incoming = incoming_[ticket];
  incoming.offer = letter;
  incoming.from = from;
  ticket_of_[{from.number, letter.number}] = ticket;
  const HandOff hand_off = context_.plan().hand_off.value_or(HandOff::kSharedMemory);
  const bool is_mine = from == context_.rank();
  const bool may_map =
      is_mine || (hand_off == HandOff::kSharedMemory && context_.is_on_my_node(from));
  if (may_map) {
    auto mapped = peers_.map(letter.memory, {letter.memory_offset, letter.chunk.bytes});
    if (mapped) {
      incoming.bytes = mapped->bytes;
      incoming.mapping = std::move(mapped->mapping);
      here(ticket);
      return {};
    }
    // Nobody hands over to this rank, so there is no other memory that the bytes could come to.
    if (!receiving_) {
      context_.report_failure(letter.chunk.step, mapped.error());
      drop(ticket);
      return {};
    }
  }
  if (!receiving_ || letter.chunk.bytes > receiving_->segment_bytes()) {
    forget_ticket(ticket);
    return failure(malformed(LetterKind::kOffer, "bytes", letter.chunk.bytes,
                             "this rank has no memory for them"));
  }
  wanted_.push_back(ticket);
  ask_for_bytes();
  return {};
}

/// Memory for those who wait for it, in their order; none left: a gathered step goes on its way
/// before it is whole.
void Writer::ask_for_bytes() {
  while (!wanted_.empty()) {
    const auto found = incoming_.find(wanted_.front());
    if (found == incoming_.end()) {
      wanted_.pop_front();
      continue;
    }
    const auto segment = receiving_->try_take();
    if (!segment) return release_held_back();
    Incoming& incoming = found->second;
    incoming.segment = *segment;
    incoming.state = State::kComing;
    wanted_.pop_front();
    context_.send(incoming.from, LetterKind::kSend, {incoming.offer.number}, {});
  }
}

std::span<std::byte> Writer::room_for(comm::Rank from, std::uint64_t chunk, std::uint64_t bytes) {
  const auto ticket = ticket_of_.find({from.number, chunk});
  if (ticket == ticket_of_.end()) return {};
  const Incoming& incoming = incoming_.at(ticket->second);
  if (incoming.state != State::kComing || incoming.offer.chunk.bytes != bytes) return {};
  return receiving_->segment(*incoming.segment).first(bytes);
}

void Writer::bytes_came(comm::Rank from, std::uint64_t chunk) {
  const auto ticket = ticket_of_.find({from.number, chunk});
  if (ticket == ticket_of_.end()) return;
  Incoming& incoming = incoming_.at(ticket->second);
  if (incoming.state != State::kComing) return;
  incoming.bytes = receiving_->segment(*incoming.segment).first(incoming.offer.chunk.bytes);
  here(ticket->second);
}

void Writer::here(std::uint64_t ticket) {
  Incoming& incoming = incoming_.at(ticket);
  incoming.state = State::kHere;
  if (failed_.contains(incoming.offer.chunk.step)) return drop(ticket);
  if (!is_writer_of(incoming.offer.chunk.origin)) return pass_on(ticket);
  if (is_held_back(incoming)) return held_back_.push_back(ticket);
  write_or_ask(ticket);
}

/// To the next one of the chain, out of the memory that it has come to.
void Writer::pass_on(std::uint64_t ticket) {
  Incoming& incoming = incoming_.at(ticket);
  incoming.state = State::kOnItsWay;
  OfferLetter letter = incoming.offer;
  letter.number = ticket;
  if (incoming.segment) {
    letter.memory = receiving_->name();
    const auto offset = incoming.bytes.data() - receiving_->memory().data();
    letter.memory_offset = static_cast<std::uint64_t>(offset);
  }
  const auto next = context_.routes().next_of(context_.rank().number);
  FOREBAY_ASSERT(next.has_value());
  context_.send(comm::Rank{*next}, LetterKind::kOffer, {}, to_bytes(letter));
}

Status Writer::send_bytes(comm::Rank to, std::uint64_t ticket) {
  const auto found = incoming_.find(ticket);
  if (found == incoming_.end()) return {};
  Incoming& incoming = found->second;
  if (Status good = check_passed_on(LetterKind::kSend, incoming); !good) return good;
  incoming.is_being_sent = true;
  context_.send_in_place(to, LetterKind::kBytes, {ticket}, incoming.bytes,
                         [this, ticket](const Status& /*sent*/) { drop(ticket); });
  return {};
}

Status Writer::taken(std::uint64_t ticket) {
  const auto found = incoming_.find(ticket);
  if (found == incoming_.end()) return {};
  if (Status good = check_passed_on(LetterKind::kTaken, found->second); !good) return good;
  drop(ticket);
  return {};
}

bool Writer::is_held_back(const Incoming& incoming) const {
  if (context_.plan().hand_off != HandOff::kGather || incoming.from == context_.rank())
    return false;
  // Somebody waits for room: what is here goes first.
  if (!wanted_.empty()) return false;
  const auto finished = finished_.find(incoming.offer.chunk.step);
  const auto group = context_.routes().group_of(context_.rank().number);
  return finished == finished_.end() || finished->second.size() < group.size();
}

void Writer::release_held_back() {
  for (const std::uint64_t ticket : std::exchange(held_back_, {}))
    if (incoming_.contains(ticket)) write_or_ask(ticket);
}

void Writer::write_or_ask(std::uint64_t ticket) {
  const Incoming& incoming = incoming_.at(ticket);
  const Chunk& chunk = incoming.offer.chunk;
  if (const Status good = check_chunk(chunk); !good) {
    context_.report_failure(chunk.step, on_rank(good.error(), incoming.from.number));
    return drop(ticket);
  }
  const RankKey key{chunk.step, chunk.origin};
  const auto [at, is_new] = ranks_[key].by_number.try_emplace(chunk.region);
  Region& region = at->second;
  if (chunk.is_last) region.bytes = chunk.offset + chunk.bytes;
  if (is_new) {
    region.region_bytes = chunk.region_bytes;
    region.room_bytes = chunk.region_bytes;
    const std::uint64_t question = next_question_++;
    asked_[question] = {key, chunk.region};
    context_.send(owner(), LetterKind::kAskPlace,
                  words_of(chunk.step, question, chunk.region_bytes), {});
  }
  region.waiting.push_back(ticket);
  if (!region.place) return;
  trim(key.first, region);
  start_waiting(key, region);
}

/// Gives back what of its room a region does not need: nothing but compressed blocks is smaller
/// than it might have been.
void Writer::trim(const StepName& step, Region& region) {
  if (!region.bytes || *region.bytes >= region.room_bytes) return;
  const AgentContext::Words words{step.group, *region.place, region.room_bytes, *region.bytes};
  region.room_bytes = *region.bytes;
  context_.send(owner(), LetterKind::kTrim, words, {});
}

Status Writer::placed(std::uint64_t question, std::uint64_t offset) {
  const auto asked = asked_.find(question);
  if (asked == asked_.end())
    return failure(malformed(LetterKind::kPlace, "question", question, "was not asked"));
  if (offset < format::kPageBytes || offset > kRegionBytesMax)
    return failure(malformed(LetterKind::kPlace, "offset", offset, "no region lies there"));
  const auto [key, number] = asked->second;
  asked_.erase(asked);
  ++in_hand_;
  const auto rank = ranks_.find(key);
  if (rank == ranks_.end()) {
    put_down();
    return {};
  }
  Region& region = rank->second.by_number.at(number);
  region.place = offset;
  trim(key.first, region);
  start_waiting(key, region);
  return {};
}

void Writer::start_waiting(const RankKey& key, Region& region) {
  auto tickets = std::exchange(region.waiting, {});
  const auto write_all = [this, tickets = std::move(tickets)](const Status& opened) {
    for (const std::uint64_t ticket : tickets)
      if (incoming_.contains(ticket)) write(ticket, opened);
  };
  with_file(key.first, write_all);
}

void Writer::use_file(std::uint64_t group, std::shared_ptr<DataFile> file) {
  files_[group] = std::move(file);
}

/// Calls `then` when the file of the step is open here, or cannot be opened.
void Writer::with_file(const StepName& step, std::function<void(const Status&)> then) {
  if (files_.contains(step.group)) return then({});
  auto& waiting = opening_[step.group];
  waiting.push_back(std::move(then));
  if (waiting.size() > 1) return;
  const auto come = [this, group = step.group](Result<std::shared_ptr<DataFile>> file) {
    const Status opened = file ? Status() : Status(tl::unexpect, file.error());
    if (file) files_[group] = std::move(*file);
    const auto all = std::move(opening_.extract(group).mapped());
    for (const auto& one : all)
      one(opened);
  };
  context_.lane().open(file_of(step), [this, come](Result<std::shared_ptr<DataFile>> file) {
    context_.post([come, file = std::move(file)] { come(file); });
  });
}

void Writer::write(std::uint64_t ticket, const Status& opened) {
  Incoming& incoming = incoming_.at(ticket);
  incoming.state = State::kOnItsWay;
  if (!opened) return written(ticket, opened);
  const StepName& step = incoming.offer.chunk.step;
  const bool is_alone = pressed_ && step <= *pressed_;
  if (context_.round_caller() == nullptr || is_alone) return store(ticket);
  incoming.state = State::kGathered;
  tell_if_ready(step);
}

void Writer::store(std::uint64_t ticket) {
  Incoming& incoming = incoming_.at(ticket);
  incoming.state = State::kOnItsWay;
  const auto done = [this, ticket](const Status& outcome) {
    context_.post([this, ticket, outcome] { written(ticket, outcome); });
  };
  const comm::FilePiece piece = piece_of(ticket);
  context_.lane().write(files_.at(incoming.offer.chunk.step.group), piece.offset_bytes, piece.bytes,
                        done);
}

std::vector<std::uint64_t> Writer::gathered(const StepName& step) const {
  std::vector<std::uint64_t> tickets;
  for (const auto& [ticket, incoming] : incoming_)
    if (incoming.state == State::kGathered && incoming.offer.chunk.step == step)
      tickets.push_back(ticket);
  return tickets;
}

/// All of this rank's step is placed or written: it can take part in rounds at once.
void Writer::tell_if_ready(const StepName& step) {
  const std::uint32_t me = context_.rank().number;
  const auto found = ranks_.find({step, me});
  if (context_.round_caller() == nullptr || found == ranks_.end()) return;
  RankWork& work = found->second;
  if (work.is_ready || !work.regions || work.by_number.size() < *work.regions) return;
  const auto tickets = gathered(step);
  std::uint64_t missing = 0;
  for (const auto& [number, region] : work.by_number) {
    if (!region.bytes || !region.place) return;
    missing += *region.bytes - region.bytes_written;
  }
  std::vector<ByteRange> ranges;
  for (const std::uint64_t ticket : tickets) {
    const comm::FilePiece piece = piece_of(ticket);
    ranges.push_back({piece.offset_bytes, piece.bytes.size()});
    missing -= piece.bytes.size();
  }
  if (missing > 0) return;
  work.is_ready = true;
  context_.send(owner(), LetterKind::kReady, words_of(step),
                comm::bytes_of_list<ByteRange>(joined(std::move(ranges))));
}

/// Where it goes in the file; it has its place.
comm::FilePiece Writer::piece_of(std::uint64_t ticket) const {
  const Incoming& incoming = incoming_.at(ticket);
  const Chunk& chunk = incoming.offer.chunk;
  const Region& region = ranks_.at({chunk.step, chunk.origin}).by_number.at(chunk.region);
  return {incoming.bytes, *region.place + chunk.offset};
}

/// Each chunk is written by itself, and its region is reported when the last of its chunks is.
void Writer::go_by_queues(const StepName& step) {
  const RankKey key{step, context_.rank().number};
  const auto found = ranks_.find(key);
  if (found == ranks_.end()) return;
  found->second.has_gone = true;
  for (const std::uint64_t ticket : gathered(step))
    store(ticket);
  tell_if_complete(key);
}

Status Writer::go(const StepName& step, RoundMeans means, std::vector<ByteRange> rounds) {
  if (Status good = check_go(step, rounds); !good) return good;
  if (means == RoundMeans::kQueues) {
    go_by_queues(step);
    return {};
  }
  const auto tickets = gathered(step);
  Rounds together;
  together.means = means;
  together.path = format::data_path(context_.path(), file_of(step));
  together.rounds = std::move(rounds);
  for (const std::uint64_t ticket : tickets) {
    incoming_.at(ticket).state = State::kOnItsWay;
    together.pieces.push_back(piece_of(ticket));
  }
  std::ranges::sort(together.pieces, {}, &comm::FilePiece::offset_bytes);
  together.done = [this, step, tickets](const Status& outcome) {
    context_.post([this, step, tickets, outcome] {
      for (const std::uint64_t ticket : tickets)
        written(ticket, outcome);
      gone_together(step, outcome);
    });
  };
  context_.round_caller()->add(std::move(together));
  return {};
}

/// Only now may the step be told to be written: a rank that had nothing of its own was in it too.
void Writer::gone_together(const StepName& step, const Status& outcome) {
  if (!outcome) context_.report_failure(step, outcome.error());
  const RankKey key{step, context_.rank().number};
  const auto found = ranks_.find(key);
  if (found == ranks_.end()) return;
  found->second.has_gone = true;
  if (outcome) tell_if_complete(key);
}

void Writer::write_alone(const StepName& step) {
  pressed_ = step;
  std::vector<std::uint64_t> tickets;
  for (const auto& [ticket, incoming] : incoming_) {
    if (incoming.state != State::kGathered) continue;
    const auto found = ranks_.find({incoming.offer.chunk.step, incoming.offer.chunk.origin});
    const bool is_promised = found != ranks_.end() && found->second.is_ready;
    if (!is_promised) tickets.push_back(ticket);
  }
  for (const std::uint64_t ticket : tickets)
    store(ticket);
}

void Writer::written(std::uint64_t ticket, const Status& outcome) {
  const Chunk chunk = incoming_.at(ticket).offer.chunk;
  drop(ticket);
  const RankKey key{chunk.step, chunk.origin};
  const auto rank = ranks_.find(key);
  if (!outcome) context_.report_failure(chunk.step, outcome.error());
  if (rank == ranks_.end()) return;
  Region& region = rank->second.by_number.at(chunk.region);
  region.bytes_written += chunk.bytes;
  region.has_failed = region.has_failed || !outcome;
  if (outcome) written_bytes_ += chunk.bytes;
  if (!region.is_whole() || region.is_over) return say_still_writing();
  region.is_over = true;
  put_down();
  if (region.has_failed) return;
  ++rank->second.regions_written;
  tell_if_ready(key.first);
  tell_if_complete(key);
}

/// A chunk is over here: its memory goes back to whoever it came from.
void Writer::drop(std::uint64_t ticket) {
  const auto found = incoming_.find(ticket);
  if (found == incoming_.end()) return;
  const Incoming incoming = found->second;
  forget_ticket(ticket);
  if (incoming.segment) return receiving_->give_back(*incoming.segment);
  context_.send(incoming.from, LetterKind::kTaken, {incoming.offer.number}, {});
}

void Writer::forget_ticket(std::uint64_t ticket) {
  const auto found = incoming_.find(ticket);
  ticket_of_.erase({found->second.from.number, found->second.offer.number});
  incoming_.erase(found);
}

/// Nothing of this writer's is being written: in a baton, it is the next one's turn.
void Writer::put_down() {
  FOREBAY_ASSERT(in_hand_ > 0);
  if (--in_hand_ > 0) return say_still_writing();
  if (context_.plan().schedule == Schedule::kBaton)
    context_.send(owner(), LetterKind::kTurnOver, {}, {});
}

/// In a baton, who has its turn and is slow keeps it.
void Writer::say_still_writing() {
  if (context_.plan().schedule == Schedule::kBaton)
    context_.send(owner(), LetterKind::kStillWriting, {}, {});
}

comm::Rank Writer::owner() const {
  const Routes& routes = context_.routes();
  return {routes.owner_of(routes.file_of(context_.rank().number))};
}

Status Writer::finish(const StepName& step, std::uint32_t origin, std::uint32_t regions) {
  if (failed_.contains(step)) return {};
  RankWork& work = ranks_[{step, origin}];
  const bool has_more = !work.by_number.empty() && work.by_number.rbegin()->first >= regions;
  if (has_more || work.regions)
    return failure(malformed(LetterKind::kFinish, "regions", regions,
                             "must be said once, and be more than any region offered"));
  work.regions = regions;
  // That of a step before says nothing: who waits is in a later one by now.
  if (pressed_ && *pressed_ <= step) pressed_.reset();
  auto& finished = finished_[step];
  finished.insert(origin);
  const auto group = context_.routes().group_of(context_.rank().number);
  if (finished.size() == group.size()) release_held_back();
  tell_if_ready(step);
  tell_if_complete({step, origin});
  return {};
}

void Writer::tell_if_complete(const RankKey& key) {
  RankWork& work = ranks_.at(key);
  if (work.regions != std::optional(work.regions_written)) return;
  if (context_.round_caller() != nullptr && !work.has_gone) return;
  // On the owner's node its sync reaches what was written here as well.
  if (work.regions == 0U || context_.is_on_my_node(owner())) return tell(key);
  const auto synced = [this, key](const Status& outcome) {
    if (!outcome) return context_.report_failure(key.first, outcome.error());
    if (ranks_.contains(key)) tell(key);
  };
  context_.lane().sync(files_.at(key.first.group), [this, synced](const Status& outcome) {
    context_.post([synced, outcome] { synced(outcome); });
  });
}

void Writer::tell(const RankKey& key) {
  std::vector<std::uint64_t> places;
  for (const auto& [number, region] : ranks_.at(key).by_number)
    places.push_back(*region.place);
  const comm::Rank origin{key.second};
  ranks_.erase(key);
  context_.send(origin, LetterKind::kWritten, words_of(key.first),
                comm::bytes_of_list<std::uint64_t>(places));
}

void Writer::resolved(const StepName& step, const Status& outcome) {
  finished_.erase(step);
  if (!outcome) forget(step);
  // The file of a step that failed was removed, and takes room until it is closed. Ranks that have
  // begun different steps have more of them in it.
  if (context_.plan().steps_per_group == 1 && !has_work_in(step.group)) files_.erase(step.group);
  // All steps before one that is published are over; one that fails may leave older ones behind.
  if (outcome) std::erase_if(files_, [&](const auto& file) { return file.first < step.group; });
}

bool Writer::has_work_in(std::uint64_t group) const {
  return std::ranges::any_of(ranks_, [group](const auto& one) {
    const StepName& step = one.first.first;
    return step.group == group;
  });
}

}  // namespace forebay::write
