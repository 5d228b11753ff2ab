// SPDX-License-Identifier: Apache-2.0
// From what ranks say of a step to the slot that makes it visible, or to the reason why not.
#include "write/coordinator.hpp"

#include <algorithm>
#include <chrono>
#include <ranges>
#include <utility>

#include "base/wall_clock.hpp"
#include "comm/error_bytes.hpp"
#include "write/contested_blocks.hpp"

namespace forebay::write {

namespace {

std::string list_of(const std::vector<std::uint32_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < std::min(numbers.size(), kRanksNamed); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
  return numbers.size() > kRanksNamed ? text + " and others" : text;
}

std::string text_of_step(const StepName& step) { return "write step " + std::to_string(step.step); }

using ClaimsOfFiles = std::map<std::uint32_t, Pieces>;

/// Frees the claims.
Status check_files(std::uint64_t step, ClaimsOfFiles& claims) {
  std::vector<StepClaims> files;
  files.reserve(claims.size());
  for (auto& [file, pieces] : claims) {
    auto of_file = claims_from(std::exchange(pieces.bytes, {}));
    if (!of_file) return failure(of_file.error());
    files.push_back(std::move(*of_file));
  }
  return check_uncontested(step, merged(std::move(files)));
}

}  // namespace

/// Null if the step is over: every rank commits its steps in their order, so nothing is to come of
/// those before one that was published.
Coordinator::Collected* Coordinator::find_or_begin(const StepName& step) {
  if (skipped_.contains(step) || (newest_published_ && step <= *newest_published_)) return nullptr;
  const auto [found, is_new] = steps_.try_emplace(step);
  if (is_new) found->second.due = std::chrono::steady_clock::now() + context_.plan().deadline;
  return &found->second;
}

void Coordinator::announced(comm::Rank from,
                            const StepName& step,
                            const std::vector<format::FieldDefinition>& fields) {
  Collected* const collected = find_or_begin(step);
  if (collected == nullptr) return;
  collected->announced.insert(from.number);
  for (const format::FieldDefinition& field : fields) {
    const auto known = collected->fields.try_emplace(field.name, Known{field, from.number}).first;
    if (known->second.field == field) continue;
    const std::string cause = "field '" + field.name + "' is " + description_of(field) +
                              " here, and " + description_of(known->second.field) + " on rank " +
                              std::to_string(known->second.rank);
    const Error why = context_.error(ErrorClass::kInvalidArgument, text_of_step(step), cause);
    return skip(step, on_rank(why, from.number));
  }
  for (const auto& [rank, why] : lost_)
    if (!can_do_without(rank, *collected)) return skip(step, why);
  for (const std::uint32_t rank : left_) {
    if (collected->announced.contains(rank)) continue;
    const Error why = context_.error(ErrorClass::kClosed, text_of_step(step),
                                     "the rank has closed the dataset before this step");
    return skip(step, on_rank(why, rank));
  }
  publish_next();
}

void Coordinator::failed(comm::Rank from, const StepName& step, const Error& why) {
  if (find_or_begin(step) == nullptr) return;
  const Error known = on_rank(why, from.number);
  if (why.kind() != ErrorClass::kNotFound) return skip(step, known);
  // A file that has gone was removed by whoever took this program for dead: that is to be told.
  context_.lane().run([this, step, known] {
    const Status is_mine = lease_.check();
    context_.post([this, step, why = is_mine ? known : is_mine.error()] { skip(step, why); });
  });
}

Status Coordinator::claimed(const StepName& step,
                            std::uint32_t file,
                            std::span<const std::byte> piece,
                            std::uint64_t all_bytes) {
  Collected* const collected = find_or_begin(step);
  if (collected == nullptr) return {};
  if (collected->files.contains(file))
    return failure(malformed(LetterKind::kClaims, "file", file, "must not be sealed already"));
  return collected->claims[file].add(LetterKind::kClaims, piece, all_bytes);
}

void Coordinator::sealed(comm::Rank /*from*/, const SealedLetter& letter) {
  Collected* const collected = find_or_begin(letter.step);
  if (collected == nullptr) return;
  collected->files.emplace(letter.file, letter);
  publish_next();
}

bool Coordinator::is_complete(const Collected& collected) const {
  const Routes& routes = context_.routes();
  return collected.announced.size() == routes.computing() &&
         collected.files.size() == routes.file_count();
}

/// Steps are published one at a time, the oldest first: what is not complete holds up those behind
/// it until its deadline.
void Coordinator::publish_next() {
  if (steps_.empty()) return;
  auto& [step, collected] = *steps_.begin();
  if (collected.is_publishing || !is_complete(collected)) return;
  collected.is_publishing = true;
  publish(step, collected);
}

void Coordinator::publish(const StepName& step, Collected& collected) {
  format::StepEntry entry{.step = step.step, .group = step.group, .wall_ns = wall_clock_ns()};
  entry.writers = context_.routes().writer_count();
  entry.strategy = static_cast<std::uint16_t>(context_.plan().strategy);
  for (const auto& [file, letter] : collected.files) {
    entry.files.push_back({file, letter.index});
    entry.raw_bytes += letter.raw_bytes;
    entry.stored_bytes += letter.stored_bytes;
  }
  const auto over = [this, step](StepFate fate, const Status& outcome) {
    context_.post([this, step, fate, outcome] {
      resolve(step, fate, outcome);
      publish_next();
    });
  };
  const auto claims = std::make_shared<ClaimsOfFiles>(std::move(collected.claims));
  const auto publish_it = [this, entry, claims, over] {
    if (const Status all = check_files(entry.step, *claims); !all)
      return over(StepFate::kFailed, failure(located(all.error(), context_.path())));
    // Whoever was stopped for long may have been taken for dead, and somebody else publishes now.
    if (const Status is_mine = lease_.check(); !is_mine) return over(StepFate::kFailed, is_mine);
    const Status published = publisher_->publish(entry);
    if (!published) return over(fate_of_failed(), why_not_published(published));
    over(StepFate::kPublished, published);
    prune();
  };
  // The names of new files are made durable once for the step, by who publishes it.
  context_.lane().sync_folder([this, over, publish_it](const Status& outcome) {
    if (outcome)
      context_.lane().run(publish_it);
    else
      over(StepFate::kFailed, outcome);
  });
}

/// On the lane's thread, as:
StepFate Coordinator::fate_of_failed() const {
  return publisher_->is_replaced() ? StepFate::kUnknown : StepFate::kFailed;
}

/// If somebody else writes the dataset now, that says more.
Status Coordinator::why_not_published(const Status& told) const {
  const Status is_mine = lease_.check();
  return publisher_->is_replaced() && !is_mine ? is_mine : told;
}

/// On the lane's thread, once the new step is durable: what is too old goes, and the owners of its
/// files keep them for later steps. What fails here is tried again with the next step.
void Coordinator::prune() {
  const std::uint32_t keep = context_.plan().keep;
  const std::vector<format::StepEntry> steps = publisher_->steps();
  if (keep == 0 || steps.size() <= keep) return;
  const auto first_kept = steps.end() - keep;
  if (const Status dropped = publisher_->drop_before(first_kept->step); !dropped) return;
  for (auto step = steps.begin(); step != first_kept; ++step) {
    if (step->group == first_kept->group) continue;
    for (const format::FileEntry& file : step->files)
      context_.post([this, name = format::DataFileName{step->group, file.file}] { let_go(name); });
  }
}

/// To whoever makes such files, and may use it again.
void Coordinator::let_go(const format::DataFileName& name) {
  const Routes& routes = context_.routes();
  // Of a step that failed something may still be on its way into the file: nobody else gets it.
  const auto is_in_it = [&](const StepName& step) { return step.group == name.group; };
  // Nor of a former writer, which may have been taken for dead: it still has the file open.
  const bool is_formers = name.group < first_group_;
  if (is_formers || name.file >= routes.file_count() || std::ranges::any_of(skipped_, is_in_it))
    return context_.lane().remove(name, [](const Status& /*done*/) {});
  const comm::Rank owner{routes.owner_of(name.file)};
  context_.send(owner, LetterKind::kPruned, {name.group, name.file}, {});
}

void Coordinator::skip(const StepName& step, const Error& why) {
  const auto found = steps_.find(step);
  // All of it is durable already: what fails now is a later step's concern.
  if (found == steps_.end() || found->second.is_publishing) return;
  resolve(step, StepFate::kFailed, Status(tl::unexpect, why));
  publish_next();
}

void Coordinator::resolve(const StepName& step, StepFate fate, const Status& outcome) {
  steps_.erase(step);
  if (outcome)
    newest_published_ = step;
  else
    skipped_.insert(step);
  const comm::Bytes why = outcome ? comm::Bytes() : comm::to_bytes(outcome.error());
  to_all(LetterKind::kResolved, words_of(step, static_cast<std::uint64_t>(fate)), why);
}

void Coordinator::to_all(LetterKind kind,
                         const AgentContext::Words& words,
                         const comm::Bytes& payload) {
  for (std::uint32_t rank = 0; rank < context_.rank_count(); ++rank)
    if (!lost_.contains(rank)) context_.send(comm::Rank{rank}, kind, words, payload);
}

void Coordinator::lost(comm::Rank rank, const Error& why) {
  const bool has_left = left_.contains(rank.number);
  if (!lost_.emplace(rank.number, why).second || has_left) return end_if_all_left();
  to_all(LetterKind::kGone, {rank.number}, comm::to_bytes(why));
  std::vector<StepName> missing;
  for (const auto& [step, collected] : steps_)
    if (!can_do_without(rank.number, collected)) missing.push_back(step);
  for (const StepName& step : missing)
    skip(step, why);
  end_if_all_left();
}

/// Whether a step can still be whole though that rank is gone. Who hands over to it says so itself.
bool Coordinator::can_do_without(std::uint32_t rank, const Collected& collected) const {
  const Routes& routes = context_.routes();
  if (rank < routes.computing() && !collected.announced.contains(rank)) return false;
  const auto is_there = [&](std::uint32_t file) {
    return routes.owner_of(file) != rank || collected.files.contains(file);
  };
  return std::ranges::all_of(std::views::iota(0U, routes.file_count()), is_there);
}

void Coordinator::leave(comm::Rank from) {
  left_.insert(from.number);
  std::vector<StepName> missing;
  for (const auto& [step, collected] : steps_)
    if (!collected.announced.contains(from.number)) missing.push_back(step);
  for (const StepName& step : missing) {
    const Error why = context_.error(ErrorClass::kClosed, text_of_step(step),
                                     "the rank has closed the dataset before this step");
    skip(step, on_rank(why, from.number));
  }
  end_if_all_left();
}

void Coordinator::end_if_all_left() {
  if (has_ended_ || !steps_.empty()) return;
  for (std::uint32_t rank = 0; rank < context_.routes().computing(); ++rank)
    if (!left_.contains(rank) && !lost_.contains(rank)) return;
  has_ended_ = true;
  to_all(LetterKind::kAllLeft, {}, {});
}

std::string Coordinator::missing_of(const Collected& collected) const {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < context_.routes().computing(); ++rank)
    if (!collected.announced.contains(rank)) ranks.push_back(rank);
  if (!ranks.empty()) return "ranks that have not committed it: " + list_of(ranks);
  for (std::uint32_t file = 0; file < context_.routes().file_count(); ++file)
    if (!collected.files.contains(file)) ranks.push_back(context_.routes().owner_of(file));
  return "files are not durable yet of ranks " + list_of(ranks) + late_of(collected);
}

/// Why files are not durable, as far as their owners have said.
std::string Coordinator::late_of(const Collected& collected) const {
  std::set<std::uint32_t> late;
  bool have_all_said = true;
  for (std::uint32_t file = 0; file < context_.routes().file_count(); ++file) {
    if (collected.files.contains(file)) continue;
    const auto said = collected.missing.find(file);
    have_all_said = have_all_said && said != collected.missing.end();
    if (said != collected.missing.end()) late.insert(said->second.begin(), said->second.end());
  }
  if (!late.empty())
    return "; bytes that are not written and hashed yet are of ranks " +
           list_of({late.begin(), late.end()});
  return have_all_said ? "; all bytes are written, what is late is their index or its sync" : "";
}

void Coordinator::missing(const StepName& step,
                          std::uint32_t file,
                          const std::vector<std::uint32_t>& ranks) {
  const auto found = steps_.find(step);
  if (found != steps_.end()) found->second.missing[file] = ranks;
}

/// Early enough that what they answer is there when it has to be told.
void Coordinator::ask_missing(const StepName& step, Collected& collected) {
  collected.has_asked = true;
  const Routes& routes = context_.routes();
  for (std::uint32_t file = 0; file < routes.file_count(); ++file)
    if (!collected.files.contains(file))
      context_.send(comm::Rank{routes.owner_of(file)}, LetterKind::kAskMissing, words_of(step), {});
}

void Coordinator::tick(TimePoint now) {
  std::vector<StepName> late;
  for (auto& [step, collected] : steps_) {
    const auto due = due_of(collected);
    if (!due || now < *due) continue;
    if (collected.due <= now)
      late.push_back(step);
    else
      ask_missing(step, collected);
  }
  for (const StepName& step : late) {
    const std::string cause = "not complete " + std::to_string(context_.plan().deadline.count()) +
                              " ms after the first rank was done; " + missing_of(steps_.at(step));
    skip(step, context_.error(ErrorClass::kLimit, text_of_step(step), cause));
  }
}

/// When something is to be done about a step that waits: owners are asked at three quarters of the
/// deadline, once it is they alone who are waited for.
std::optional<TimePoint> Coordinator::due_of(const Collected& collected) const {
  if (collected.is_publishing || is_complete(collected)) return std::nullopt;
  const bool is_for_owners = collected.announced.size() == context_.routes().computing();
  if (is_for_owners && !collected.has_asked) return collected.due - context_.plan().deadline / 4;
  return collected.due;
}

std::optional<TimePoint> Coordinator::due() const noexcept {
  std::optional<TimePoint> first;
  for (const auto& [step, collected] : steps_) {
    const auto due = due_of(collected);
    if (due && (!first || *due < *first)) first = due;
  }
  return first;
}

}  // namespace forebay::write
