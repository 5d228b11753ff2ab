// SPDX-License-Identifier: Apache-2.0
// Numbers as they lie in memory (both ends are on one machine), texts with their length before
// them, absent values with a zero before them.
#include "read/node_messages.hpp"

#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "comm/error_bytes.hpp"

namespace forebay::read {

namespace {

class Packer {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    const auto raw = std::as_bytes(std::span(&value, 1));
    bytes_.insert(bytes_.end(), raw.begin(), raw.end());
  }
  void put_bytes(std::span<const std::byte> bytes) {
    put(std::uint64_t{bytes.size()});
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void put_text(const std::string& text) { put_bytes(std::as_bytes(std::span(text))); }

  std::vector<std::byte> take() && { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// What is missing is zero or empty; failed() tells afterwards.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
    requires std::is_trivially_copyable_v<T>
  T get() {
    T value{};
    if (bytes_.size() < sizeof(T)) {
      failed_ = true;
      return value;
    }
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_ = bytes_.subspan(sizeof(T));
    return value;
  }
  std::span<const std::byte> get_bytes() {
    const auto size = get<std::uint64_t>();
    if (size > bytes_.size()) failed_ = true;
    if (failed_) return {};
    const auto taken = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return taken;
  }
  std::string get_text() {
    const auto raw = get_bytes();
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  }
  /// Also if anything is left over.
  bool failed() const { return failed_ || !bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
  bool failed_ = false;
};

/// The numbers of a plan; absent ones are UINT64_MAX, which none can be.
struct PlanNumbers {
  std::uint64_t access = 0;
  std::uint64_t splinter_bytes = 0;
  std::uint64_t budget_bytes = 0;
  std::uint64_t window_bytes = 0;
  std::uint64_t request_bytes = 0;
  std::uint64_t queue_depth = 0;
  std::uint64_t stripe_bytes = 0;
  std::uint64_t servers = 0;
  std::uint64_t eager_bytes = 0;
  std::uint64_t retirement = 0;
  std::uint64_t agents = 0;
  std::uint64_t agent_stripe_bytes = 0;
};
constexpr std::uint64_t kAbsent = UINT64_MAX;

void put(Packer& packer, const ReadPlan& plan) {
  packer.put(PlanNumbers{
      .access = plan.access ? static_cast<std::uint64_t>(*plan.access) : kAbsent,
      .splinter_bytes = plan.splinter_bytes,
      .budget_bytes = plan.budget_bytes,
      .window_bytes = plan.window_bytes,
      .request_bytes = plan.request_bytes,
      .queue_depth = plan.queue_depth,
      .stripe_bytes = plan.stripe_bytes,
      .servers = plan.servers,
      .eager_bytes = plan.eager_bytes.value_or(kAbsent),
      .retirement = static_cast<std::uint64_t>(plan.retirement),
      .agents = plan.agents ? static_cast<std::uint64_t>(*plan.agents) : kAbsent,
      .agent_stripe_bytes = plan.agent_stripe_bytes,
  });
  packer.put_bytes(std::as_bytes(std::span(plan.agent_nodes)));
  packer.put_text(plan.reason);
}

ReadPlan get_plan(Unpacker& unpacker) {
  const auto numbers = unpacker.get<PlanNumbers>();
  ReadPlan plan{.splinter_bytes = numbers.splinter_bytes,
                .budget_bytes = numbers.budget_bytes,
                .window_bytes = numbers.window_bytes,
                .request_bytes = numbers.request_bytes,
                .queue_depth = static_cast<std::uint32_t>(numbers.queue_depth),
                .stripe_bytes = numbers.stripe_bytes,
                .servers = static_cast<std::uint32_t>(numbers.servers),
                .retirement = static_cast<Retirement>(numbers.retirement)};
  if (numbers.access != kAbsent) plan.access = static_cast<Access>(numbers.access);
  if (numbers.agents != kAbsent) plan.agents = static_cast<Agents>(numbers.agents);
  if (numbers.eager_bytes != kAbsent) plan.eager_bytes = numbers.eager_bytes;
  plan.agent_stripe_bytes = numbers.agent_stripe_bytes;
  const auto nodes = unpacker.get_bytes();
  plan.agent_nodes.resize(nodes.size() / sizeof(std::uint32_t));
  if (!plan.agent_nodes.empty())
    std::memcpy(plan.agent_nodes.data(), nodes.data(),
                plan.agent_nodes.size() * sizeof(std::uint32_t));
  plan.reason = unpacker.get_text();
  return plan;
}

void put(Packer& packer, const Welcome& message) { packer.put(message); }

void put(Packer& packer, const OpenRequest& message) {
  packer.put(message.handle);
  packer.put(message.extent);
  put(packer, message.plan);
  packer.put_text(message.path);
  packer.put(message.access ? static_cast<std::uint64_t>(*message.access) : kAbsent);
  packer.put_text(message.access_reason);
}

void put(Packer& packer, const Opened& message) {
  packer.put(message.handle);
  put(packer, message.plan);
}

void put(Packer& packer, const Refused& message) {
  packer.put(message.handle);
  packer.put_bytes(comm::to_bytes(message.why));
}

void put(Packer& packer, const Leave& message) { packer.put(message.handle); }

OpenRequest get_open_request(Unpacker& unpacker) {
  OpenRequest message;
  message.handle = unpacker.get<SessionHandle>();
  message.extent = unpacker.get<ByteRange>();
  message.plan = get_plan(unpacker);
  message.path = unpacker.get_text();
  const auto access = unpacker.get<std::uint64_t>();
  if (access != kAbsent) message.access = static_cast<Access>(access);
  message.access_reason = unpacker.get_text();
  return message;
}

Opened get_opened(Unpacker& unpacker) {
  Opened message;
  message.handle = unpacker.get<SessionHandle>();
  message.plan = get_plan(unpacker);
  return message;
}

tl::unexpected<Error> damaged() {
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "read a message of this node",
                  .cause = "it has another form than this version of Forebay writes"});
}

/// By the place of each kind in NodeMessage.
Result<NodeMessage> get_message(std::uint32_t kind, Unpacker& unpacker) {
  switch (kind) {
    case 0:
      return unpacker.get<Welcome>();
    case 1:
      return get_open_request(unpacker);
    case 2:
      return get_opened(unpacker);
    case 3: {
      const auto handle = unpacker.get<SessionHandle>();
      const auto why = unpacker.get_bytes();
      if (unpacker.failed()) return damaged();
      return Refused{handle, comm::error_from(why)};
    }
    case 4:
      return Leave{unpacker.get<SessionHandle>()};
    default:
      return damaged();
  }
}

}  // namespace

std::vector<std::byte> to_bytes(const NodeMessage& message) {
  Packer packer;
  packer.put(static_cast<std::uint32_t>(message.index()));
  std::visit([&](const auto& one) { put(packer, one); }, message);
  return std::move(packer).take();
}

Result<NodeMessage> message_from(std::span<const std::byte> bytes) {
  Unpacker unpacker(bytes);
  const auto kind = unpacker.get<std::uint32_t>();
  if (bytes.size() < sizeof kind) return damaged();
  auto message = get_message(kind, unpacker);
  if (message && unpacker.failed()) return damaged();
  return message;
}

}  // namespace forebay::read
