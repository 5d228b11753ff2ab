// SPDX-License-Identifier: Apache-2.0
// Absent numbers are UINT64_MAX, which none can be.
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
void put_choice(MessageWriter& out, const std::optional<E>& value) {
  out.number(value ? static_cast<std::uint64_t>(*value) : kAbsent);
}

template <class E>
std::optional<E> get_choice(MessageReader& in, const char* field, E last) {
  const auto value = in.number<std::uint64_t>(field);
  if (value == kAbsent || !in.is_well()) return std::nullopt;
  if (value > static_cast<std::uint64_t>(last))
    in.reject(field, value, "must name one of the values that there are");
  return static_cast<E>(value);
}

std::uint32_t get_small(MessageReader& in, const char* field) {
  const auto value = in.number<std::uint64_t>(field);
  if (value > UINT32_MAX) in.reject(field, value, "must be below 4294967296");
  return static_cast<std::uint32_t>(value);
}

void put(MessageWriter& out, const ReadPlan& plan) {
  put_choice(out, plan.access);
  out.number(plan.splinter_bytes);
  out.number(plan.budget_bytes);
  out.number(plan.window_bytes);
  out.number(plan.request_bytes);
  out.number(std::uint64_t{plan.queue_depth});
  out.number(plan.stripe_bytes);
  out.number(std::uint64_t{plan.servers});
  out.number(plan.eager_bytes.value_or(kAbsent));
  put_choice(out, std::optional(plan.retirement));
  put_choice(out, plan.agents);
  out.number(plan.agent_stripe_bytes);
  out.list(std::span<const std::uint32_t>(plan.agent_nodes));
  out.text(plan.reason);
}

ReadPlan get_plan(MessageReader& in) {
  ReadPlan plan;
  plan.access = get_choice(in, "plan.access", Access::kDirect);
  plan.splinter_bytes = in.number<std::uint64_t>("plan.splinter_bytes");
  plan.budget_bytes = in.number<std::uint64_t>("plan.budget_bytes");
  plan.window_bytes = in.number<std::uint64_t>("plan.window_bytes");
  plan.request_bytes = in.number<std::uint64_t>("plan.request_bytes");
  plan.queue_depth = get_small(in, "plan.queue_depth");
  plan.stripe_bytes = in.number<std::uint64_t>("plan.stripe_bytes");
  plan.servers = get_small(in, "plan.servers");
  const auto eager_bytes = in.number<std::uint64_t>("plan.eager_bytes");
  if (eager_bytes != kAbsent) plan.eager_bytes = eager_bytes;
  const auto retirement = get_choice(in, "plan.retirement", Retirement::kCache);
  if (!retirement.has_value()) in.reject("plan.retirement", kAbsent, "must not be absent");
  plan.retirement = retirement.value_or(Retirement{});
  plan.agents = get_choice(in, "plan.agents", Agents::kPerNode);
  plan.agent_stripe_bytes = in.number<std::uint64_t>("plan.agent_stripe_bytes");
  plan.agent_nodes = in.list<std::uint32_t>("plan.agent_nodes");
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

void put(MessageWriter& out, const Welcome& message) {
  out.number(message.protocol);
  out.number(message.row);
}

void put(MessageWriter& out, const OpenRequest& message) {
  put(out, message.handle);
  out.number(message.extent.offset);
  out.number(message.extent.size);
  put(out, message.plan);
  out.text(message.path);
  put_choice(out, message.access);
  out.text(message.access_reason);
}

void put(MessageWriter& out, const Opened& message) {
  put(out, message.handle);
  put(out, message.plan);
}

void put(MessageWriter& out, const Refused& message) {
  put(out, message.handle);
  out.bytes(comm::to_bytes(message.why));
}

void put(MessageWriter& out, const Leave& message) { put(out, message.handle); }

Welcome get_welcome(MessageReader& in) {
  Welcome message;
  message.protocol = in.number<std::uint32_t>("protocol");
  message.row = in.number<std::uint32_t>("row");
  return message;
}

OpenRequest get_open_request(MessageReader& in) {
  OpenRequest message;
  message.handle = get_handle(in);
  if (message.handle == kEverySession)
    in.reject("session.number", message.handle.number, "must name one session");
  message.extent.offset = in.number<std::uint64_t>("extent.offset");
  if (message.extent.offset > kFileBytesMax)
    in.reject("extent.offset", message.extent.offset, "no file is that long");
  message.extent.size = in.number<std::uint64_t>("extent.size");
  if (message.extent.size > kFileBytesMax - message.extent.offset)
    in.reject("extent.size", message.extent.size, "no file is that long");
  message.plan = get_plan(in);
  message.path = in.text("path");
  message.access = get_choice(in, "access", Access::kDirect);
  message.access_reason = in.text("access reason");
  return message;
}

/// A complete plan: clients map memory by it.
Opened get_opened(MessageReader& in) {
  Opened message;
  message.handle = get_handle(in);
  message.plan = get_plan(in);
  const std::uint64_t splinter_bytes = message.plan.splinter_bytes;
  if (!std::has_single_bit(splinter_bytes) || splinter_bytes > UINT32_MAX)
    in.reject("plan.splinter_bytes", splinter_bytes, "must be a power of two below 4294967296");
  return message;
}

/// The Error within is checked as a message of its own.
Result<NodeMessage> get_refused(MessageReader& in) {
  const SessionHandle handle = get_handle(in);
  const auto why = in.bytes("error");
  if (Status whole = in.end(); !whole) return failure(whole.error());
  auto error = comm::error_from(why);
  if (!error) return failure(error.error());
  return Refused{handle, std::move(*error)};
}

template <class M>
Result<NodeMessage> whole(MessageReader& in, M message) {
  if (Status all = in.end(); !all) return failure(all.error());
  return message;
}

constexpr std::array<const char*, std::variant_size_v<NodeMessage>> kNames{
    "welcome", "open", "opened", "refused", "leave"};

}  // namespace

Status check_word(const ClientWord& word, const Geometry& geometry) {
  const auto wrong = [](const char* field, std::uint64_t value, const char* must_be) -> Status {
    return failure(comm::malformed("word of a client", field, value, must_be));
  };
  if (word.splinter >= geometry.count())
    return wrong("splinter", word.splinter, "the session has fewer");
  if (word.part.first >= word.part.last || !geometry.whole(word.splinter).covers(word.part))
    return wrong("part.last", word.part.last, "must end a part of the splinter");
  if (word.kind > ClientWord::Kind::kAwait)
    return wrong("kind", static_cast<std::uint64_t>(word.kind), "must be 0 or 1");
  if (word.urgency > Urgency::kBlocked)
    return wrong("urgency", static_cast<std::uint64_t>(word.urgency), "there is no such urgency");
  if (word.precision > Precision::kExact)
    return wrong("precision", static_cast<std::uint64_t>(word.precision),
                 "there is no such precision");
  return {};
}

Status check_word(const AgentWord& word, const Geometry& geometry, std::uint64_t last) {
  const auto wrong = [](const char* field, std::uint64_t value, const char* must_be) -> Status {
    return failure(comm::malformed("word of the agent", field, value, must_be));
  };
  if (word.news > News::kMissed)
    return wrong("news", static_cast<std::uint64_t>(word.news), "must be 3 at most");
  if (word.splinter >= geometry.count())
    return wrong("splinter", word.splinter, "the session has fewer");
  if (word.number > last) return wrong("number", word.number, "no need has it yet");
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
    return failure(comm::malformed("unknown", "bytes", bytes.size(), "must be 4 at least"));
  std::memcpy(&kind, bytes.data(), sizeof kind);
  if (kind >= kNames.size())
    return failure(
        comm::malformed("unknown", "kind", kind, "must be below " + std::to_string(kNames.size())));
  MessageReader in(kNames.at(kind), bytes.subspan(sizeof kind));
  // By the place of each kind in NodeMessage.
  switch (kind) {
    case 0:
      return whole(in, get_welcome(in));
    case 1:
      return whole(in, get_open_request(in));
    case 2:
      return whole(in, get_opened(in));
    case 3:
      return get_refused(in);
    default:
      return whole(in, Leave{get_handle(in)});
  }
}

}  // namespace forebay::read
