// SPDX-License-Identifier: Apache-2.0
// One thread sleeps in one place for the bell, the channel, the agent's end and its own. It wakes
// those who wait in this process; the words themselves are sent by whoever has something to say.
#include "read/node_client.hpp"

#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/service_thread.hpp"
#include "comm/message_bytes.hpp"
#include "shm/process_watch.hpp"
#include "shm/readiness.hpp"

namespace forebay::read {

namespace {

constexpr std::size_t kFlagBytes = shm::kLinesApartBytes;
constexpr std::size_t kWelcomeDescriptors = 3;
constexpr std::size_t kOpenedDescriptors = 3;
/// The answer to a message on this machine.
constexpr std::chrono::seconds kSendPatience{10};

Error agent_gone(std::string cause) {
  return Error({.kind = ErrorClass::kClosed,
                .operation = "ask the agent of this node",
                .cause = std::move(cause)});
}

tl::unexpected<Error> unwelcome(ErrorClass kind, std::string cause) {
  return failure(
      {.kind = kind, .operation = "connect to the agent of this node", .cause = std::move(cause)});
}

/// Agents of other nodes know the file by it.
std::string absolute_path(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::absolute(path, failed);
  return failed ? path : absolute.string();
}

Result<shm::Message> first_message(shm::Channel& channel, Deadline deadline) {
  auto message = channel.receive(deadline);
  if (!message) return failure(message.error());
  if (!*message) return unwelcome(ErrorClass::kLimit, "it did not answer in time");
  return std::move(**message);
}

}  // namespace

std::size_t NodeLine::bytes() noexcept {
  return kFlagBytes + shm::ring_bytes<ClientWord>(kNodeRingWords) +
         shm::ring_bytes<AgentWord>(kNodeRingWords);
}

std::span<std::byte> NodeLine::to_agent(const shm::SharedMemory& memory) noexcept {
  return memory.bytes().subspan(kFlagBytes, shm::ring_bytes<ClientWord>(kNodeRingWords));
}

std::span<std::byte> NodeLine::to_client(const shm::SharedMemory& memory) noexcept {
  return memory.bytes().subspan(kFlagBytes + shm::ring_bytes<ClientWord>(kNodeRingWords),
                                shm::ring_bytes<AgentWord>(kNodeRingWords));
}

std::atomic<std::uint32_t>& NodeLine::released(const shm::SharedMemory& memory) noexcept {
  return *reinterpret_cast<std::atomic<std::uint32_t>*>(memory.bytes().data());
}

Result<std::shared_ptr<NodeClient>> NodeClient::connect(const std::string& name,
                                                        Deadline deadline) {
  auto channel = shm::Channel::connect(name, deadline);
  if (!channel) return failure(channel.error());
  auto message = first_message(*channel, deadline);
  if (!message) return failure(message.error());
  const auto decoded = message_from(message->bytes);
  if (!decoded) return failure(decoded.error());
  const auto* const welcome = std::get_if<Welcome>(&*decoded);
  if (welcome == nullptr || message->descriptors.size() != kWelcomeDescriptors)
    return unwelcome(ErrorClass::kDamage, "its first message is not understood");
  if (welcome->protocol != kNodeProtocol) {
    return unwelcome(ErrorClass::kUnsupported,
                     "it is of another version of Forebay: the ranks of a node must load the same");
  }
  auto& descriptors = message->descriptors;
  auto memory = shm::SharedMemory::attach(std::move(descriptors[0]), NodeLine::bytes(),
                                          shm::Protection::kReadWrite);
  if (!memory) return failure(memory.error());
  auto own = shm::Doorbell::from(std::move(descriptors[1]));
  if (!own) return failure(own.error());
  auto other = shm::Doorbell::from(std::move(descriptors[2]));
  if (!other) return failure(other.error());
  auto words =
      Words::attach(NodeLine::to_agent(*memory), NodeLine::to_client(*memory), std::move(*other));
  if (!words) return failure(words.error());
  std::shared_ptr<NodeClient> client(new NodeClient(
      std::move(*channel), std::move(*memory), std::move(*own), std::move(*words), welcome->row));
  if (auto started = client->start(); !started) return failure(started.error());
  return client;
}

NodeClient::NodeClient(shm::Channel channel,
                       shm::SharedMemory memory,
                       shm::Doorbell own,
                       Words words,
                       std::uint32_t row)
    : memory_(std::move(memory)),
      own_(std::move(own)),
      row_(row),
      channel_(std::move(channel)),
      words_(std::move(words)) {}

Status NodeClient::start() {
  auto bell = shm::Doorbell::create();
  if (!bell) return failure(bell.error());
  stop_ = std::move(*bell);
  // Without one, the end of the channel tells as well, unless the agent has forked.
  if (channel_.peer().pid > 0) {
    if (auto watched = shm::watch_process(channel_.peer().pid))
      agent_process_ = std::move(*watched);
  }
  auto thread = start_service_thread("forebay-guest", [this] { run(); });
  if (!thread) return failure(thread.error());
  thread_ = std::move(*thread);
  return {};
}

NodeClient::~NodeClient() { stop(); }

void NodeClient::stop() {
  if (thread_.joinable()) {
    stop_.ring();
    thread_.join();
  }
  abandon(agent_gone("this Runtime has ended"));
}

void NodeClient::run() {
  const std::array<int, 4> descriptors{stop_.descriptor().get(), own_.descriptor().get(),
                                       channel_.descriptor().get(), agent_process_.get()};
  while (pass_words()) {
    const auto ready = shm::wait_readable(descriptors, {});
    if (!ready || *ready == 0) return;
    if (*ready == 1) own_.clear();
    if (*ready >= 2 && !receive_messages()) {
      take_words();  // what it said before it ended
      abandon(agent_gone("it has ended"));
      return;
    }
  }
  abandon(agent_gone("its ring is damaged"));
}

/// Words that are there, and those of ours that had no room; false if a ring is damaged.
bool NodeClient::pass_words() {
  while (true) {
    if (!take_words()) return false;
    const std::lock_guard lock(mutex_);
    while (!backlog_.empty()) {
      const shm::RingOutcome outcome = words_.try_push(backlog_.front());
      if (outcome == shm::RingOutcome::kBroken) return false;
      if (outcome == shm::RingOutcome::kFull) break;
      backlog_.pop_front();
    }
    const auto awaited = backlog_.empty() ? shm::Awaited::kMessage : shm::Awaited::kEither;
    if (words_.may_sleep(awaited)) return true;
  }
}

bool NodeClient::take_words() {
  while (true) {
    AgentWord word;
    {
      const std::lock_guard lock(mutex_);
      const shm::RingOutcome outcome = words_.try_pop(word);
      if (outcome != shm::RingOutcome::kDone) return outcome == shm::RingOutcome::kEmpty;
    }
    if (const Status good = tell_guests(word); !good) {
      abandon(good.error());
      return false;
    }
  }
}

/// Fails if the word is malformed.
Status NodeClient::tell_guests(const AgentWord& word) {
  std::vector<std::shared_ptr<SessionGuest>> told;
  {
    const std::lock_guard lock(mutex_);
    if (word.news == News::kMissed) {
      for (const auto& [number, guest] : guests_)
        told.push_back(guest.lock());
    } else if (const auto found = guests_.find(word.session); found != guests_.end()) {
      told.push_back(found->second.lock());
    }
  }
  for (const auto& guest : told) {
    if (!guest) continue;
    if (Status taken = guest->tell(word); !taken) return taken;
  }
  return {};
}

/// False if the agent is gone.
bool NodeClient::receive_messages() {
  while (true) {
    auto message = channel_.receive(kDoNotBlock);
    if (message && !*message) break;
    if (message) {
      const Status taken = take_message(std::move(**message));
      if (taken) continue;
      abandon(with_note(taken.error(), "sent by the agent of this node, process " +
                                           std::to_string(channel_.peer().pid)));
      channel_.end();
      return false;
    }
    if (message.error().kind() == ErrorClass::kClosed) return false;
    // An answer is lost, perhaps for want of descriptors.
    refuse_openings(message.error());
  }
  // Nothing to receive, and woken: by the end of the process, while somebody else holds its socket.
  const std::array<int, 1> process{agent_process_.get()};
  return process[0] < 0 || !shm::wait_readable(process, kDoNotBlock);
}

/// Which session it was about cannot be told: each of them may try again.
void NodeClient::refuse_openings(const Error& why) {
  const std::lock_guard lock(mutex_);
  for (auto& [number, opening] : openings_) {
    if (!opening.answer) opening.answer = Refused{{.number = number}, why};
  }
  answered_.notify_all();
}

/// Fails if the message is malformed.
Status NodeClient::take_message(shm::Message message) {
  auto decoded = message_from(message.bytes);
  if (!decoded) return failure(decoded.error());
  std::optional<SessionHandle> handle;
  if (const auto* const opened = std::get_if<Opened>(&*decoded)) handle = opened->handle;
  if (const auto* const refused = std::get_if<Refused>(&*decoded)) {
    if (refused->handle == kEverySession) {
      refuse_openings(refused->why);
      return {};
    }
    handle = refused->handle;
  }
  if (!handle)
    return failure(comm::malformed("of an agent", "kind", decoded->index(),
                                   "only clients send messages of this kind"));
  const std::lock_guard lock(mutex_);
  const auto opening = openings_.find(handle->number);
  if (opening == openings_.end()) return {};
  opening->second = {std::move(*decoded), std::move(message.descriptors)};
  answered_.notify_all();
  return {};
}

void NodeClient::abandon(const Error& why) {
  std::unordered_map<std::uint64_t, std::weak_ptr<SessionGuest>> guests;
  {
    const std::lock_guard lock(mutex_);
    if (!gone_) gone_ = why;
    guests.swap(guests_);
    answered_.notify_all();
  }
  for (const auto& [number, weak] : guests) {
    if (const auto guest = weak.lock()) guest->orphan();
  }
}

Status NodeClient::request(const SessionGuest::Seat& seat) {
  {
    const std::lock_guard lock(mutex_);
    if (gone_) return failure(*gone_);
    openings_.try_emplace(seat.handle.number);
  }
  const auto bytes = to_bytes(OpenRequest{.handle = seat.handle,
                                          .extent = seat.extent,
                                          .plan = seat.plan,
                                          .path = absolute_path(seat.file->path()),
                                          .access = seat.access,
                                          .access_reason = seat.access_reason});
  const std::array<int, 1> file{seat.file->descriptor()};
  const std::span<const int> descriptors(file.data(), file[0] >= 0 ? 1 : 0);
  const std::lock_guard lock(channel_mutex_);
  return channel_.send(bytes, descriptors, std::chrono::steady_clock::now() + kSendPatience);
}

Result<NodeClient::Opening> NodeClient::wait_for_answer(const SessionHandle& handle) {
  std::unique_lock lock(mutex_);
  Opening& opening = openings_[handle.number];
  answered_.wait(lock, [&] { return opening.answer.has_value() || gone_.has_value(); });
  Opening answered = std::move(opening);
  openings_.erase(handle.number);
  if (!answered.answer) return failure(*gone_);
  return answered;
}

Result<std::shared_ptr<SessionGuest>> NodeClient::open(SessionGuest::Seat seat) {
  if (auto requested = request(seat); !requested) {
    const std::lock_guard lock(mutex_);
    openings_.erase(seat.handle.number);
    return failure(requested.error());
  }
  auto answered = wait_for_answer(seat.handle);
  if (!answered) return failure(answered.error());
  if (const auto* const refused = std::get_if<Refused>(&*answered->answer)) {
    const Error why = refused->why;
    leave(seat.handle);  // the agent may think that we have it
    return failure(why);
  }
  auto& opened = std::get<Opened>(*answered->answer);
  if (answered->descriptors.size() != kOpenedDescriptors) {
    leave(seat.handle);
    return failure(
        {.kind = ErrorClass::kLimit,
         .operation = "open a read session",
         .cause = "descriptors of the node's agent were lost: this process has no more"});
  }
  seat.plan = std::move(opened.plan);
  seat.line = shared_from_this();
  auto& descriptors = answered->descriptors;
  const SessionHandle handle = seat.handle;
  auto guest = SessionGuest::open(std::move(seat), {.window = std::move(descriptors[0]),
                                                    .table = std::move(descriptors[1]),
                                                    .ledger = std::move(descriptors[2]),
                                                    .row = row_});
  if (!guest) {
    leave(handle);
    return guest;
  }
  std::unique_lock lock(mutex_);
  guests_[handle.number] = *guest;
  const bool is_orphan = gone_.has_value();
  lock.unlock();
  if (is_orphan) (*guest)->orphan();
  return guest;
}

void NodeClient::send(const ClientWord& word) noexcept {
  const std::lock_guard lock(mutex_);
  if (gone_) return;
  // Words keep their order; the thread passes on what has to wait.
  if (!backlog_.empty() || words_.try_push(word) != shm::RingOutcome::kDone) {
    backlog_.push_back(word);
    if (backlog_.size() == 1) own_.ring();
  }
}

void NodeClient::tell_of_released_memory() noexcept {
  if (NodeLine::released(memory_).exchange(1, std::memory_order_seq_cst) != 0) return;
  // A word that says nothing wakes the agent, whose flag it is to look at.
  send({.session = UINT64_MAX});
}

void NodeClient::leave(const SessionHandle& session) noexcept {
  {
    const std::lock_guard lock(mutex_);
    guests_.erase(session.number);
    if (gone_) return;
  }
  const std::lock_guard lock(channel_mutex_);
  static_cast<void>(channel_.send(to_bytes(Leave{session}), {},
                                  std::chrono::steady_clock::now() + kSendPatience));
}

}  // namespace forebay::read
