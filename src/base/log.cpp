// SPDX-License-Identifier: Apache-2.0
// The two sinks of the library: one that drops all lines, and a stream of the caller.
#include <forebay/log.hpp>

namespace forebay {

namespace {

class SilentLog final : public LogSink {
 public:
  void write(LogLevel /*level*/, std::string_view /*line*/) noexcept override {}
};

}  // namespace

LogSink::~LogSink() = default;

std::string_view name_of(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
  }
  return "unknown";
}

LogSink& silent_log() noexcept {
  static SilentLog sink;
  return sink;
}

void StreamLog::write(LogLevel level, std::string_view line) noexcept {
  if (level < lowest_) return;
  const std::string_view name = name_of(level);
  const std::lock_guard lock(mutex_);
  std::fprintf(stream_, "forebay: %.*s: %.*s\n", static_cast<int>(name.size()), name.data(),
               static_cast<int>(line.size()), line.data());
  std::fflush(stream_);
}

}  // namespace forebay
