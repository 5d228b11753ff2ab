// SPDX-License-Identifier: Apache-2.0
// Where the library says what it has to say. It never prints by itself: the caller hands in a sink,
// and by default nobody listens.
#pragma once

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string_view>

namespace forebay {

enum class LogLevel : std::uint8_t {
  kDebug,
  kInfo,     ///< a choice that was made (a backend, buffered or direct)
  kWarning,  ///< something works, but slower or with less than asked for
};

/// "debug", "info", "warning".
std::string_view name_of(LogLevel level) noexcept;

/// Receives lines. Called from any thread, agents' among them: it should be quick and must not call
/// Forebay.
class LogSink {
 public:
  virtual ~LogSink() = default;
  /// One line without its line feed; valid during the call only.
  virtual void write(LogLevel level, std::string_view line) noexcept = 0;
};

/// Drops everything: the default.
LogSink& silent_log() noexcept;

/// Writes lines of a level and above, as "forebay: warning: text", to a stream of the caller's.
class StreamLog final : public LogSink {
 public:
  /// `stream` must stay open as long as this lives; it is flushed after each line and never closed.
  explicit StreamLog(std::FILE* stream, LogLevel lowest = LogLevel::kInfo) noexcept
      : stream_(stream), lowest_(lowest) {}
  void write(LogLevel level, std::string_view line) noexcept override;

 private:
  std::FILE* const stream_;
  const LogLevel lowest_;
  std::mutex mutex_;
};

}  // namespace forebay
