// SPDX-License-Identifier: Apache-2.0
// The application's side of a dataset, and the public classes.
#include "write/dataset_writer_core.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "write/plan.hpp"

namespace forebay::write {

namespace {

TimePoint now() { return std::chrono::steady_clock::now(); }

/// Maximum wait for a committed step. It is published or aborted by its deadline, unless storage or
/// the coordinator stalls.
std::chrono::milliseconds resolve_timeout(const WritePlan& plan) {
  return plan.step_timeout + stall_max(plan);
}

/// Posts the offer of a chunk to the agent. If the agent has ended, releases the memory at once.
void post_offer(DatasetAgent& agent, PackedChunk packed) {
  const auto shared = std::make_shared<PackedChunk>(std::move(packed));
  const auto offer = [shared](StepProducer& producer) { producer.offer(std::move(*shared)); };
  if (!agent.post_to_producer(offer, AgentTaskQueue::WakePolicy::kDeferred)) shared->release();
}

std::uint64_t peak_bytes(const StagingPool& staging) {
  return staging.counts().in_use_max * staging.segment_bytes();
}

}  // namespace

Error DatasetWriterCore::error(ErrorClass kind, std::string operation, std::string cause) const {
  return Error({.kind = kind,
                .operation = std::move(operation),
                .path = setup_.path,
                .cause = std::move(cause)});
}

std::optional<std::uint64_t> DatasetWriterCore::newest_step() const {
  if (!origin_.is_current()) return setup_.newest_step;
  const std::lock_guard lock(mutex_);
  return newest_;
}

Status DatasetWriterCore::check_begin(std::uint64_t number) const {
  const std::string operation = "begin step " + std::to_string(number);
  if (is_closed_) return failure(error(ErrorClass::kClosed, operation, "the dataset is closed"));
  if (open_step_)
    return failure(
        error(ErrorClass::kInvalidArgument, operation,
              "step " + std::to_string(*last_begun_) + " is neither committed nor aborted"));
  const std::optional<std::uint64_t> before = last_begun_ ? last_begun_ : setup_.newest_step;
  if (before && number <= *before)
    return failure(error(ErrorClass::kInvalidArgument, operation,
                         "step numbers must rise, and the last one is " + std::to_string(*before)));
  return {};
}

Result<std::shared_ptr<StepWriterCore>> DatasetWriterCore::begin_step(std::uint64_t number) {
  if (const Status process_check = origin_.check("begin a step of", path()); !process_check)
    return failure(process_check.error());
  const TimePoint begun_at = now();
  std::unique_lock lock(mutex_);
  if (const Status checked = check_begin(number); !checked) return failure(checked.error());
  const auto is_ready = [this] { return may_begin(); };
  const bool is_free = resolved_.wait_for(lock, resolve_timeout(plan()), is_ready);
  // Other threads may have begun a step, or closed the dataset, meanwhile.
  if (const Status checked = check_begin(number); !checked) return failure(checked.error());
  const std::uint32_t before = steps_in_flight_;
  const auto step = register_step(number);
  if (!step) return failure(step.error());
  if (is_free) {
    open_step_ = *step;
    auto plan = take_plan(step->group);
    lock.unlock();
    return std::shared_ptr<StepWriterCore>(
        new StepWriterCore(shared_from_this(), *step, std::move(plan), begun_at),
        detail::OriginDeleter());
  }
  // Other ranks count this step, too. So it fails on all ranks, and the next one is the same on
  // all.
  const Error why =
      error(ErrorClass::kLimit, "begin step " + std::to_string(number),
            std::to_string(before) + " steps are still in flight: storage does not keep up");
  agent_->post_to_producer(
      [step = *step, why](StepProducer& producer) { producer.abort_step(step, why); });
  return failure(why);
}

std::uint64_t DatasetWriterCore::next_group() const {
  return setup_.first_group + steps_begun_ / plan().tuning.steps_per_group;
}

/// Outcomes of aborted steps may overtake those of earlier ones, so that there is room for a step
/// before its plan is decided.
bool DatasetWriterCore::may_begin() const {
  return steps_in_flight_ < plan().steps_in_flight && next_group() < begin_end_;
}

/// The plan of a group. Forgets those of earlier groups: no step of them begins any more.
std::shared_ptr<const WritePlan> DatasetWriterCore::take_plan(std::uint64_t group) {
  plans_.erase(plans_.begin(), plans_.lower_bound(group));
  const auto found = plans_.find(group);
  return found == plans_.end() ? setup_.plan : found->second;
}

void DatasetWriterCore::on_plans_decided(const PlanSchedule& plans, std::uint64_t begin_end) {
  const std::lock_guard lock(mutex_);
  for (std::uint64_t group = begin_end_; group < plans.decided_end(); ++group)
    plans_[group] = plans.plan(group);
  begin_end_ = begin_end;
  resolved_.notify_all();
}

/// Counts the step and begins it on the agent. All ranks count the same steps, so they compute the
/// same file group.
Result<StepId> DatasetWriterCore::register_step(std::uint64_t number) {
  const StepId step{number, next_group()};
  if (!agent_->post_to_producer([step](StepProducer& producer) { producer.begin(step); }))
    return failure(
        error(ErrorClass::kClosed, "begin step " + std::to_string(number), "the agent has ended"));
  ++steps_begun_;
  ++steps_in_flight_;
  last_begun_ = number;
  return step;
}

void DatasetWriterCore::on_resolved(const StepId& step, const Status& outcome) {
  const std::lock_guard lock(mutex_);
  --steps_in_flight_;
  if (outcome) {
    ++report_.steps_published;
    newest_ = std::max(newest_.value_or(0), step.step);
  } else {
    ++report_.steps_failed;
    // A step that the application has aborted is no failure.
    if (outcome.error().kind() != ErrorClass::kCancelled) {
      ++failures_;
      if (!first_failure_) first_failure_ = outcome.error();
    }
  }
  resolved_.notify_all();
}

void DatasetWriterCore::handle_step_closed(const Packer& packer) {
  const std::lock_guard lock(mutex_);
  open_step_.reset();
  report_.bytes += packer.copied_bytes() + packer.adopted_bytes();
}

Status DatasetWriterCore::set_attribute(std::string_view name, const AttributeValue& value) {
  if (Status process_check = origin_.check("set an attribute of", path()); !process_check)
    return process_check;
  const std::lock_guard lock(mutex_);
  if (is_closed_)
    return failure(error(ErrorClass::kClosed, "set attribute " + std::string(name) + " of",
                         "the dataset is closed"));
  const Status set = attributes_.set(
      {.scope = format::AttributeScope::kDataset, .name = std::string(name)}, value);
  return set ? set : failure(with_location(set.error(), path()));
}

format::AttributeTable DatasetWriterCore::attributes() const {
  const std::lock_guard lock(mutex_);
  return attributes_;
}

DatasetReport DatasetWriterCore::report() const {
  if (!origin_.is_current()) return {};
  const std::lock_guard lock(mutex_);
  DatasetReport report = report_;
  report.written_bytes = agent_->written_bytes();
  report.staging_bytes_max = peak_bytes(*setup_.staging);
  if (setup_.receive_staging) report.staging_bytes_max += peak_bytes(*setup_.receive_staging);
  return report;
}

Status DatasetWriterCore::close() {
  if (Status process_check = origin_.check("close", path()); !process_check) return process_check;
  std::unique_lock lock(mutex_);
  const bool was_closed = std::exchange(is_closed_, true);
  // A step that is not committed gets no outcome, so it is not awaited.
  const auto committed = [this] { return steps_in_flight_ - (open_step_ ? 1 : 0); };
  const auto is_idle = [&] { return committed() == 0; };
  const bool done = resolved_.wait_for(lock, resolve_timeout(plan()), is_idle);
  if (!was_closed) agent_->post_to_producer([](StepProducer& producer) { producer.leave(); });
  if (!done)
    return failure(error(
        ErrorClass::kLimit, "close",
        std::to_string(committed()) + " steps are still in flight: storage does not keep up"));
  const Status written = failures_of_steps();
  const bool is_saving = setup_.tuner != nullptr && !std::exchange(is_tuning_saved_, true);
  lock.unlock();
  const Status saved = is_saving ? save_tuning(*setup_.tuner, setup_.profile_path) : Status();
  return written ? saved : written;
}

Status DatasetWriterCore::failures_of_steps() const {
  if (!first_failure_) return {};
  if (failures_ == 1) return failure(*first_failure_);
  return failure(with_note(*first_failure_,
                           "the first of " + std::to_string(failures_) + " steps that failed"));
}

bool DatasetWriterCore::is_closed() const {
  const std::lock_guard lock(mutex_);
  return is_closed_;
}

/// Does not wait for commit(): the thread that has the open step may be the one that ends the
/// Runtime.
void DatasetWriterCore::cancel_open_step() noexcept {
  const std::lock_guard lock(mutex_);
  if (!open_step_) return;
  const Error why = error(ErrorClass::kClosed, "write step " + std::to_string(open_step_->step),
                          "the Runtime has ended before it was committed");
  agent_->post_to_producer(
      [step = *open_step_, why](StepProducer& producer) { producer.cancel_step(step, why); });
}

void DatasetWriterCore::shut_down() noexcept {
  cancel_open_step();
  std::ignore = close();
  setup_.staging->cancel(error(ErrorClass::kClosed, "put", "the Runtime has ended"));
  agent_->stop(now() + stall_max(plan()));
}

StepWriterCore::StepWriterCore(std::shared_ptr<DatasetWriterCore> dataset,
                               const StepId& step,
                               std::shared_ptr<const WritePlan> plan,
                               TimePoint begun_at)
    : dataset_(std::move(dataset)),
      step_(step),
      plan_(std::move(plan)),
      begun_at_(begun_at),
      blocked_time_(now() - begun_at),
      packer_({.staging = dataset_->setup_.staging,
               .unit_bytes = segment_bytes_of(*plan_),
               .dataset = dataset_->setup_.dataset,
               .step = step,
               .origin = dataset_->setup_.rank,
               .checksum_stage = plan_->tuning.checksum_stage,
               .codec = plan_->codec,
               .codec_level = static_cast<int>(plan_->codec_level),
               .wait_max = put_wait_max(*plan_),
               .offer = [agent = dataset_->agent_](
                            PackedChunk packed) { post_offer(*agent, std::move(packed)); },
               .offer_adopted =
                   [agent = dataset_->agent_](AdoptedBlock block) {
                     agent->post_to_producer([block = std::move(block)](StepProducer& producer) {
                       for (PackedChunk& one : split_into_chunks(block))
                         producer.offer(std::move(one));
                     });
                   },
               .request_memory = [agent = dataset_->agent_, step] { agent->request_memory(step); },
               .copying_flag = DatasetAgent::copying_flag(dataset_->agent_)}) {}

StepWriterCore::~StepWriterCore() { abort_step(); }

Status StepWriterCore::record_failure(Status outcome) {
  if (outcome) return outcome;
  const Error known = with_location(outcome.error(), dataset_->path());
  if (!failure_) failure_ = known;
  return failure(known);
}

Status StepWriterCore::fail(const Error& why) { return record_failure(failure(why)); }

Status StepWriterCore::check_process() const {
  return dataset_->origin_.check("write a step of", dataset_->path());
}

Status StepWriterCore::put(const BlockDescriptor& descriptor,
                           std::span<const std::byte> memory,
                           const MemoryLayout& layout) {
  if (Status process_check = check_process(); !process_check) return process_check;
  const TimePoint begin = now();
  Status outcome = record_failure(packer_.add(descriptor, memory, layout));
  blocked_time_ += now() - begin;
  return outcome;
}

Status StepWriterCore::adopt(const BlockDescriptor& descriptor,
                             AdoptedBuffer&& buffer,
                             const MemoryLayout& layout) {
  if (Status process_check = check_process(); !process_check) return process_check;
  const TimePoint begin = now();
  Status outcome = record_failure(packer_.adopt(descriptor, std::move(buffer), layout));
  blocked_time_ += now() - begin;
  return outcome;
}

Status StepWriterCore::set_attribute(const format::AttributeKey& key, const AttributeValue& value) {
  if (Status process_check = check_process(); !process_check) return process_check;
  return record_failure(packer_.record().attributes.set(key, value));
}

Future<Receipt> StepWriterCore::commit() {
  if (const Status process_check = check_process(); !process_check) return process_check.error();
  std::ignore = record_failure(packer_.record().attributes.add_missing(dataset_->attributes()));
  if (failure_) {
    abort_step();
    return *failure_;
  }
  const TimePoint begin = now();
  packer_.flush();
  Receipt receipt{.step = step_.step, .plan = plan_};
  receipt.copied_bytes = packer_.copied_bytes();
  receipt.adopted_bytes = packer_.adopted_bytes();
  receipt.bytes = receipt.copied_bytes + receipt.adopted_bytes;
  const Promise<Receipt> promise(
      *dataset_->setup_.executor,
      {.operation = "write step " + std::to_string(step_.step), .path = dataset_->path()});
  auto future = promise.future();
  is_closed_ = true;
  dataset_->handle_step_closed(packer_);
  receipt.perceived_time = blocked_time_ + (now() - begin);
  auto committed = std::make_shared<CommittedStep>(
      CommittedStep{std::move(packer_.record()), receipt, begun_at_, promise});
  const bool is_posted =
      dataset_->agent_->post_to_producer([step = step_, committed](StepProducer& producer) {
        producer.commit(step, std::move(*committed));
      });
  if (!is_posted)
    promise.set(failure(dataset_->error(ErrorClass::kClosed, "write step", "the agent has ended")));
  return future;
}

void StepWriterCore::abort_step() noexcept {
  if (std::exchange(is_closed_, true)) return;
  dataset_->handle_step_closed(packer_);
  const Error why = failure_.value_or(
      dataset_->error(ErrorClass::kCancelled, "write step " + std::to_string(step_.step),
                      "the application has aborted it, or did not commit it"));
  dataset_->agent_->post_to_producer(
      [step = step_, why](StepProducer& producer) { producer.abort_step(step, why); });
}

}  // namespace forebay::write

namespace forebay {

namespace {

format::FieldDefinition parts_field(std::string_view name,
                                    ElementType type,
                                    std::size_t dimensions) {
  return {.name = std::string(name),
          .type = type,
          .kind = format::FieldKind::kParts,
          .dimensions = static_cast<std::uint32_t>(dimensions)};
}

write::BlockDescriptor part_descriptor(std::string_view field,
                                       ElementType type,
                                       Part part,
                                       const Shape& shape,
                                       std::size_t size_bytes) {
  Shape full = shape.empty() ? Shape{size_bytes / element_size(type)} : shape;
  const std::size_t dimensions = full.size();
  return {parts_field(field, type, dimensions), part.number, std::move(full)};
}

Result<write::BlockDescriptor> array_block_descriptor(std::string_view field,
                                                      ElementType type,
                                                      const Subarray& block) {
  if (block.order != ArrayOrder::kC)
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "put field '" + std::string(field) + "'",
                    .cause =
                        "arrays are stored in C order; reverse shape, start and count of an array "
                        "in Fortran order"});
  const std::size_t dimensions = block.shape.size();
  if (block.start.size() != dimensions || block.count.size() != dimensions)
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "put field '" + std::string(field) + "'",
                    .cause = "shape, start and count have " + std::to_string(dimensions) + ", " +
                             std::to_string(block.start.size()) + " and " +
                             std::to_string(block.count.size()) +
                             " dimensions; give all of them the same number"});
  write::BlockDescriptor descriptor{parts_field(field, type, dimensions), 0, block.start};
  descriptor.field.kind = format::FieldKind::kGlobal;
  descriptor.field.shape = block.shape;
  descriptor.dims.insert(descriptor.dims.end(), block.count.begin(), block.count.end());
  return descriptor;
}

tl::unexpected<Error> step_closed_error(const char* operation) {
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = operation,
                  .cause = "the step was committed, aborted or moved"});
}

}  // namespace

StepWriter& StepWriter::operator=(StepWriter&& other) noexcept = default;
StepWriter::~StepWriter() = default;

std::uint64_t StepWriter::number() const noexcept { return core_ ? core_->number() : 0; }

Status StepWriter::put_part(const TypedField& element,
                            Part part,
                            const Shape& shape,
                            Bytes data,
                            const MemoryLayout& layout) {
  if (!core_) return step_closed_error("put");
  return core_->put(part_descriptor(element.field, element.type, part, shape, data.size()), data,
                    layout);
}

Status StepWriter::put_block(const TypedField& element,
                             const Subarray& block,
                             Bytes data,
                             const MemoryLayout& layout) {
  if (!core_) return step_closed_error("put");
  const auto descriptor = array_block_descriptor(element.field, element.type, block);
  return descriptor ? core_->put(*descriptor, data, layout) : core_->fail(descriptor.error());
}

Status StepWriter::adopt_part(const TypedField& element,
                              Part part,
                              const Shape& shape,
                              AdoptedBuffer&& data,
                              const MemoryLayout& layout) {
  if (!core_) return step_closed_error("put");
  const std::size_t size_bytes = data.bytes().size();
  const auto descriptor = part_descriptor(element.field, element.type, part, shape, size_bytes);
  return core_->adopt(descriptor, std::move(data), layout);
}

Status StepWriter::adopt_block(const TypedField& element,
                               const Subarray& block,
                               AdoptedBuffer&& data,
                               const MemoryLayout& layout) {
  if (!core_) return step_closed_error("put");
  const auto descriptor = array_block_descriptor(element.field, element.type, block);
  if (!descriptor) return core_->fail(descriptor.error());
  return core_->adopt(*descriptor, std::move(data), layout);
}

Status StepWriter::set_attribute(std::string_view name, const AttributeValue& value) {
  if (!core_) return step_closed_error("set an attribute");
  return core_->set_attribute({.name = std::string(name)}, value);
}

Status StepWriter::set_field_attribute(std::string_view field,
                                       std::string_view name,
                                       const AttributeValue& value) {
  if (!core_) return step_closed_error("set an attribute");
  return core_->set_attribute({.scope = format::AttributeScope::kField,
                               .field = std::string(field),
                               .name = std::string(name)},
                              value);
}

Future<Receipt> StepWriter::commit() {
  if (!core_) return step_closed_error("commit").value();
  const auto core = std::exchange(core_, nullptr);
  return core->commit();
}

void StepWriter::abort() noexcept { core_.reset(); }

const std::string& DatasetWriter::path() const noexcept { return core_->path(); }
const WritePlan& DatasetWriter::plan() const noexcept { return core_->plan(); }
std::optional<std::uint64_t> DatasetWriter::newest_step() const { return core_->newest_step(); }

Result<StepWriter> DatasetWriter::begin_step(std::uint64_t number) {
  return core_->begin_step(number).map(
      [](std::shared_ptr<write::StepWriterCore> core) { return StepWriter(std::move(core)); });
}

Status DatasetWriter::set_attribute(std::string_view name, const AttributeValue& value) {
  return core_->set_attribute(name, value);
}

DatasetReport DatasetWriter::report() const { return core_->report(); }
Status DatasetWriter::close() const { return core_->close(); }

}  // namespace forebay
