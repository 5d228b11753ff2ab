// SPDX-License-Identifier: Apache-2.0
// Places, turns, and the index that closes a step.
#include "write/file_owner.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/assert.hpp"
#include "base/wall_clock.hpp"
#include "format/index_builder.hpp"
#include "write/aligned_bytes.hpp"
#include "write/dense_rounds.hpp"
#include "write/index_of_step.hpp"

namespace forebay::write {

/// What closing a step takes along from thread to thread.
struct FileOwner::Sealing {
  std::shared_ptr<DataFile> file;
  std::uint64_t offset = 0;
  std::vector<RankStep> parts;
  format::IndexPlace place;
  format::StepFacts facts;
  std::optional<format::IndexBuilder> builder;
  std::optional<comm::Bytes> claims;  ///< if other files of the step may contest them
  AlignedBytes index;
  Status outcome;
};

FileOwner::FileOwner(AgentContext& context, const Setup& setup)
    : context_(context),
      setup_(setup),
      file_(context.routes().file_of(context.rank().number)),
      expected_bytes_(setup.expected_bytes) {
  for (std::uint32_t rank = 0; rank < context_.routes().computing(); ++rank)
    if (context_.routes().file_of(rank) == file_) ranks_.push_back(rank);
}

void FileOwner::start() {
  make(setup_.first_group);
  if (context_.plan().steps_per_group == 1 && context_.plan().steps_in_flight > 1)
    make(setup_.first_group + 1);
}

/// Not if all its steps have failed, which others may tell of before a slow rank begins any.
void FileOwner::make(std::uint64_t group) {
  if (groups_.contains(group)) return;
  GroupFile its;
  for (const StepName& step : failed_)
    if (step.group == group) its.over.insert(step);
  if (its.over.size() >= context_.plan().steps_per_group) return;
  its.steps = its.over;
  groups_.emplace(group, std::move(its));
  create(group);
}

void FileOwner::create(std::uint64_t group) {
  const auto come = [this, group](Result<std::shared_ptr<DataFile>> file) {
    context_.post([this, group, file = std::move(file)] { made(group, file); });
  };
  context_.lane().create(name_of_file(group), expected_bytes_, come);
}

void FileOwner::made(std::uint64_t group, const Result<std::shared_ptr<DataFile>>& file) {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return;
  GroupFile& its = found->second;
  if (file)
    its.file = *file;
  else
    its.failure = file.error();
  if (its.file && setup_.on_made) setup_.on_made(group, its.file);
  for (const Question& question : std::exchange(its.waiting, {}))
    answer(question);
  const auto steps = its.steps;
  for (const StepName& step : steps) {
    if (its.failure) context_.report_failure(step, *its.failure);
    const auto parts = steps_.find(step);
    if (!its.file || parts == steps_.end()) continue;
    go(step, parts->second);
    seal(step, parts->second);
  }
}

/// Notes that the step uses the file of its group; false if the step is over, or cannot be.
bool FileOwner::use(const StepName& step) {
  // Of a step that was published nothing is to come: its file must not be made anew.
  if (failed_.contains(step) || (newest_published_ && step <= *newest_published_)) return false;
  make(step.group);
  const auto found = groups_.find(step.group);
  if (found == groups_.end()) {
    refuse_another(step, failed_in(step.group));
    return false;
  }
  GroupFile& its = found->second;
  // Made ahead, when there was no room for it: there may be now.
  if (its.steps.size() == its.over.size() && its.failure) {
    its.failure.reset();
    create(step.group);
  }
  if (!its.steps.insert(step).second) return true;
  make(step.group + 1);
  if (its.failure) context_.report_failure(step, *its.failure);
  if (its.steps.size() <= context_.plan().steps_per_group) return true;
  refuse_another(step, its.steps.begin()->step);
  return false;
}

/// The first one. There is one.
std::uint64_t FileOwner::failed_in(std::uint64_t group) const {
  return std::ranges::find(failed_, group, &StepName::group)->step;
}

void FileOwner::refuse_another(const StepName& step, std::uint64_t in_its_place) {
  context_.report_failure(
      step, context_.error(ErrorClass::kInvalidArgument, "write step " + std::to_string(step.step),
                           "ranks have begun different steps: " + std::to_string(in_its_place) +
                               " was begun by another rank in its place"));
}

Status FileOwner::asked(comm::Rank writer,
                        const StepName& step,
                        std::uint64_t question,
                        std::uint64_t bytes) {
  if (bytes > kRegionBytesMax)
    return failure(malformed(LetterKind::kAskPlace, "bytes", bytes, "no region is that long"));
  const Question asked{writer, step, question, bytes};
  if (!use(step)) return {};
  if (context_.plan().schedule != Schedule::kBaton || holder_ == std::optional(writer)) {
    answer(asked);
    return {};
  }
  queue_.push_back(asked);
  give_turn(std::chrono::steady_clock::now());
  return {};
}

void FileOwner::answer(const Question& question) {
  GroupFile& its = groups_.at(question.step.group);
  if (its.failure || failed_.contains(question.step)) return turn_over(question.writer);
  if (!its.file) return its.waiting.push_back(question);
  if (holder_ == std::optional(question.writer)) still_writing(question.writer);
  const std::uint64_t alignment = context_.plan().alignment_bytes;
  const std::uint64_t place = format::round_up(its.end, alignment);
  if (place > kRegionBytesMax || question.bytes > kRegionBytesMax - place) {
    const Error full =
        malformed(LetterKind::kAskPlace, "bytes", question.bytes, "the file would be too long");
    return context_.report_failure(question.step, on_rank(full, question.writer.number));
  }
  its.end = place + format::round_up(question.bytes, alignment);
  its.places.insert_or_assign(place, Place{question.step, its.end - place});
  context_.send(question.writer, LetterKind::kPlace, {question.number, place}, {});
}

Status FileOwner::trim(std::uint64_t group, const ByteRange& room, std::uint64_t needed_bytes) {
  if (room.size > kRegionBytesMax || needed_bytes > room.size)
    return failure(malformed(LetterKind::kTrim, "bytes needed", needed_bytes,
                             "must be within the " + std::to_string(room.size) + " asked for"));
  const auto found = groups_.find(group);
  if (found == groups_.end()) return {};
  const std::uint64_t alignment = context_.plan().alignment_bytes;
  GroupFile& its = found->second;
  const auto place = its.places.find(room.offset);
  if (place == its.places.end()) return {};  // of a step that is over
  if (place->second.bytes != format::round_up(room.size, alignment))
    return failure(malformed(LetterKind::kTrim, "bytes asked for", room.size,
                             "must be the size of the place"));
  // Behind it something else may lie by now; then the room is lost.
  if (its.end != room.offset + place->second.bytes) return {};
  place->second.bytes = format::round_up(needed_bytes, alignment);
  its.end = room.offset + place->second.bytes;
  return {};
}

void FileOwner::turn_over(comm::Rank writer) {
  if (holder_ != std::optional(writer)) return;
  holder_.reset();
  give_turn(std::chrono::steady_clock::now());
}

void FileOwner::still_writing(comm::Rank writer) {
  if (holder_ == std::optional(writer)) held_since_ = std::chrono::steady_clock::now();
}

/// To who has waited longest, with all that it has asked for.
void FileOwner::give_turn(TimePoint now) {
  if (holder_ || queue_.empty()) return;
  holder_ = queue_.front().writer;
  held_since_ = now;
  std::vector<Question> now_answered;
  const auto is_its = [this](const Question& one) { return holder_ == std::optional(one.writer); };
  std::ranges::copy_if(queue_, std::back_inserter(now_answered), is_its);
  std::erase_if(queue_, is_its);
  for (const Question& question : now_answered)
    answer(question);
}

void FileOwner::tick(TimePoint now) {
  if (!holder_ || queue_.empty() || now < held_since_ + kTurnLease) return;
  holder_.reset();
  give_turn(now);
}

std::optional<TimePoint> FileOwner::due() const noexcept {
  if (!holder_ || queue_.empty()) return std::nullopt;
  return held_since_ + kTurnLease;
}

Status FileOwner::ready(comm::Rank from, const StepName& step, std::vector<ByteRange> ranges) {
  if (context_.plan().schedule != Schedule::kCollective)
    return failure(malformed(LetterKind::kReady, "step", step.step,
                             "the schedule of this plan is not collective"));
  for (const ByteRange& range : ranges)
    if (range.offset > kRegionBytesMax || range.size > kRegionBytesMax)
      return failure(
          malformed(LetterKind::kReady, "range offset", range.offset, "no file is that long"));
  if (!use(step)) return {};
  Parts& parts = steps_[step];
  if (!parts.ranges.emplace(from.number, std::move(ranges)).second)
    return failure(malformed(LetterKind::kReady, "step", step.step, "must be said once"));
  go(step, parts);
  return {};
}

void FileOwner::go(const StepName& step, const Parts& parts) {
  // In calls of all ranks, those that are left would wait for it without an end.
  if (is_rank_gone_) return;
  if (parts.ranges.size() < ranks_.size() || !groups_.at(step.group).file) return;
  std::vector<ByteRange> all;
  for (const auto& [rank, ranges] : parts.ranges)
    all.insert(all.end(), ranges.begin(), ranges.end());
  const RoundMeans means = means_for(groups_.at(step.group).file->access(), all);
  const comm::Bytes rounds = comm::bytes_of_list<ByteRange>(dense_rounds(std::move(all)));
  const auto words = words_of(step, static_cast<std::uint64_t>(means));
  for (const std::uint32_t rank : ranks_)
    context_.send(comm::Rank{rank}, LetterKind::kGo, words, rounds);
}

/// Blocks lie in places that were given.
Status FileOwner::check_part(const RankStep& part, const StepName& step) const {
  if (part.step != step.step)
    return failure(malformed(LetterKind::kPart, "step", part.step, "must be that of the letter"));
  const std::uint64_t end = groups_.at(step.group).end;
  for (const BlockRecord& block : part.blocks)
    if (block.offset > end || block.stored_bytes > end - block.offset)
      return failure(malformed(LetterKind::kPart, "block offset", block.offset,
                               "must begin a block that ends before " + std::to_string(end)));
  return {};
}

Status FileOwner::part_came(comm::Rank from,
                            const StepName& step,
                            std::span<const std::byte> bytes,
                            std::uint64_t all_bytes) {
  if (!use(step)) return {};
  Parts& parts = steps_[step];
  if (parts.by_rank.contains(from.number))
    return failure(malformed(LetterKind::kPart, "step", step.step, "its part is here already"));
  Pieces& arriving = parts.arriving[from.number];
  if (Status good = arriving.add(LetterKind::kPart, bytes, all_bytes); !good) return good;
  if (!arriving.is_whole()) return {};
  auto part = rank_step_from(arriving.bytes);
  if (!part) return failure(part.error());
  if (Status good = check_part(*part, step); !good) return good;
  parts.by_rank.emplace(from.number, std::move(*part));
  parts.arriving.erase(from.number);
  if (parts.is_asked_for) tell_missing(step);
  seal(step, parts);
  return {};
}

void FileOwner::tell_missing(const StepName& step) {
  if (failed_.contains(step)) return;
  Parts& parts = steps_[step];
  parts.is_asked_for = true;
  std::vector<std::uint32_t> missing;
  for (const std::uint32_t rank : ranks_)
    if (!parts.by_rank.contains(rank) && missing.size() <= kRanksNamed) missing.push_back(rank);
  context_.send(comm::Rank{Routes::coordinator()}, LetterKind::kMissing, words_of(step, file_),
                comm::bytes_of_list<std::uint32_t>(missing));
}

/// Once all parts are there: the index is worked out where it holds up nobody.
void FileOwner::seal(const StepName& step, Parts& parts) {
  GroupFile& its = groups_.at(step.group);
  if (parts.by_rank.size() < ranks_.size() || parts.is_sealing || !its.file) return;
  parts.is_sealing = true;
  auto sealing = std::make_shared<Sealing>();
  sealing->file = its.file;
  sealing->place = {setup_.dataset, step.step, step.group, file_};
  for (auto& [rank, part] : parts.by_rank)
    sealing->parts.push_back(std::move(part));
  sealing->facts = {.wall_ns = wall_clock_ns(),
                    .writers = context_.routes().writer_count(),
                    .files = context_.routes().file_count(),
                    .strategy = static_cast<std::uint16_t>(context_.plan().strategy)};
  context_.lane().run([this, step, sealing] {
    auto index = index_of_step(sealing->place, sealing->facts, sealing->parts, ranks_);
    if (!index) {
      sealing->outcome = failure(index.error());
    } else {
      sealing->builder.emplace(std::move(index->builder));
      if (sealing->facts.files > 1) sealing->claims = to_bytes(index->claims);
    }
    context_.post([this, step, sealing] { encode(step, sealing); });
  });
}

void FileOwner::encode(const StepName& step, const std::shared_ptr<Sealing>& sealing) {
  if (!steps_.contains(step)) return;
  if (!sealing->outcome)
    return context_.report_failure(step, located(sealing->outcome.error(), context_.path()));
  if (const auto claims = std::exchange(sealing->claims, {}))
    context_.send_in_pieces(comm::Rank{Routes::coordinator()}, LetterKind::kClaims,
                            words_of(step, file_, claims->size()), *claims);
  GroupFile& its = groups_.at(step.group);
  sealing->offset = its.end;
  its.end += sealing->builder->encoded_bytes();
  its.places.insert_or_assign(sealing->offset, Place{step, its.end - sealing->offset});
  context_.lane().run([this, step, sealing] {
    auto encoded = sealing->builder->encode(sealing->offset);
    if (encoded)
      sealing->index = AlignedBytes(*encoded);
    else
      sealing->outcome = failure(encoded.error());
    context_.post([this, step, sealing] { write_index(step, sealing); });
  });
}

void FileOwner::write_index(const StepName& step, const std::shared_ptr<Sealing>& sealing) {
  if (!steps_.contains(step)) return;
  if (!sealing->outcome)
    return context_.report_failure(step, located(sealing->outcome.error(), context_.path()));
  const auto done = [this, step, sealing](const Status& outcome) {
    context_.post([this, step, sealing, outcome] {
      if (!outcome) return context_.report_failure(step, outcome.error());
      if (steps_.contains(step)) make_durable(step, sealing);
    });
  };
  context_.lane().write(sealing->file, sealing->offset, sealing->index.bytes(), done);
}

void FileOwner::make_durable(const StepName& step, const std::shared_ptr<Sealing>& sealing) {
  GroupFile& its = groups_.at(step.group);
  const auto done = [this, step, sealing](const Status& outcome) {
    context_.post([this, step, sealing, outcome] {
      if (!outcome) return context_.report_failure(step, outcome.error());
      if (steps_.contains(step)) tell_sealed(step, *sealing);
    });
  };
  const bool is_last = ++its.steps_durable == context_.plan().steps_per_group;
  if (is_last)
    context_.lane().seal(sealing->file, its.end, done);
  else
    context_.lane().sync(sealing->file, done);
}

void FileOwner::tell_sealed(const StepName& step, const Sealing& sealing) {
  expected_bytes_ = std::max(expected_bytes_, groups_.at(step.group).end);
  format::Reference index = format::IndexBuilder::reference_of(sealing.index.bytes());
  index.offset = sealing.offset;
  const SealedLetter letter{.step = step,
                            .file = file_,
                            .parts = static_cast<std::uint32_t>(ranks_.size()),
                            .index = index,
                            .raw_bytes = sealing.builder->raw_bytes(),
                            .stored_bytes = sealing.builder->stored_bytes()};
  groups_.at(step.group).unanswered.insert(step);
  context_.send(comm::Rank{Routes::coordinator()}, LetterKind::kSealed, words_of(step),
                to_bytes(letter));
}

void FileOwner::resolved(const StepName& step, StepFate fate, const Status& outcome) {
  steps_.erase(step);
  // Its file may go now, and with it what an answer needs.
  std::erase_if(queue_, [&](const Question& one) { return one.step == step; });
  if (outcome) newest_published_ = step;
  const auto group = groups_.find(step.group);
  if (!outcome) {
    failed_.insert(step);
    if (outcome.error().kind() == ErrorClass::kNoSpace) context_.lane().give_up_free_files();
  }
  if (group == groups_.end()) return;
  GroupFile& its = group->second;
  if (fate != StepFate::kFailed) {
    its.has_steps_to_keep = true;
    std::erase_if(its.places, [&](const auto& place) { return place.second.step == step; });
  } else {
    punch_failed(its);
  }
  its.unanswered.erase(step);
  its.steps.insert(step);
  its.over.insert(step);
  const bool is_full = its.steps.size() >= context_.plan().steps_per_group;
  if (is_full && its.over.size() == its.steps.size()) retire(step.group);
}

/// Steps to come may need the room of those that failed. What ranks still write for these fills a
/// place again, which is why all of them are punched each time.
void FileOwner::punch_failed(const GroupFile& its) {
  if (!its.file || context_.plan().steps_per_group == 1) return;
  std::vector<ByteRange> failed;
  for (const auto& [offset, place] : its.places) {
    if (!failed_.contains(place.step)) continue;
    if (!failed.empty() && failed.back().end() == offset)
      failed.back().size += place.bytes;
    else
      failed.push_back({offset, place.bytes});
  }
  if (!failed.empty()) context_.lane().punch(its.file, std::move(failed));
}

/// A file of which nothing was published goes; others may still write to it, and lose nothing. Who
/// keeps one that was not sealed keeps no more room than its steps have.
void FileOwner::retire(std::uint64_t group) {
  const GroupFile its = std::move(groups_.extract(group).mapped());
  if (!its.has_steps_to_keep && its.unanswered.empty())
    return context_.lane().remove(name_of_file(group), [](const Status& /*done*/) {});
  punch_failed(its);
  if (its.file && its.steps_durable < context_.plan().steps_per_group)
    context_.lane().cut(its.file, its.end);
}

void FileOwner::gone(comm::Rank rank, const Error& why) {
  if (holder_ == std::optional(rank)) turn_over(rank);
  if (std::ranges::find(ranks_, rank.number) == ranks_.end()) return;
  is_rank_gone_ = true;
  for (const auto& [group, its] : groups_)
    for (const StepName& step : its.steps) {
      const auto parts = steps_.find(step);
      const bool has_part = parts != steps_.end() && parts->second.by_rank.contains(rank.number);
      const bool is_sealing = parts != steps_.end() && parts->second.is_sealing;
      if (!has_part && !is_sealing) context_.report_failure(step, why);
    }
}

/// What nobody needs goes. A coordinator that died may have published what was sealed, and told
/// nobody: if not, who opens the dataset next finds a file that is left over.
void FileOwner::end() {
  steps_.clear();  // what is being sealed comes to nothing
  queue_.clear();
  while (!groups_.empty())
    retire(groups_.begin()->first);
}

}  // namespace forebay::write
