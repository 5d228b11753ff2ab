// SPDX-License-Identifier: Apache-2.0
// LogSink: where diagnostics of the library go. The library never prints: the caller provides a
// sink, and the default drops all lines.
#pragma once

#include <forebay/detail/export.hpp>

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string_view>

namespace forebay {

enum class LogLevel : std::uint8_t {
  kInfo,     ///< a choice that was made (a backend, buffered or direct)
  kWarning,  ///< a feature works, but slower or with less than requested
};

/// "info", "warning".
FOREBAY_EXPORT std::string_view name_of(LogLevel level) noexcept;

/// Receives log lines. Called from any thread, including agents. An implementation should be fast
/// and must not call Forebay.
class FOREBAY_EXPORT LogSink {
 public:
  virtual ~LogSink();
  /// Receives one line without a line feed, valid only during the call.
  virtual void write(LogLevel level, std::string_view line) noexcept = 0;
};

/// Drops all lines: the default.
FOREBAY_EXPORT LogSink& silent_log() noexcept;

/// Writes lines at `lowest` and above to a stream of the caller, as "forebay: warning: text".
class FOREBAY_EXPORT StreamLog final : public LogSink {
 public:
  /// `stream` must stay open during the lifetime of this object. It is flushed after each line and
  /// never closed.
  explicit StreamLog(std::FILE* stream, LogLevel lowest = LogLevel::kInfo) noexcept
      : stream_(stream), lowest_(lowest) {}
  void write(LogLevel level, std::string_view line) noexcept override;

 private:
  std::FILE* const stream_;
  const LogLevel lowest_;
  std::mutex mutex_;
};

}  // namespace forebay
