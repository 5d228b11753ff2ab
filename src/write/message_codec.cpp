// SPDX-License-Identifier: Apache-2.0
#include "write/message_codec.hpp"

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "comm/error_bytes.hpp"
#include "format/records.hpp"

namespace forebay::write {

namespace {

using comm::MessageReader;
using comm::MessageRule;
using comm::MessageWriter;

constexpr std::uint32_t kOfferChunkBytes = 89;
constexpr std::uint32_t kFileDurableBytes = 60;
constexpr std::uint32_t kAnyBytes = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kErrorBytes = comm::kErrorBytesMax;
constexpr std::uint32_t kMissingRanksBytes = (kRanksInErrorMax + 1) * sizeof(std::uint32_t);

/// Indexed by MessageKind: name, number of words, minimum and maximum bytes of the payload. For
/// kAnyBytes, LinkLimits has the maximum.
constexpr std::array<MessageRule, 26> kRules{{
    {.name = "hello"},
    {"offer chunk", 2, kOfferChunkBytes, kOfferChunkBytes},
    {.name = "fetch chunk", .words = 3},
    {"chunk data", 3, 0, kAnyBytes},
    {.name = "release chunk", .words = 3},
    {.name = "region count", .words = 3},
    {"regions written", 2, 0, kAnyBytes},
    {.name = "allocate request", .words = 4},
    {.name = "allocate reply", .words = 4},
    {.name = "trim allocation", .words = 4},
    {.name = "release baton", .words = 2},
    {.name = "renew baton", .words = 2},
    {"collective ready", 2, 0, kAnyBytes},
    {"collective start", 3, 0, kAnyBytes},
    {"rank metadata", 3, 1, kFragmentBytesMax},
    {"rank committed", 4, 1, kAnyBytes},
    {"step failed", 2, 1, kErrorBytes},
    {"coverage", 4, 1, kFragmentBytesMax},
    {"file durable", 2, kFileDurableBytes, kFileDurableBytes},
    {.name = "missing ranks request", .words = 2},
    {"missing ranks reply", 3, 0, kMissingRanksBytes},
    {.name = "recycle file", .words = 2},
    {"step outcome", 4, 0, kFragmentBytesMax},
    {"rank lost", 1, 1, kErrorBytes},
    {.name = "leave"},
    {.name = "all left"},
}};

void write_value(MessageWriter& out, const StepId& step) {
  out.number(step.step);
  out.number(step.group);
}

StepId read_step_id(MessageReader& in) {
  StepId step;
  step.step = in.number<std::uint64_t>("step");
  step.group = in.number<std::uint64_t>("group");
  return step;
}

void write_value(MessageWriter& out, const Chunk& chunk) {
  write_value(out, chunk.step);
  out.number(chunk.origin);
  out.number(chunk.region);
  out.number(chunk.region_bytes);
  out.number(chunk.offset);
  out.number(chunk.bytes);
  out.flag(chunk.is_last);
}

Chunk read_chunk(MessageReader& in) {
  Chunk chunk;
  chunk.step = read_step_id(in);
  chunk.origin = in.number<std::uint32_t>("origin");
  chunk.region = in.number<std::uint32_t>("region");
  if (chunk.region >= UINT32_MAX) in.reject("region", chunk.region, "must be below 4294967295");
  chunk.region_bytes = in.number<std::uint64_t>("region bytes");
  if (chunk.region_bytes > kRegionBytesMax)
    in.reject("region bytes", chunk.region_bytes, "no region is that long");
  chunk.offset = in.number<std::uint64_t>("offset");
  if (chunk.offset > chunk.region_bytes)
    in.reject("offset", chunk.offset, "must lie in the region");
  chunk.bytes = in.number<std::uint64_t>("bytes");
  if (chunk.bytes > chunk.region_bytes - chunk.offset)
    in.reject("bytes", chunk.bytes, "must end in the region");
  chunk.is_last = in.flag("is last");
  return chunk;
}

/// The rank that owns the file of a compute rank or of a writer.
std::optional<RankNumber> owner_of(RankNumber rank, const AggregationMap& aggregation) {
  if (rank >= aggregation.compute_rank_count() && !aggregation.is_writer(rank)) return std::nullopt;
  return aggregation.owner_of(aggregation.file_of(rank));
}

bool is_next_hop(RankNumber from, RankNumber to, const AggregationMap& aggregation) {
  if (from >= aggregation.compute_rank_count()) return false;
  return aggregation.next_hop(from).value_or(from) == to;
}

/// True if `from` has the role that sends such messages to `me`.
bool can_send(MessageKind kind, RankNumber from, RankNumber me, const AggregationMap& aggregation) {
  const bool is_coordinator = me == AggregationMap::coordinator();
  const bool is_from_coordinator = from == AggregationMap::coordinator();
  const bool computes = from < aggregation.compute_rank_count();
  switch (kind) {
    case MessageKind::kHello:
    case MessageKind::kStepFailed:
      return is_coordinator;
    case MessageKind::kRankCommitted:
    case MessageKind::kLeave:
      return is_coordinator && computes;
    case MessageKind::kCoverage:
    case MessageKind::kFileDurable:
    case MessageKind::kMissingRanksReply:
      return is_coordinator && owner_of(from, aggregation) == from;
    case MessageKind::kOfferChunk:
    case MessageKind::kChunkData:
      return is_next_hop(from, me, aggregation);
    case MessageKind::kFetchChunk:
    case MessageKind::kReleaseChunk:
      return is_next_hop(me, from, aggregation);
    case MessageKind::kRegionCount:
      return computes && aggregation.writer_of(from) == me;
    case MessageKind::kRegionsWritten:
      return me < aggregation.compute_rank_count() && aggregation.writer_of(me) == from;
    case MessageKind::kAllocateRequest:
    case MessageKind::kTrimAllocation:
    case MessageKind::kReleaseBaton:
    case MessageKind::kRenewBaton:
    case MessageKind::kCollectiveReady:
      return aggregation.is_writer(from) && owner_of(from, aggregation) == me;
    case MessageKind::kRankMetadata:
      return computes && owner_of(from, aggregation) == me;
    case MessageKind::kAllocateReply:
    case MessageKind::kCollectiveStart:
      return aggregation.is_writer(me) && owner_of(me, aggregation) == from;
    case MessageKind::kMissingRanksRequest:
      return is_from_coordinator && owner_of(me, aggregation) == me;
    case MessageKind::kRecycleFile:
    case MessageKind::kStepOutcome:
    case MessageKind::kAllLeft:
      return is_from_coordinator;
    case MessageKind::kRankLost:
      return is_from_coordinator ||
             (me < aggregation.compute_rank_count() && aggregation.depends_on(me, from));
  }
  return false;
}

}  // namespace

Error malformed_message(MessageKind kind,
                        std::string_view field,
                        std::uint64_t value,
                        std::string_view must_be) {
  return comm::malformed_message(kRules.at(static_cast<std::size_t>(kind)).name, field, value,
                                 must_be);
}

Status ReassemblyBuffer::add(MessageKind kind,
                             std::span<const std::byte> fragment,
                             std::uint64_t announced_bytes) {
  if (!total_bytes) total_bytes = announced_bytes;
  if (*total_bytes != announced_bytes)
    return failure(
        malformed_message(kind, "total size of all fragments", announced_bytes,
                          "must be " + std::to_string(*total_bytes) + " as in the first fragment"));
  if (fragment.size() > *total_bytes - bytes.size())
    return failure(malformed_message(kind, "total size of all fragments", announced_bytes,
                                     "must not be less than the bytes received"));
  bytes.insert(bytes.end(), fragment.begin(), fragment.end());
  return {};
}

comm::Bytes to_bytes(const OfferChunkMessage& message) {
  MessageWriter out;
  write_value(out, message.chunk);
  out.number(message.number);
  out.number(message.memory.process);
  out.number(message.memory.descriptor);
  out.number(message.memory.inode);
  out.number(message.memory.bytes);
  out.number(message.memory_offset);
  return std::move(out).take();
}

Result<OfferChunkMessage> offer_chunk_from_bytes(std::span<const std::byte> bytes) {
  MessageReader in("offer chunk", bytes);
  OfferChunkMessage message;
  message.chunk = read_chunk(in);
  message.number = in.number<std::uint64_t>("number");
  message.memory.process = in.number<std::uint32_t>("memory.process");
  message.memory.descriptor = in.number<std::int32_t>("memory.descriptor");
  message.memory.inode = in.number<std::uint64_t>("memory.inode");
  message.memory.bytes = in.number<std::uint64_t>("memory.bytes");
  message.memory_offset = in.number<std::uint64_t>("memory offset");
  if (Status parsed = in.finish(); !parsed) return failure(parsed.error());
  return message;
}

comm::Bytes to_bytes(const FileDurableMessage& message) {
  MessageWriter out;
  write_value(out, message.step);
  out.number(message.file);
  out.number(message.index.offset);
  out.number(message.index.bytes);
  out.number(message.index.checksum);
  out.number(message.raw_bytes);
  out.number(message.stored_bytes);
  return std::move(out).take();
}

Result<FileDurableMessage> file_durable_from_bytes(std::span<const std::byte> bytes) {
  MessageReader in("file durable", bytes);
  FileDurableMessage message;
  message.step = read_step_id(in);
  message.file = in.number<std::uint32_t>("file");
  message.index.offset = in.number<std::uint64_t>("index.offset");
  if (message.index.offset < format::kPageBytes || message.index.offset > kRegionBytesMax)
    in.reject("index.offset", message.index.offset, "no index lies there");
  message.index.bytes = in.number<std::uint64_t>("index.bytes");
  if (message.index.bytes == 0 || message.index.bytes > format::kIndexBytesMax)
    in.reject("index.bytes", message.index.bytes, "no index is that long");
  message.index.checksum = in.number<std::uint64_t>("index.checksum");
  message.raw_bytes = in.number<std::uint64_t>("raw bytes");
  message.stored_bytes = in.number<std::uint64_t>("stored bytes");
  if (Status parsed = in.finish(); !parsed) return failure(parsed.error());
  return message;
}

comm::Bytes to_bytes(const WritePlan& plan) {
  MessageWriter out;
  out.text(to_toml(plan));
  out.text(plan.reason);
  return std::move(out).take();
}

Result<WritePlan> write_plan_from_bytes(std::span<const std::byte> bytes) {
  MessageReader in("plan", bytes);
  const std::string text = in.text("plan");
  std::string reason = in.text("reason");
  if (Status parsed = in.finish(); !parsed) return failure(parsed.error());
  auto plan = parse_write_plan(text, "plan of another rank");
  if (plan) plan->reason = std::move(reason);
  return plan;
}

comm::Bytes to_bytes(const StepOutcomeMessage& message) {
  if (!message.failure && message.changes.empty()) return {};
  MessageWriter out;
  out.bytes(message.failure ? comm::to_bytes(*message.failure) : comm::Bytes());
  out.number(std::uint64_t{message.changes.size()});
  for (const PlanChange& change : message.changes) {
    out.number(change.first_group);
    out.bytes(to_bytes(change.plan));
  }
  return std::move(out).take();
}

Result<StepOutcomeMessage> step_outcome_from_bytes(std::span<const std::byte> bytes) {
  StepOutcomeMessage message;
  if (bytes.empty()) return message;
  MessageReader in("step outcome", bytes);
  const auto error_bytes = in.bytes("error");
  std::vector<std::pair<std::uint64_t, std::span<const std::byte>>> changes(
      in.count("changes", 2 * sizeof(std::uint64_t)));
  for (auto& [first_group, plan_bytes] : changes) {
    first_group = in.number<std::uint64_t>("first group");
    plan_bytes = in.bytes("plan");
  }
  if (Status parsed = in.finish(); !parsed) return failure(parsed.error());
  for (const auto& [first_group, plan_bytes] : changes) {
    auto plan = write_plan_from_bytes(plan_bytes);
    if (!plan) return failure(plan.error());
    message.changes.push_back({first_group, std::move(*plan)});
  }
  if (error_bytes.empty()) return message;
  auto why = comm::error_from_bytes(error_bytes);
  if (!why) return failure(why.error());
  message.failure = std::move(*why);
  return message;
}

Result<std::uint32_t> word_as_u32(const comm::LinkHeader& header, std::size_t word) {
  const std::uint64_t value = header.words.at(word);
  if (value <= UINT32_MAX) return static_cast<std::uint32_t>(value);
  return failure(malformed_message(static_cast<MessageKind>(header.kind),
                                   "word " + std::to_string(word), value,
                                   "must be below 4294967296"));
}

std::optional<std::uint64_t> group_of(const comm::LinkHeader& header) {
  switch (static_cast<MessageKind>(header.kind)) {
    case MessageKind::kHello:
    case MessageKind::kRecycleFile:
    case MessageKind::kRankLost:
    case MessageKind::kLeave:
    case MessageKind::kAllLeft:
      return std::nullopt;
    default:
      return header.words[1];
  }
}

Status check_message_header(const comm::LinkHeader& header) {
  return comm::check_header(header, kRules);
}

Status check_message(const comm::LinkHeader& header,
                     RankNumber from,
                     RankNumber me,
                     const AggregationMap& aggregation) {
  if (Status checked = check_message_header(header); !checked) return checked;
  const auto kind = static_cast<MessageKind>(header.kind);
  if (can_send(kind, from, me, aggregation)) return {};
  return failure(malformed_message(kind, "sender", from,
                                   "has no role that sends this to rank " + std::to_string(me)));
}

}  // namespace forebay::write
