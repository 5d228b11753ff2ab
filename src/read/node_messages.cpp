// SPDX-License-Identifier: Apache-2.0
// Absent numbers are UINT64_MAX, which is no valid value of any field.
#include "read/node_messages.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "comm/error_bytes.hpp"
#include "comm/message_bytes.hpp"

namespace forebay::read {

namespace {

using comm::MessageReader;
using comm::MessageWriter;

constexpr std::uint64_t kAbsent = UINT64_MAX;
constexpr std::uint64_t kFileBytesMax = INT64_MAX;

template <class E>
void put_enum(MessageWriter& out, const std::optional<E>& value) {
  out.number(value ? static_cast<std::uint64_t>(*value) : kAbsent);
}

template <class E>
std::optional<E> get_enum(MessageReader& in, const char* field, E last) {
  const auto value = in.number<std::uint64_t>(field);
  if (value == kAbsent || !in.is_valid()) return std::nullopt;
  if (value > static_cast<std::uint64_t>(last)) in.reject(field, value, "is no valid value");
  return static_cast<E>(value);
}

template <class E>
E get_required(MessageReader& in, const char* field, E last) {
  const auto value = get_enum(in, field, last);
  if (!value.has_value()) in.reject(field, kAbsent, "must not be absent");
  return value.value_or(E{});
}

std::uint32_t get_uint32(MessageReader& in, const char* field) {
  const auto value = in.number<std::uint64_t>(field);
  if (value > UINT32_MAX) in.reject(field, value, "must be below 4294967296");
  return static_cast<std::uint32_t>(value);
}

void put(MessageWriter& out, const ReadPlan& plan) {
  put_enum(out, plan.access);
  out.number(plan.tuning.splinter_bytes);
  out.number(plan.budget_bytes);
  out.number(plan.tuning.window_bytes);
  out.number(plan.tuning.request_bytes);
  out.number(std::uint64_t{plan.tuning.queue_depth});
  out.number(plan.tuning.stripe_bytes);
  out.number(std::uint64_t{plan.tuning.stripe_count});
  out.number(plan.readahead_bytes.value_or(kAbsent));
  put_enum(out, std::optional(plan.eviction));
  put_enum(out, std::optional(plan.mode));
  put_enum(out, std::optional(plan.pre_execution_mode));
  put_enum(out, plan.tuning.agent_scope);
  out.number(plan.tuning.agent_stripe_bytes);
  out.list(std::span<const std::uint32_t>(plan.tuning.agent_nodes));
  out.text(plan.reason);
}

ReadPlan get_plan(MessageReader& in) {
  ReadPlan plan;
  plan.access = get_enum(in, "plan.access", Access::kDirect);
  plan.tuning.splinter_bytes = in.number<std::uint64_t>("plan.splinter_bytes");
  plan.budget_bytes = in.number<std::uint64_t>("plan.budget_bytes");
  plan.tuning.window_bytes = in.number<std::uint64_t>("plan.window_bytes");
  plan.tuning.request_bytes = in.number<std::uint64_t>("plan.request_bytes");
  plan.tuning.queue_depth = get_uint32(in, "plan.queue_depth");
  plan.tuning.stripe_bytes = in.number<std::uint64_t>("plan.stripe_bytes");
  plan.tuning.stripe_count = get_uint32(in, "plan.stripe_count");
  const auto readahead_bytes = in.number<std::uint64_t>("plan.readahead_bytes");
  if (readahead_bytes != kAbsent) plan.readahead_bytes = readahead_bytes;
  plan.eviction = get_required(in, "plan.eviction", EvictionPolicy::kLru);
  plan.mode = get_required(in, "plan.mode", Mode::kOnDemand);
  plan.pre_execution_mode = get_required(in, "plan.pre_execution_mode", PreExecutionMode::kAgent);
  plan.tuning.agent_scope = get_enum(in, "plan.agent_scope", AgentScope::kPerNode);
  plan.tuning.agent_stripe_bytes = in.number<std::uint64_t>("plan.agent_stripe_bytes");
  plan.tuning.agent_nodes = in.list<std::uint32_t>("plan.agent_nodes");
  plan.reason = in.text("plan.reason");
  return plan;
}

void put(MessageWriter& out, const SessionHandle& handle) {
  out.number(handle.runtime);
  out.number(handle.number);
}

SessionHandle get_handle(MessageReader& in) {
  SessionHandle handle;
  handle.runtime = in.number<std::uint64_t>("session.runtime");
  handle.number = in.number<std::uint64_t>("session.number");
  return handle;
}

void put(MessageWriter& out, const ByteRange& range) {
  out.number(range.offset);
  out.number(range.size);
}

ByteRange get_range(MessageReader& in) {
  ByteRange range;
  range.offset = in.number<std::uint64_t>("range.offset");
  if (range.offset > kFileBytesMax) in.reject("range.offset", range.offset, "no file is that long");
  range.size = in.number<std::uint64_t>("range.size");
  if (range.size > kFileBytesMax - range.offset)
    in.reject("range.size", range.size, "no file is that long");
  return range;
}

void put(MessageWriter& out, const ConnectReply& message) {
  out.number(message.protocol);
  out.number(message.client_index);
}

void put(MessageWriter& out, const OpenSessionRequest& message) {
  put(out, message.handle);
  put(out, message.extent);
  put(out, message.plan);
  out.text(message.path);
  put_enum(out, message.access);
  out.text(message.access_reason);
}

void put(MessageWriter& out, const OpenSessionReply& message) {
  put(out, message.handle);
  put(out, message.plan);
}

void put(MessageWriter& out, const ErrorReply& message) {
  put(out, message.handle);
  out.bytes(comm::to_bytes(message.error));
}

void put(MessageWriter& out, const CloseSessionRequest& message) { put(out, message.handle); }

void put(MessageWriter& out, const InvalidateRequest& message) {
  put(out, message.handle);
  put(out, message.range);
}

void put(MessageWriter& out, const DoneReply& message) { put(out, message.handle); }

void put(MessageWriter& out, const StartFunctionRequest& message) {
  put(out, message.handle);
  out.text(message.name);
  out.bytes(message.argument);
}

StartFunctionRequest get_start_function_request(MessageReader& in) {
  StartFunctionRequest message;
  message.handle = get_handle(in);
  message.name = in.text("name");
  const auto argument = in.bytes("argument");
  message.argument.assign(argument.begin(), argument.end());
  return message;
}

ConnectReply get_connect_reply(MessageReader& in) {
  ConnectReply message;
  message.protocol = in.number<std::uint32_t>("protocol");
  message.client_index = in.number<std::uint32_t>("client_index");
  return message;
}

OpenSessionRequest get_open_session_request(MessageReader& in) {
  OpenSessionRequest message;
  message.handle = get_handle(in);
  if (message.handle == kAllSessions)
    in.reject("session.number", message.handle.number, "must name one session");
  message.extent = get_range(in);
  message.plan = get_plan(in);
  message.path = in.text("path");
  message.access = get_enum(in, "access", Access::kDirect);
  message.access_reason = in.text("access reason");
  return message;
}

/// The plan has no open values: clients map memory by it.
OpenSessionReply get_open_session_reply(MessageReader& in) {
  OpenSessionReply message;
  message.handle = get_handle(in);
  message.plan = get_plan(in);
  const std::uint64_t splinter_bytes = message.plan.tuning.splinter_bytes;
  if (!std::has_single_bit(splinter_bytes) || splinter_bytes > UINT32_MAX)
    in.reject("plan.splinter_bytes", splinter_bytes, "must be a power of two below 4294967296");
  return message;
}

/// The Error inside is checked as a message on its own.
Result<NodeMessage> get_error_reply(MessageReader& in) {
  const SessionHandle handle = get_handle(in);
  const auto why = in.bytes("error");
  if (Status parsed = in.finish(); !parsed) return failure(parsed.error());
  auto error = comm::error_from_bytes(why);
  if (!error) return failure(error.error());
  return ErrorReply{handle, std::move(*error)};
}

template <class M>
Result<NodeMessage> finish_decoding(MessageReader& in, M message) {
  if (Status complete = in.finish(); !complete) return failure(complete.error());
  return message;
}

constexpr std::array<const char*, std::variant_size_v<NodeMessage>> kMessageNames{
    "ConnectReply",        "OpenSessionRequest", "OpenSessionReply", "ErrorReply",
    "CloseSessionRequest", "InvalidateRequest",  "DoneReply",        "StartFunctionRequest"};

}  // namespace

Status check_ring_message(const LoadRequest& ring_message, const Geometry& geometry) {
  const auto wrong = [](const char* field, std::uint64_t value, const char* must_be) -> Status {
    return failure(comm::malformed_message("LoadRequest", field, value, must_be));
  };
  if (ring_message.splinter >= geometry.count())
    return wrong("splinter", ring_message.splinter, "the session has fewer");
  if (ring_message.part.first >= ring_message.part.end ||
      !geometry.full_part(ring_message.splinter).covers(ring_message.part))
    return wrong("part.end", ring_message.part.end, "must be the end of a part of the splinter");
  if (ring_message.kind > LoadRequest::Kind::kObserve)
    return wrong("kind", static_cast<std::uint64_t>(ring_message.kind), "must be 0 to 3");
  if (ring_message.priority > LoadPriority::kBlocked)
    return wrong("priority", static_cast<std::uint64_t>(ring_message.priority), "must be 0 to 4");
  if (ring_message.granularity > LoadGranularity::kExact)
    return wrong("granularity", static_cast<std::uint64_t>(ring_message.granularity),
                 "must be 0 or 1");
  return {};
}

Status check_ring_message(const LoadNotification& ring_message,
                          const Geometry& geometry,
                          std::uint64_t last) {
  const auto wrong = [](const char* field, std::uint64_t value, const char* must_be) -> Status {
    return failure(comm::malformed_message("LoadNotification", field, value, must_be));
  };
  if (ring_message.kind > NotificationKind::kOverflow)
    return wrong("kind", static_cast<std::uint64_t>(ring_message.kind), "must be 3 at most");
  if (ring_message.splinter >= geometry.count())
    return wrong("splinter", ring_message.splinter, "the session has fewer");
  if (ring_message.sequence > last)
    return wrong("sequence", ring_message.sequence, "no request has this number yet");
  return {};
}

std::vector<std::byte> to_bytes(const NodeMessage& message) {
  MessageWriter out;
  out.number(static_cast<std::uint32_t>(message.index()));
  std::visit([&](const auto& one) { put(out, one); }, message);
  return std::move(out).take();
}

Result<NodeMessage> message_from(std::span<const std::byte> bytes) {
  std::uint32_t kind = 0;
  if (bytes.size() < sizeof kind)
    return failure(comm::malformed_message("unknown", "bytes", bytes.size(), "must be 4 at least"));
  std::memcpy(&kind, bytes.data(), sizeof kind);
  if (kind >= kMessageNames.size())
    return failure(comm::malformed_message(
        "unknown", "kind", kind, "must be below " + std::to_string(kMessageNames.size())));
  MessageReader in(kMessageNames.at(kind), bytes.subspan(sizeof kind));
  // In the order of the kinds in NodeMessage.
  switch (kind) {
    case 0:
      return finish_decoding(in, get_connect_reply(in));
    case 1:
      return finish_decoding(in, get_open_session_request(in));
    case 2:
      return finish_decoding(in, get_open_session_reply(in));
    case 3:
      return get_error_reply(in);
    case 4:
      return finish_decoding(in, CloseSessionRequest{get_handle(in)});
    case 5: {
      const SessionHandle handle = get_handle(in);
      return finish_decoding(in, InvalidateRequest{handle, get_range(in)});
    }
    case 6:
      return finish_decoding(in, DoneReply{get_handle(in)});
    default:
      return finish_decoding(in, get_start_function_request(in));
  }
}

}  // namespace forebay::read
