// SPDX-License-Identifier: Apache-2.0
// The agent's loop, and who reads which letter.
#include "write/agent.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <poll.h>

#include "base/service_thread.hpp"
#include "base/sleep_until_ready.hpp"
#include "comm/error_bytes.hpp"
#include "write/leftovers.hpp"
#include "write/letter_bytes.hpp"

namespace forebay::write {

void AgentContext::report_failure(const StepName& step, const Error& why) {
  send(comm::Rank{Routes::coordinator()}, LetterKind::kFailed, words_of(step), comm::to_bytes(why));
}

void AgentContext::send_in_pieces(comm::Rank to,
                                  LetterKind kind,
                                  const Words& words,
                                  std::span<const std::byte> payload) {
  do {
    const auto piece = payload.first(std::min<std::size_t>(payload.size(), kPieceBytesMax));
    payload = payload.subspan(piece.size());
    send(to, kind, words, {piece.begin(), piece.end()});
  } while (!payload.empty());
}

Result<std::shared_ptr<Agent>> Agent::start(Setup setup) {
  auto bell = shm::Doorbell::create();
  if (!bell) return failure(bell.error());
  std::shared_ptr<Agent> agent(new Agent(std::move(setup), std::move(*bell)));
  auto thread = start_service_thread("fb-dataset", [raw = agent.get()] {
    // It hashes, and the application, which woke it, would wait for its core meanwhile.
    if (raw->member_) interrupt_nobody();
    raw->run();
  });
  if (!thread) return failure(thread.error());
  agent->thread_ = std::move(*thread);
  return agent;
}

Agent::Agent(Setup setup, shm::Doorbell bell)
    : setup_(std::move(setup)),
      office_(std::move(setup_.office)),
      rank_(office_->rank()),
      rank_count_(office_->size()),
      inbox_(std::move(bell)),
      routes_(setup_.crew, setup_.plan),
      writer_(*this, setup_.receiving) {
  const std::uint32_t me = rank_.number;
  if (me < routes_.computing()) member_.emplace(*this, setup_.on_resolved);
  const bool owns = routes_.is_writer(me) && routes_.owner_of(routes_.file_of(me)) == me;
  const std::uint64_t bytes_of_file = setup_.newest_bytes / routes_.file_count();
  const auto made = [this](std::uint64_t group, const std::shared_ptr<DataFile>& file) {
    writer_.use_file(group, file);
  };
  if (owns)
    owner_.emplace(*this,
                   FileOwner::Setup{setup_.dataset, setup_.first_group, bytes_of_file, made});
  if (setup_.publisher)
    coordinator_.emplace(*this, setup_.publisher, *setup_.lease, setup_.first_group);
}

Agent::~Agent() { stop(kDoNotBlock); }

bool Agent::is_on_my_node(comm::Rank other) const noexcept {
  return setup_.crew.node_of(other.number) == setup_.crew.node_of(rank().number);
}

bool Agent::tell(std::function<void(Member&)> what, Inbox::Haste haste) {
  return inbox_.add([this, what = std::move(what)] { what(*member_); }, haste);
}

void Agent::press(const StepName& step) {
  post([this, step] { writer_.write_alone(step); });
}

void Agent::post(std::function<void()> work) { inbox_.add(std::move(work)); }

void Agent::stop(Deadline deadline) noexcept {
  {
    std::unique_lock lock(mutex_);
    const auto ended = [this] { return has_ended_; };
    if (thread_.joinable() && deadline) changed_.wait_until(lock, *deadline, ended);
    is_stopping_ = true;
  }
  inbox_.wake();
  if (thread_.joinable()) thread_.join();
}

void Agent::wait_for_end() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return has_ended_; });
}

bool Agent::has_ended() const {
  const std::lock_guard lock(mutex_);
  return has_ended_;
}

void Agent::run() {
  if (owner_) owner_->start();
  send(comm::Rank{Routes::coordinator()}, LetterKind::kHello, {}, {});
  while (!is_over()) {
    {
      const std::lock_guard lock(mutex_);
      if (is_stopping_) break;
    }
    const TimePoint now = std::chrono::steady_clock::now();
    if (owner_) owner_->tick(now);
    if (coordinator_) coordinator_->tick(now);
    const Inbox::Bell bell = wait(now);
    for (const auto& work : inbox_.take(bell))
      work();
    office_->attend(*this);
    if (member_ && may_hash()) member_->hash_a_piece();
    written_bytes_.store(writer_.written_bytes(), std::memory_order_relaxed);
  }
  end();
}

bool Agent::is_over() const noexcept {
  const bool is_free = all_left_ || (is_orphan_ && (!member_ || member_->has_left()));
  return is_free && office_->queued_bytes() == 0;
}

/// Hashing beside a copy makes both slower. It can wait for as long as storage, or another rank,
/// has to do with the same bytes; then it is all that holds their memory.
bool Agent::may_hash() const noexcept {
  return !is_copying_.load(std::memory_order_relaxed) || member_->is_hashing_awaited();
}

/// Sleeps until there is something to do.
Inbox::Bell Agent::wait(TimePoint now) {
  std::array<pollfd, 2> entries{
      {{office_->descriptor(), POLLIN, 0}, {inbox_.descriptor().get(), POLLIN, 0}}};
  std::optional<TimePoint> due = office_->due();
  const auto consider = [&due](const std::optional<TimePoint>& other) {
    if (other && (!due || *other < *due)) due = other;
  };
  if (owner_) consider(owner_->due());
  if (coordinator_) consider(coordinator_->due());
  int wait_ms = -1;
  if (due) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - now).count();
    wait_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
  }
  if (member_ && member_->has_pieces_to_hash()) wait_ms = may_hash() ? 0 : Inbox::kDozeMs;
  sleep_until_ready_ms(entries, inbox_.rest(wait_ms));
  return (entries[1].revents & POLLIN) != 0 ? Inbox::Bell::kHeard : Inbox::Bell::kSilent;
}

/// Ends what is left: files first, so that nothing more is written out of memory that goes.
void Agent::end() {
  if (owner_) owner_->end();
  const Error why = error(ErrorClass::kClosed, "write a dataset", "it was ended before this step");
  setup_.round_caller.reset();
  setup_.lane->stop(why);
  for (const auto& work : inbox_.close())
    work();
  if (setup_.lease && setup_.publisher->may_remove_others() && setup_.lease->check())
    remove_leftovers(setup_.path, setup_.publisher->steps(), setup_.first_group + kGroupsOfOpening);
  setup_.lease.reset();
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  if (member_) member_->end(why);
  office_.reset();  // so that others see that it has ended, whoever still has its dataset
  changed_.notify_all();
}

void Agent::send(comm::Rank to, LetterKind kind, const Words& words, comm::Bytes payload) {
  const comm::LinkHeader header{.kind = static_cast<std::uint32_t>(kind), .words = words};
  // Who cannot be reached is lost, which is told on its own.
  if (!office_) return;
  if (payload.empty())
    std::ignore = office_->send(to, header);
  else
    std::ignore = office_->send(to, header, std::move(payload));
}

void Agent::send_in_place(comm::Rank to,
                          LetterKind kind,
                          const Words& words,
                          std::span<const std::byte> payload,
                          comm::Link::OnSent on_sent) {
  const comm::LinkHeader header{.kind = static_cast<std::uint32_t>(kind), .words = words};
  if (office_) std::ignore = office_->send(to, header, payload, std::move(on_sent));
}

Status Agent::check(comm::Rank from, const comm::LinkHeader& header) const {
  return check_letter(header, from.number, rank_.number, routes_);
}

Result<std::span<std::byte>> Agent::place(comm::Rank from, const comm::LinkHeader& header) {
  if (Status good = check(from, header); !good) return failure(good.error());
  if (header.kind == static_cast<std::uint32_t>(LetterKind::kBytes))
    return writer_.room_for(from, header.words[0], header.payload_bytes);
  comm::Bytes& bytes = payloads_[from.number];
  bytes.resize(header.payload_bytes);
  return std::span(bytes);
}

Status Agent::received(comm::Rank from,
                       const comm::LinkHeader& header,
                       std::span<const std::byte> payload) {
  if (Status good = check(from, header); !good) return good;
  if (header.kind == static_cast<std::uint32_t>(LetterKind::kBytes)) {
    if (!payload.empty()) writer_.bytes_came(from, header.words[0]);
    return {};
  }
  // Reading may lead to other letters, but to none of this rank before this one has been read.
  const comm::Bytes kept = payload.empty() ? comm::Bytes() : std::move(payloads_[from.number]);
  return read(from, header, kept);
}

Status Agent::read(comm::Rank from,
                   const comm::LinkHeader& header,
                   std::span<const std::byte> payload) {
  switch (static_cast<LetterKind>(header.kind)) {
    case LetterKind::kSend:
    case LetterKind::kTaken:
    case LetterKind::kOffer:
    case LetterKind::kFinish:
    case LetterKind::kGo:
    case LetterKind::kPlace:
      return read_as_writer(from, header, payload);
    case LetterKind::kAskPlace:
    case LetterKind::kTrim:
    case LetterKind::kTurnOver:
    case LetterKind::kStillWriting:
    case LetterKind::kReady:
    case LetterKind::kPart:
    case LetterKind::kAskMissing:
      return read_as_owner(from, header, payload);
    case LetterKind::kAnnounce:
    case LetterKind::kFailed:
    case LetterKind::kClaims:
    case LetterKind::kSealed:
    case LetterKind::kMissing:
    case LetterKind::kLeave:
      return read_as_coordinator(from, header, payload);
    case LetterKind::kWritten: {
      auto places = comm::list_from<std::uint64_t>("written", payload);
      if (!places) return failure(places.error());
      return member_ ? member_->written(step_of(header), std::move(*places)) : Status();
    }
    case LetterKind::kResolved:
      return read_resolved(header, payload);
    case LetterKind::kGone:
      return read_gone(from, header, payload);
    case LetterKind::kPruned:
      return read_pruned(header);
    case LetterKind::kAllLeft:
      all_left_ = true;
      return {};
    case LetterKind::kHello:
    case LetterKind::kBytes:
      return {};
  }
  return {};
}

Status Agent::read_gone(comm::Rank from,
                        const comm::LinkHeader& header,
                        std::span<const std::byte> payload) {
  const auto why = comm::error_from(payload);
  if (!why) return failure(why.error());
  const std::uint64_t number = header.words[0];
  const bool is_coordinator = number == Routes::coordinator();
  // The coordinator names any rank, others name the coordinator.
  if (number >= rank_count_ || (!is_coordinator && from.number != Routes::coordinator()))
    return failure(malformed(LetterKind::kGone, "rank", number, "cannot be gone by this sender"));
  const comm::Rank gone{static_cast<std::uint32_t>(number)};
  if (is_coordinator)
    office_->close(gone, *why);
  else if (owner_)
    owner_->gone(gone, *why);
  return {};
}

Status Agent::read_pruned(const comm::LinkHeader& header) {
  const auto file = small_word(header, 1);
  if (!file) return failure(file.error());
  if (*file >= routes_.file_count() || routes_.owner_of(*file) != rank_.number)
    return failure(malformed(LetterKind::kPruned, "file", *file, "must be a file of this rank"));
  if (header.words[0] < setup_.first_group)
    return failure(
        malformed(LetterKind::kPruned, "group", header.words[0], "must be one of this opening"));
  setup_.lane->recycle({header.words[0], *file}, [](const Status& /*done*/) {});
  return {};
}

Status Agent::read_as_writer(comm::Rank from,
                             const comm::LinkHeader& header,
                             std::span<const std::byte> payload) {
  const auto& words = header.words;
  const bool is_relayed = (words[0] & kRelayed) != 0;
  switch (static_cast<LetterKind>(header.kind)) {
    case LetterKind::kSend:
      if (is_relayed) return writer_.send_bytes(from, words[0]);
      return member_ ? member_->send_bytes(from, words[0]) : Status();
    case LetterKind::kTaken:
      if (is_relayed) return writer_.taken(words[0]);
      return member_ ? member_->taken(words[0]) : Status();
    case LetterKind::kOffer: {
      const auto letter = offer_from(payload);
      return letter ? writer_.offered(from, *letter) : failure(letter.error());
    }
    case LetterKind::kFinish: {
      const auto regions = small_word(header, 2);
      if (!regions) return failure(regions.error());
      return writer_.finish(step_of(header), from.number, *regions);
    }
    case LetterKind::kGo:
      return read_go(header, payload);
    default:
      return writer_.placed(words[0], words[1]);
  }
}

Status Agent::read_go(const comm::LinkHeader& header, std::span<const std::byte> payload) {
  const std::uint64_t means = header.words[2];
  if (means > static_cast<std::uint64_t>(RoundMeans::kAggregated))
    return failure(malformed(LetterKind::kGo, "means", means, "must be 0 to 2"));
  auto rounds = comm::list_from<ByteRange>("go", payload);
  if (!rounds) return failure(rounds.error());
  return writer_.go(step_of(header), static_cast<RoundMeans>(means), std::move(*rounds));
}

Status Agent::read_as_owner(comm::Rank from,
                            const comm::LinkHeader& header,
                            std::span<const std::byte> payload) {
  if (!owner_) return {};
  const auto& words = header.words;
  switch (static_cast<LetterKind>(header.kind)) {
    case LetterKind::kAskPlace:
      return owner_->asked(from, step_of(header), words[2], words[3]);
    case LetterKind::kTrim:
      return owner_->trim(words[0], {words[1], words[2]}, words[3]);
    case LetterKind::kTurnOver:
      owner_->turn_over(from);
      return {};
    case LetterKind::kStillWriting:
      owner_->still_writing(from);
      return {};
    case LetterKind::kReady: {
      auto ranges = comm::list_from<ByteRange>("ready", payload);
      if (!ranges) return failure(ranges.error());
      return owner_->ready(from, step_of(header), std::move(*ranges));
    }
    case LetterKind::kAskMissing:
      owner_->tell_missing(step_of(header));
      return {};
    default:
      return owner_->part_came(from, step_of(header), payload, words[2]);
  }
}

Status Agent::read_as_coordinator(comm::Rank from,
                                  const comm::LinkHeader& header,
                                  std::span<const std::byte> payload) {
  if (!coordinator_) return {};
  switch (static_cast<LetterKind>(header.kind)) {
    case LetterKind::kAnnounce: {
      const auto fields = fields_from(payload);
      if (!fields) return failure(fields.error());
      coordinator_->announced(from, step_of(header), *fields);
      return {};
    }
    case LetterKind::kFailed: {
      const auto why = comm::error_from(payload);
      if (!why) return failure(why.error());
      coordinator_->failed(from, step_of(header), *why);
      return {};
    }
    case LetterKind::kClaims: {
      const std::uint64_t file = header.words[2];
      if (Status good = check_file(LetterKind::kClaims, from, file); !good) return good;
      return coordinator_->claimed(step_of(header), static_cast<std::uint32_t>(file), payload,
                                   header.words[3]);
    }
    case LetterKind::kSealed:
      return read_sealed(from, header, payload);
    case LetterKind::kMissing:
      return read_missing(from, header, payload);
    default:
      coordinator_->leave(from);
      return {};
  }
}

/// The sender must own the file.
Status Agent::check_file(LetterKind kind, comm::Rank from, std::uint64_t file) const {
  const bool is_its =
      file < routes_.file_count() && routes_.owner_of(static_cast<FileNumber>(file)) == from.number;
  if (is_its) return {};
  return failure(malformed(kind, "file", file, "must be a file of the sender"));
}

Status Agent::read_sealed(comm::Rank from,
                          const comm::LinkHeader& header,
                          std::span<const std::byte> payload) {
  const auto letter = sealed_from(payload);
  if (!letter) return failure(letter.error());
  if (letter->step != step_of(header))
    return failure(
        malformed(LetterKind::kSealed, "step", letter->step.step, "must be that of the header"));
  if (Status good = check_file(LetterKind::kSealed, from, letter->file); !good) return good;
  coordinator_->sealed(from, *letter);
  return {};
}

Status Agent::read_missing(comm::Rank from,
                           const comm::LinkHeader& header,
                           std::span<const std::byte> payload) {
  if (Status good = check_file(LetterKind::kMissing, from, header.words[2]); !good) return good;
  const auto ranks = comm::list_from<std::uint32_t>("missing", payload);
  if (!ranks) return failure(ranks.error());
  coordinator_->missing(step_of(header), static_cast<std::uint32_t>(header.words[2]), *ranks);
  return {};
}

Status Agent::read_resolved(const comm::LinkHeader& header, std::span<const std::byte> payload) {
  const StepName step = step_of(header);
  if (header.words[2] > static_cast<std::uint64_t>(StepFate::kUnknown))
    return failure(malformed(LetterKind::kResolved, "fate", header.words[2], "must be 0 to 2"));
  const auto fate = static_cast<StepFate>(header.words[2]);
  Status outcome;
  if (fate != StepFate::kPublished) {
    const auto why = comm::error_from(payload);
    if (!why) return failure(why.error());
    outcome = failure(*why);
  }
  writer_.resolved(step, outcome);
  if (owner_) owner_->resolved(step, fate, outcome);
  if (member_) member_->resolved(step, outcome);
  return {};
}

void Agent::lost(comm::Rank peer, const Error& why) {
  payloads_.erase(peer.number);
  if (all_left_) return;
  if (peer.number == Routes::coordinator()) lose_coordinator(why);
  writer_.lost(peer, why);
  if (owner_) owner_->gone(peer, why);
  if (member_) member_->lost(peer, why);
  if (coordinator_) coordinator_->lost(peer, why);
}

/// This rank leaves when its application does, without waiting for anybody. Who has not noticed yet
/// by then would take this rank for the cause: it is told first.
void Agent::lose_coordinator(const Error& why) {
  is_orphan_ = true;
  const std::uint32_t me = rank().number;
  for (std::uint32_t other = 0; other < routes_.computing(); ++other)
    if (other != me && other != Routes::coordinator() && routes_.depends_on(other, me))
      send({other}, LetterKind::kGone, {Routes::coordinator()}, comm::to_bytes(why));
}

}  // namespace forebay::write
