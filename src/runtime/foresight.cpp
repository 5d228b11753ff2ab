// SPDX-License-Identifier: Apache-2.0
#include "runtime/foresight.hpp"

#include <string>
#include <utility>

#include <unistd.h>

#include "base/host_name.hpp"
#include "push/session_prefetcher.hpp"
#include "storage/file.hpp"

namespace forebay {

namespace {

/// Parametric hints are last: a stream takes the first ones.
class StoredHints {
 public:
  void add(push::HintOrigin origin,
           std::span<const push::FileHint> hints,
           const std::string& path) {
    if (hints.empty()) return;
    for (const push::FileHint* const hint : push::hints_for(hints, path, push::version_of(path))) {
      if (hint->parametric == nullptr)
        stored_.push_back({origin, hint->signature});
      else
        parametric_.push_back({push::HintOrigin::kSource, nullptr, hint->parametric});
    }
  }
  std::vector<push::PrefetcherOptions::Stored> take() {
    stored_.insert(stored_.end(), parametric_.begin(), parametric_.end());
    return std::move(stored_);
  }

 private:
  std::vector<push::PrefetcherOptions::Stored> stored_;
  std::vector<push::PrefetcherOptions::Stored> parametric_;
};

}  // namespace

Foresight::Foresight(const RuntimeOptions& options, std::optional<std::uint32_t> rank, Role role)
    : log_(options.log), functions_(std::make_shared<push::NamedFunctions>(options.log)) {
  if (role == Role::kIo) return;  // it opens no sessions of its own
  const std::string suffix = rank ? "." + std::to_string(*rank) : "";
  if (!options.learned_hints_path.empty()) {
    learned_path_ = options.learned_hints_path + suffix;
    learned_ = std::make_shared<push::LearnedHints>();
  }
  status_ = read_hints(options);
  if (status_ && !options.trace_path.empty())
    status_ = start_trace(options.trace_path + suffix, rank);
}

Status Foresight::read_hints(const RuntimeOptions& options) {
  if (!options.hints_path.empty()) {
    auto hints = push::read_hint_file(options.hints_path);
    if (!hints) return failure(hints.error());
    hints_ = std::move(*hints);
  }
  if (!learned_) return {};
  auto profile = push::read_hint_file(learned_path_);
  if (profile) profile_ = std::move(*profile);
  const bool is_first_run = !profile && profile.error().kind() == ErrorClass::kNotFound;
  return profile || is_first_run ? Status() : failure(profile.error());
}

Status Foresight::start_trace(const std::string& path, std::optional<std::uint32_t> rank) {
  auto file = storage::open_file(path, {.intent = storage::Intent::kCreate});
  if (!file) return failure(file.error());
  if (Status emptied = (*file)->truncate(0); !emptied) return emptied;
  trace::TraceRecorder::Options options;
  options.process = {.host = host_name(),
                     .process = static_cast<std::uint64_t>(::getpid()),
                     .rank = rank,
                     .program = program_invocation_short_name};
  auto started = trace::TraceRecorder::start(std::move(*file), std::move(options));
  if (!started) return failure(started.error());
  recorder_ = std::move(*started);
  return {};
}

void Foresight::observe(read::SessionCore& session) {
  const bool is_on_demand = session.plan().mode == Mode::kOnDemand;
  if (!is_on_demand && !recorder_) return;
  push::PrefetcherOptions options{.recorder = recorder_, .functions = functions_, .log = log_};
  if (is_on_demand) {
    StoredHints hints;
    hints.add(push::HintOrigin::kHintFile, hints_, session.path());
    hints.add(push::HintOrigin::kProfile, profile_, session.path());
    options.stored = hints.take();
    options.learned = learned_;
  }
  if (recorder_) {
    trace::FileInfo info{.path = session.path()};
    if (const auto identity = session.file().identity()) {
      info.device = identity->device;
      info.inode = identity->file;
    }
    options.recorded_file = recorder_->add_file(info);
  }
  session.set_observer(std::make_unique<push::SessionPrefetcher>(session, std::move(options)));
}

Status Foresight::stop() {
  const Status recorded = recorder_ ? recorder_->stop() : Status();
  const auto learned = std::exchange(learned_, nullptr);
  const Status written = learned && status_
                             ? push::write_hint_file(learned_path_, learned->merge(profile_))
                             : Status();
  return recorded ? written : recorded;
}

}  // namespace forebay
