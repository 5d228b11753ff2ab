// SPDX-License-Identifier: Apache-2.0
// The application's side of a dataset, and the public faces of it.
#include "write/dataset_core.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "write/plan.hpp"

namespace forebay::write {

namespace {

TimePoint now() { return std::chrono::steady_clock::now(); }

/// A committed step is published or skipped by its deadline, unless storage or the coordinator does
/// not move.
std::chrono::milliseconds resolved_after_max(const WritePlan& plan) {
  return plan.deadline + stall_max(plan);
}

/// Memory that nobody takes any more comes back at once.
void offer_to(Agent& agent, PackedChunk packed) {
  const auto shared = std::make_shared<PackedChunk>(std::move(packed));
  const auto offer = [shared](Member& member) { member.offer(std::move(*shared)); };
  if (!agent.tell(offer, Inbox::Haste::kSoon)) shared->release();
}

std::uint64_t most_taken(const Staging& staging) {
  return staging.counts().taken_max * staging.segment_bytes();
}

}  // namespace

Error DatasetCore::error(ErrorClass kind, std::string operation, std::string cause) const {
  return Error({.kind = kind,
                .operation = std::move(operation),
                .path = setup_.path,
                .cause = std::move(cause)});
}

std::optional<std::uint64_t> DatasetCore::newest_step() const {
  if (!origin_.is_current()) return setup_.newest_step;
  const std::lock_guard lock(mutex_);
  return newest_;
}

Status DatasetCore::check_begin(std::uint64_t number) const {
  const std::string operation = "begin step " + std::to_string(number);
  if (is_closed_) return failure(error(ErrorClass::kClosed, operation, "the dataset is closed"));
  if (open_step_)
    return failure(
        error(ErrorClass::kInvalidArgument, operation,
              "step " + std::to_string(*last_begun_) + " is neither committed nor abandoned"));
  const std::optional<std::uint64_t> before = last_begun_ ? last_begun_ : setup_.newest_step;
  if (before && number <= *before)
    return failure(error(ErrorClass::kInvalidArgument, operation,
                         "steps rise, and the last one is " + std::to_string(*before)));
  return {};
}

Result<std::shared_ptr<StepCore>> DatasetCore::begin_step(std::uint64_t number) {
  if (const Status here = origin_.check("begin a step of", path()); !here)
    return failure(here.error());
  const TimePoint begun_at = now();
  std::unique_lock lock(mutex_);
  if (const Status checked = check_begin(number); !checked) return failure(checked.error());
  const auto has_room = [this] { return under_way_ < setup_.plan.steps_in_flight; };
  const bool is_free = resolved_.wait_for(lock, resolved_after_max(setup_.plan), has_room);
  // Others may have begun one, or closed, meanwhile.
  if (const Status checked = check_begin(number); !checked) return failure(checked.error());
  const std::uint32_t before = under_way_;
  const auto name = count_step(number);
  if (!name) return failure(name.error());
  if (is_free) {
    open_step_ = *name;
    lock.unlock();
    return std::shared_ptr<StepCore>(new StepCore(shared_from_this(), *name, begun_at),
                                     detail::DeleteAtOrigin());
  }
  // The others count it too, so it fails on all of them, and the next one is the same on all.
  const Error why =
      error(ErrorClass::kLimit, "begin step " + std::to_string(number),
            std::to_string(before) + " steps are still under way: storage does not keep up");
  agent_->tell([name = *name, why](Member& member) { member.abandon(name, why); });
  return failure(why);
}

/// All ranks count the same steps, so that they agree on the files that these are in.
Result<StepName> DatasetCore::count_step(std::uint64_t number) {
  const StepName name{number, setup_.first_group + begun_ / setup_.plan.steps_per_group};
  if (!agent_->tell([name](Member& member) { member.begin(name); }))
    return failure(
        error(ErrorClass::kClosed, "begin step " + std::to_string(number), "the agent has ended"));
  ++begun_;
  ++under_way_;
  last_begun_ = number;
  return name;
}

void DatasetCore::on_resolved(const StepName& step, const Status& outcome) {
  const std::lock_guard lock(mutex_);
  --under_way_;
  if (outcome) {
    ++report_.steps_published;
    newest_ = std::max(newest_.value_or(0), step.step);
  } else {
    ++report_.steps_failed;
    if (outcome.error().kind() != ErrorClass::kCancelled) {  // the application wanted that
      ++failures_;
      if (!first_failure_) first_failure_ = outcome.error();
    }
  }
  resolved_.notify_all();
}

void DatasetCore::step_is_over(const Packer& packer) {
  const std::lock_guard lock(mutex_);
  open_step_.reset();
  report_.bytes += packer.copied_bytes() + packer.adopted_bytes();
}

DatasetReport DatasetCore::report() const {
  if (!origin_.is_current()) return {};
  const std::lock_guard lock(mutex_);
  DatasetReport report = report_;
  report.written_bytes = agent_->written_bytes();
  report.staging_bytes_max = most_taken(*setup_.staging);
  if (setup_.receiving) report.staging_bytes_max += most_taken(*setup_.receiving);
  return report;
}

Status DatasetCore::close() {
  if (Status here = origin_.check("close", path()); !here) return here;
  std::unique_lock lock(mutex_);
  const bool was_closed = std::exchange(is_closed_, true);
  // A step that is open here has no end to wait for.
  const auto committed = [this] { return under_way_ - (open_step_ ? 1 : 0); };
  const auto is_idle = [&] { return committed() == 0; };
  const bool done = resolved_.wait_for(lock, resolved_after_max(setup_.plan), is_idle);
  if (!was_closed) agent_->tell([](Member& member) { member.leave(); });
  if (!done)
    return failure(error(
        ErrorClass::kLimit, "close",
        std::to_string(committed()) + " steps are still under way: storage does not keep up"));
  if (!first_failure_) return {};
  if (failures_ == 1) return failure(*first_failure_);
  return failure(with_note(*first_failure_,
                           "the first of " + std::to_string(failures_) + " steps that failed"));
}

bool DatasetCore::is_closed() const {
  const std::lock_guard lock(mutex_);
  return is_closed_;
}

/// Whoever has it can be the thread that waits for the end.
void DatasetCore::withdraw_open_step() noexcept {
  const std::lock_guard lock(mutex_);
  if (!open_step_) return;
  const Error why = error(ErrorClass::kClosed, "write step " + std::to_string(open_step_->step),
                          "the Runtime has ended before it was committed");
  agent_->tell([name = *open_step_, why](Member& member) { member.withdraw(name, why); });
}

void DatasetCore::end() noexcept {
  withdraw_open_step();
  std::ignore = close();
  setup_.staging->cancel(error(ErrorClass::kClosed, "put", "the Runtime has ended"));
  agent_->stop(now() + stall_max(setup_.plan));
}

StepCore::StepCore(std::shared_ptr<DatasetCore> dataset, const StepName& name, TimePoint begun_at)
    : dataset_(std::move(dataset)),
      name_(name),
      begun_at_(begun_at),
      held_up_(now() - begun_at),
      packer_({.staging = dataset_->setup_.staging,
               .dataset = dataset_->setup_.dataset,
               .step = name,
               .origin = dataset_->setup_.rank,
               .checksum_by = dataset_->plan().checksum_by,
               .codec = dataset_->plan().codec,
               .codec_level = static_cast<int>(dataset_->plan().codec_level),
               .wait_max = put_wait_max(dataset_->plan()),
               .offer = [agent = dataset_->agent_](
                            PackedChunk packed) { offer_to(*agent, std::move(packed)); },
               .offer_adopted =
                   [agent = dataset_->agent_](AdoptedBlock block) {
                     agent->tell([block = std::move(block)](Member& member) {
                       for (PackedChunk& one : chunks_of(block))
                         member.offer(std::move(one));
                     });
                   },
               .press = [agent = dataset_->agent_, name] { agent->press(name); },
               .is_copying = Agent::is_copying(dataset_->agent_)}) {}

StepCore::~StepCore() { abandon(); }

Status StepCore::keep(Status outcome) {
  if (outcome) return outcome;
  const Error known = located(outcome.error(), dataset_->path());
  if (!failure_) failure_ = known;
  return failure(known);
}

Status StepCore::refuse(const Error& why) { return keep(failure(why)); }

Status StepCore::check_process() const {
  return dataset_->origin_.check("write a step of", dataset_->path());
}

Status StepCore::put(const BlockPlace& place, std::span<const std::byte> bytes) {
  if (Status here = check_process(); !here) return here;
  const TimePoint begin = now();
  Status outcome = keep(packer_.add(place, bytes));
  held_up_ += now() - begin;
  return outcome;
}

Status StepCore::adopt(const BlockPlace& place, AdoptedBuffer buffer) {
  if (Status here = check_process(); !here) return here;
  const TimePoint begin = now();
  Status outcome = keep(packer_.adopt(place, std::move(buffer)));
  held_up_ += now() - begin;
  return outcome;
}

Future<Receipt> StepCore::commit() {
  if (const Status here = check_process(); !here) return here.error();
  if (failure_) {
    abandon();
    return *failure_;
  }
  const TimePoint begin = now();
  packer_.flush();
  Receipt receipt{.step = name_.step};
  receipt.copied_bytes = packer_.copied_bytes();
  receipt.adopted_bytes = packer_.adopted_bytes();
  receipt.bytes = receipt.copied_bytes + receipt.adopted_bytes;
  const Promise<Receipt> promise(
      *dataset_->setup_.executor,
      {.operation = "write step " + std::to_string(name_.step), .path = dataset_->path()});
  auto future = promise.future();
  is_over_ = true;
  dataset_->step_is_over(packer_);
  receipt.perceived = held_up_ + (now() - begin);
  auto committed = std::make_shared<CommittedStep>(
      CommittedStep{std::move(packer_.record()), receipt, begun_at_, promise});
  const bool told = dataset_->agent_->tell(
      [name = name_, committed](Member& member) { member.commit(name, std::move(*committed)); });
  if (!told)
    promise.set(failure(dataset_->error(ErrorClass::kClosed, "write step", "the agent has ended")));
  return future;
}

void StepCore::abandon() noexcept {
  if (std::exchange(is_over_, true)) return;
  dataset_->step_is_over(packer_);
  const Error why = failure_.value_or(dataset_->error(ErrorClass::kCancelled,
                                                      "write step " + std::to_string(name_.step),
                                                      "the application has abandoned it"));
  dataset_->agent_->tell([name = name_, why](Member& member) { member.abandon(name, why); });
}

}  // namespace forebay::write

namespace forebay {

namespace {

format::FieldDefinition parts_of(std::string_view name, ElementType type, std::size_t dimensions) {
  return {.name = std::string(name),
          .type = type,
          .kind = format::FieldKind::kParts,
          .dimensions = static_cast<std::uint32_t>(dimensions)};
}

write::BlockPlace part_place(std::string_view field,
                             ElementType type,
                             Part part,
                             const Shape& shape,
                             std::size_t size_bytes) {
  Shape full = shape.empty() ? Shape{size_bytes / bytes_of(type)} : shape;
  const std::size_t dimensions = full.size();
  return {parts_of(field, type, dimensions), part.number, std::move(full)};
}

Result<write::BlockPlace> array_place(std::string_view field,
                                      ElementType type,
                                      const Subarray& block) {
  if (block.order != ArrayOrder::kC)
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "put field '" + std::string(field) + "'",
                    .cause =
                        "arrays are stored in C order; give shape, start and count of an array "
                        "in Fortran order the other way round"});
  const std::size_t dimensions = block.shape.size();
  if (block.start.size() != dimensions || block.count.size() != dimensions)
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "put field '" + std::string(field) + "'",
                    .cause = "shape, start and count have " + std::to_string(dimensions) + ", " +
                             std::to_string(block.start.size()) + " and " +
                             std::to_string(block.count.size()) +
                             " dimensions, and must have as many"});
  write::BlockPlace place{parts_of(field, type, dimensions), 0, block.start};
  place.field.kind = format::FieldKind::kGlobal;
  place.field.shape = block.shape;
  place.extents.insert(place.extents.end(), block.count.begin(), block.count.end());
  return place;
}

tl::unexpected<Error> is_over(const char* operation) {
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = operation,
                  .cause = "the step was committed, abandoned or moved away"});
}

}  // namespace

Step& Step::operator=(Step&& other) noexcept = default;
Step::~Step() = default;

std::uint64_t Step::number() const noexcept { return core_ ? core_->number() : 0; }

Status Step::put_part(const Element& element, Part part, const Shape& shape, Bytes data) {
  if (!core_) return is_over("put");
  return core_->put(part_place(element.field, element.type, part, shape, data.size()), data);
}

Status Step::put_block(const Element& element, const Subarray& block, Bytes data) {
  if (!core_) return is_over("put");
  const auto place = array_place(element.field, element.type, block);
  return place ? core_->put(*place, data) : core_->refuse(place.error());
}

Status Step::adopt_part(const Element& element, Part part, const Shape& shape, AdoptedBuffer data) {
  if (!core_) return is_over("put");
  const std::size_t size_bytes = data.bytes().size();
  const auto place = part_place(element.field, element.type, part, shape, size_bytes);
  return core_->adopt(place, std::move(data));
}

Status Step::adopt_block(const Element& element, const Subarray& block, AdoptedBuffer data) {
  if (!core_) return is_over("put");
  const auto place = array_place(element.field, element.type, block);
  if (!place) return core_->refuse(place.error());
  return core_->adopt(*place, std::move(data));
}

Future<Receipt> Step::commit() {
  if (!core_) return is_over("commit").value();
  const auto core = std::exchange(core_, nullptr);
  return core->commit();
}

void Step::abandon() noexcept { core_.reset(); }

const std::string& Dataset::path() const noexcept { return core_->path(); }
const WritePlan& Dataset::plan() const noexcept { return core_->plan(); }
std::optional<std::uint64_t> Dataset::newest_step() const { return core_->newest_step(); }

Result<Step> Dataset::begin_step(std::uint64_t number) {
  return core_->begin_step(number).map(
      [](std::shared_ptr<write::StepCore> core) { return Step(std::move(core)); });
}

DatasetReport Dataset::report() const { return core_->report(); }
Status Dataset::close() const { return core_->close(); }

}  // namespace forebay
