// SPDX-License-Identifier: Apache-2.0
// Everything of a client hangs on its row: its line, its marks in the ledgers, and the sessions it
// has open. A client ends when its channel ends or its process does, whichever is noticed first.
#include "read/node_agent.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <set>
#include <utility>

#include <sys/epoll.h>

#include "comm/message_bytes.hpp"
#include "read/node_client.hpp"
#include "shm/doorbell.hpp"
#include "shm/duplex.hpp"
#include "shm/process_watch.hpp"
#include "shm/shared_memory.hpp"

namespace forebay::read {

namespace {

constexpr std::uint64_t kListenerKey = UINT64_MAX;
constexpr std::size_t kEventsMax = 64;
constexpr std::chrono::milliseconds kDrainTime{2};

/// Books that other processes can map.
struct SharedBooks {
  shm::SharedMemory table;
  shm::SharedMemory ledger;
};

Result<Books> make_shared_books(const shm::BooksShape& shape, std::shared_ptr<SharedBooks>& kept) {
  auto table = shm::SharedMemory::create("forebay-table", shm::SessionBooks::table_bytes(shape));
  if (!table) return failure(table.error());
  auto ledger = shm::SharedMemory::create("forebay-ledger", shm::SessionBooks::ledger_bytes(shape));
  if (!ledger) return failure(ledger.error());
  auto memory = std::make_shared<SharedBooks>(SharedBooks{std::move(*table), std::move(*ledger)});
  kept = memory;
  const auto books = shm::SessionBooks::begin(shape, memory->table.bytes(), memory->ledger.bytes());
  return Books{std::move(memory), books};
}

Error not_understood(const SessionHandle& handle, std::string cause) {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "open session " + std::to_string(handle.number) + " of this node",
                .cause = std::move(cause)});
}

}  // namespace

/// The agent's end of a client.
class NodeAgent::ClientLine final : public Client {
 public:
  using Words = shm::Duplex<AgentWord, ClientWord>;

  static Result<std::unique_ptr<ClientLine>> make(shm::Channel channel, std::uint32_t row) {
    auto memory = shm::SharedMemory::create("forebay-line", NodeLine::bytes());
    if (!memory) return failure(memory.error());
    auto own = shm::Doorbell::create();
    if (!own) return failure(own.error());
    auto bell = shm::Doorbell::create();
    if (!bell) return failure(bell.error());
    auto passed_on = bell->descriptor().duplicate();
    if (!passed_on) return failure(passed_on.error());
    auto words =
        Words::attach(NodeLine::to_client(*memory), NodeLine::to_agent(*memory), std::move(*bell));
    if (!words) return failure(words.error());
    auto line = std::unique_ptr<ClientLine>(
        new ClientLine(std::move(channel), std::move(*memory), std::move(*own), std::move(*words)));
    line->row_ = row;
    if (auto welcomed = line->welcome(*passed_on); !welcomed) return failure(welcomed.error());
    if (line->channel_.peer().pid > 0) {
      if (auto process = shm::watch_process(line->channel_.peer().pid))
        line->process_ = std::move(*process);
    }
    return line;
  }

  std::uint32_t row() const noexcept { return row_; }
  shm::Channel& channel() noexcept { return channel_; }
  const shm::Doorbell& bell() const noexcept { return own_; }
  int process() const noexcept { return process_.get(); }
  /// Whether its process has, as far as can be told.
  bool has_ended() const noexcept {
    const std::array<int, 1> process{process_.get()};
    return process[0] >= 0 && shm::wait_readable(process, kDoNotBlock).has_value();
  }
  std::array<int, 3> watched() const noexcept {
    return {channel_.descriptor().get(), own_.descriptor().get(), process_.get()};
  }
  bool is_hung_up() const noexcept { return hung_up_; }
  void set_hung_up() noexcept { hung_up_ = true; }
  std::set<std::uint64_t>& sessions() noexcept { return sessions_; }

  void tell(const AgentWord& word) noexcept override { push(word); }

  /// kBroken also if what we write to it cannot be read.
  shm::RingOutcome next_word(ClientWord& word) noexcept {
    const std::lock_guard lock(mutex_);
    return broken_ ? shm::RingOutcome::kBroken : words_.try_pop(word);
  }
  /// Also passes on that words were missed, once there is room to say so. True: nothing to do now.
  bool may_sleep() noexcept {
    const std::lock_guard lock(mutex_);
    if (missed_) missed_ = !try_push({.news = News::kMissed});
    if (broken_) return false;
    return words_.may_sleep(missed_ ? shm::Awaited::kEither : shm::Awaited::kMessage);
  }
  /// After a malformed message: the client receives the reason, and its ring counts as broken.
  void reject(const Error& why) {
    const Error sent = with_note(why, "sent by process " + std::to_string(channel_.peer().pid));
    static_cast<void>(channel_.send(to_bytes(Refused{kEverySession, sent})));
    const std::lock_guard lock(mutex_);
    broken_ = true;
  }
  bool take_released() const noexcept {
    return NodeLine::released(memory_).exchange(0, std::memory_order_seq_cst) != 0;
  }

 private:
  ClientLine(shm::Channel channel, shm::SharedMemory memory, shm::Doorbell own, Words words)
      : channel_(std::move(channel)),
        memory_(std::move(memory)),
        own_(std::move(own)),
        words_(std::move(words)) {}

  Status welcome(const Descriptor& bell) {
    const auto memory = memory_.share(shm::Protection::kReadWrite);
    if (!memory) return failure(memory.error());
    const std::array<int, 3> descriptors{memory->get(), bell.get(), own_.descriptor().get()};
    return channel_.send(to_bytes(Welcome{.row = row_}), descriptors);
  }

  void push(const AgentWord& word) noexcept {
    const std::lock_guard lock(mutex_);
    if (missed_ || !try_push(word)) missed_ = true;
    if (missed_) own_.ring();  // may_sleep() sees to it
  }
  /// Under the lock.
  bool try_push(const AgentWord& word) noexcept {
    const shm::RingOutcome outcome = words_.try_push(word);
    if (outcome == shm::RingOutcome::kBroken) broken_ = true;
    return outcome == shm::RingOutcome::kDone;
  }

  shm::Channel channel_;
  const shm::SharedMemory memory_;
  const shm::Doorbell own_;
  Descriptor process_;
  std::uint32_t row_ = 0;
  std::set<std::uint64_t> sessions_;
  bool hung_up_ = false;
  std::mutex mutex_;  // guards the rest: news may come from any thread
  Words words_;
  bool missed_ = false;
  bool broken_ = false;
};

struct NodeAgent::Shared {
  /// Success for one who means this session by its request.
  Status admits(const OpenRequest& request) const {
    if (host->geometry().extent() == request.extent)
      return check_plan ? check_plan(request.plan) : Status();
    return failure(not_understood(
        request.handle,
        "ranks of this node mean different extents by it: all open their sessions in the same "
        "order"));
  }

  std::shared_ptr<SessionHost> host;
  std::function<Status(const ReadPlan&)> check_plan;
  std::shared_ptr<SharedBooks> books;
  std::uint32_t clients = 0;  ///< that have it open
};

Result<std::shared_ptr<NodeAgent>> NodeAgent::start(std::uint32_t clients_max, OpenHost open_host) {
  std::shared_ptr<NodeAgent> agent(new NodeAgent(clients_max, std::move(open_host)));
  auto listener = shm::Listener::open();
  if (!listener) return failure(listener.error());
  agent->name_ = listener->name();
  agent->listener_ = std::move(*listener);
  agent->events_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!agent->events_) {
    return failure(system_error({.operation = "listen to the clients of this node"}, errno));
  }
  if (auto watched = agent->watch(agent->listener_.descriptor().get(), kListenerKey); !watched)
    return failure(watched.error());
  return agent;
}

NodeAgent::NodeAgent(std::uint32_t clients_max, OpenHost open_host)
    : clients_max_(clients_max), open_host_(std::move(open_host)) {}

NodeAgent::~NodeAgent() {
  for_all_hosts([](SessionHost& host) { host.close(); });
}

Status NodeAgent::watch(int descriptor, std::uint64_t key) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = key}};
  if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0) return {};
  return failure(system_error({.operation = "listen to the clients of this node"}, errno));
}

void NodeAgent::attend() {
  std::array<epoll_event, kEventsMax> events{};
  const int count = ::epoll_wait(events_.get(), events.data(), kEventsMax, 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t key = events.at(static_cast<std::size_t>(i)).data.u64;
    if (key == kListenerKey) {
      accept_clients();
    } else {
      hear(static_cast<std::uint32_t>(key));
    }
  }
  end_unused();
  // Memory that was given back just now comes back to its session a little later.
  look_again_.reset();
  if (count > 0 && !draining_.empty()) look_again_ = std::chrono::steady_clock::now() + kDrainTime;
}

void NodeAgent::accept_clients() {
  while (true) {
    auto channel = listener_.accept();
    if (channel && !*channel) return;
    // Who is refused learns it by the end of its channel.
    if (channel) static_cast<void>(welcome(std::move(**channel)));
    // No descriptors left, or no right to accept: it would be so again and again. Who waits is
    // told so by the end of the listener.
    const bool cannot_accept = !channel && channel.error().error_number() != 0;
    if (cannot_accept) {
      listener_ = {};
      return;
    }
  }
}

Status NodeAgent::welcome(shm::Channel channel) {
  std::uint32_t row = 0;
  while (clients_.contains(row))
    ++row;
  if (row >= clients_max_) {
    return failure({.kind = ErrorClass::kLimit,
                    .operation = "welcome a client",
                    .cause = "there are " + std::to_string(row) + " already"});
  }
  auto line = ClientLine::make(std::move(channel), row);
  if (!line) return failure(line.error());
  for (const int descriptor : (*line)->watched()) {
    if (descriptor < 0) continue;
    if (auto watched = watch(descriptor, row); !watched) {
      stop_watching(**line);
      return watched;
    }
  }
  clients_[row] = std::move(*line);
  hear(row);  // it may have been faster
  return {};
}

void NodeAgent::hear(std::uint32_t row) {
  const auto found = clients_.find(row);
  if (found == clients_.end()) return;  // it ended in this round
  ClientLine& client = *found->second;
  if (client.is_hung_up()) {
    if (client.has_ended()) bury(row);
    return;
  }
  client.bell().clear();
  do {
    if (!receive_messages(client)) {
      bury(row);
      return;
    }
    if (!take_words(client)) {
      hang_up(row);
      return;
    }
    take_released(client);
  } while (!client.may_sleep());
}

/// False if the client is gone.
bool NodeAgent::receive_messages(ClientLine& client) {
  while (true) {
    auto message = client.channel().receive(kDoNotBlock);
    if (!message) {
      if (message.error().kind() == ErrorClass::kClosed) return false;
      // A message is lost, perhaps for want of descriptors: pending openings get this.
      const auto answer = to_bytes(Refused{kEverySession, message.error()});
      static_cast<void>(client.channel().send(answer));
      continue;
    }
    if (!*message) return !client.has_ended();
    if (const Status taken = take_message(client, std::move(**message)); !taken) {
      client.reject(taken.error());
      return true;  // take_words() finds it broken
    }
  }
}

/// Fails if the message is malformed.
Status NodeAgent::take_message(ClientLine& client, shm::Message message) {
  auto decoded = message_from(message.bytes);
  if (!decoded) return failure(decoded.error());
  if (auto* const request = std::get_if<OpenRequest>(&*decoded)) {
    open_session(client, std::move(*request), std::move(message));
  } else if (const auto* const left = std::get_if<Leave>(&*decoded)) {
    leave(client, left->handle);
  } else {
    return failure(comm::malformed("of a client", "kind", decoded->index(),
                                   "only agents send messages of this kind"));
  }
  return {};
}

void NodeAgent::open_session(ClientLine& client, OpenRequest request, shm::Message message) {
  const SessionHandle handle = request.handle;
  const auto refuse = [&](const Error& why) {
    static_cast<void>(client.channel().send(to_bytes(Refused{handle, why})));
  };
  Descriptor file;
  if (!message.descriptors.empty()) file = std::move(message.descriptors.front());
  auto shared = find_or_open(std::move(request), std::move(file));
  if (!shared) {
    refuse(shared.error());
    return;
  }
  if (!client.sessions().insert(handle.number).second) {
    refuse(not_understood(handle, "this rank has it open already"));
    return;
  }
  ++(*shared)->clients;
  if (auto sent = share(client, **shared); !sent) {
    refuse(sent.error());
    leave(client, handle);
  }
}

Result<NodeAgent::Shared*> NodeAgent::find_or_open(OpenRequest request, Descriptor file) {
  end_unused();
  const SessionHandle handle = request.handle;
  if (const auto known = sessions_.find(handle.number); known != sessions_.end()) {
    const Status admitted = known->second->admits(request);
    if (!admitted) return failure(admitted.error());
    return known->second.get();
  }
  auto shared = std::make_unique<Shared>();
  auto hosted = open_host_({.request = std::move(request),
                            .file = std::move(file),
                            .make_books = [&](const shm::BooksShape& shape) {
                              return make_shared_books(shape, shared->books);
                            }});
  if (!hosted) return failure(hosted.error());
  shared->host = std::move(hosted->host);
  shared->check_plan = std::move(hosted->check_plan);
  return (sessions_[handle.number] = std::move(shared)).get();
}

Status NodeAgent::share(ClientLine& client, const Shared& shared) {
  const auto window = shared.host->share_window();
  if (!window) return failure(window.error());
  const auto table = shared.books->table.share(shm::Protection::kReadOnly);
  if (!table) return failure(table.error());
  const auto ledger = shared.books->ledger.share(shm::Protection::kReadWrite);
  if (!ledger) return failure(ledger.error());
  const std::array<int, 3> descriptors{window->get(), table->get(), ledger->get()};
  return client.channel().send(to_bytes(Opened{shared.host->handle(), shared.host->plan()}),
                               descriptors);
}

void NodeAgent::leave(ClientLine& client, const SessionHandle& handle) {
  if (client.sessions().erase(handle.number) == 0) return;
  const auto found = sessions_.find(handle.number);
  if (found == sessions_.end()) return;
  Shared& shared = *found->second;
  shared.host->forget(client);
  // What this client still holds, it gives back by its marks.
  drop_share(found);
}

Result<std::shared_ptr<SessionHost>> NodeAgent::join(OpenRequest request) {
  auto shared = find_or_open(std::move(request), {});
  if (!shared) return failure(shared.error());
  ++(*shared)->clients;
  return (*shared)->host;
}

void NodeAgent::leave(const SessionHandle& handle) {
  const auto found = sessions_.find(handle.number);
  if (found != sessions_.end()) drop_share(found);
}

/// Others keep it open.
void NodeAgent::drop_share(
    std::unordered_map<std::uint64_t, std::unique_ptr<Shared>>::iterator shared) {
  if (--shared->second->clients > 0) return;
  shared->second->host->close();
  draining_.push_back(std::move(shared->second));
  sessions_.erase(shared);
}

template <class Use>
void NodeAgent::for_all_hosts(Use use) const {
  for (const auto& [number, shared] : sessions_)
    use(*shared->host);
  for (const auto& shared : draining_)
    use(*shared->host);
}

/// False if the ring is damaged, or a word malformed.
bool NodeAgent::take_words(ClientLine& client) {
  ClientWord word;
  while (true) {
    const shm::RingOutcome outcome = client.next_word(word);
    if (outcome == shm::RingOutcome::kEmpty) return true;
    if (outcome != shm::RingOutcome::kDone) return false;
    if (const Status taken = take_word(client, word); !taken) {
      client.reject(taken.error());
      return false;
    }
  }
}

/// Fails if the word is malformed.
Status NodeAgent::take_word(ClientLine& client, const ClientWord& word) {
  if (!client.sessions().contains(word.session)) return {};
  SessionHost& host = *sessions_.at(word.session)->host;
  if (Status good = check_word(word, host.geometry()); !good) return good;
  if (word.kind == ClientWord::Kind::kAwait) {
    host.await(word, client);
  } else {
    host.hint({.splinter = word.splinter, .part = word.part, .precision = word.precision},
              word.urgency);
  }
  return {};
}

/// Sessions that it has left may wait for its pins, too.
void NodeAgent::take_released(ClientLine& client) {
  if (!client.take_released()) return;
  for_all_hosts([](SessionHost& host) { host.tell_of_released_memory(); });
}

/// What it has open and waits for is given up.
void NodeAgent::forget(std::uint32_t row) {
  ClientLine& client = *clients_.at(row);
  while (!client.sessions().empty())
    leave(client, {.number = *client.sessions().begin()});
  for_all_hosts([&](SessionHost& host) { host.forget(client); });
}

/// One that talks nonsense, but may live and hold views: those stay until its process has ended.
void NodeAgent::hang_up(std::uint32_t row) {
  ClientLine& client = *clients_.at(row);
  forget(row);
  client.channel().end();
  stop_watching(client);
  client.set_hung_up();
  const bool its_end_is_seen = client.process() >= 0 && watch(client.process(), row).has_value();
  if (!its_end_is_seen) bury(row);
}

/// One that has ended.
void NodeAgent::bury(std::uint32_t row) {
  forget(row);
  const auto found = clients_.find(row);
  const std::unique_ptr<ClientLine> client = std::move(found->second);
  clients_.erase(found);
  stop_watching(*client);
  client->channel().end();
  for_all_hosts([&](SessionHost& host) { host.drop_pins_of(row); });
  if (++left_ == clients_max_ && all_left_) all_left_();
}

/// A forked child may hold the descriptors, too: closing them is not enough.
void NodeAgent::stop_watching(const ClientLine& client) const {
  for (const int descriptor : client.watched()) {
    if (descriptor >= 0) ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  }
}

void NodeAgent::end() {
  for (const auto& [row, client] : clients_)
    client->channel().end();
}

void NodeAgent::end_unused() {
  std::erase_if(draining_, [](const auto& shared) { return !shared->host->holds_memory(); });
}

}  // namespace forebay::read
