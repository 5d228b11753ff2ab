// SPDX-License-Identifier: Apache-2.0
#include "push/file_series.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <ctime>
#include <string_view>
#include <vector>

namespace forebay::push {

namespace {

constexpr std::size_t kNamesMax = 4;
/// Longer numbers could overflow.
constexpr std::size_t kDigitsMax = 17;

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

/// A name as texts and numbers in turn, beginning with a text that may be empty.
using Pieces = std::vector<std::string>;
/// The pieces of several names, newest first, which differ in numbers only.
using Series = std::vector<Pieces>;

bool is_number(std::size_t piece) { return piece % 2 == 1; }

Pieces split(std::string_view name) {
  Pieces pieces(1);
  for (const char letter : name) {
    if (is_digit(letter) != is_number(pieces.size() - 1)) pieces.emplace_back();
    pieces.back() += letter;
  }
  return pieces;
}

bool is_same_series(const Pieces& a, const Pieces& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); i += 2)
    if (a[i] != b[i]) return false;
  return true;
}

Series series_of(std::span<const std::string> names) {
  Series series;
  for (std::size_t i = names.size(); i > 0 && series.size() < kNamesMax; --i) {
    Pieces pieces = split(names[i - 1]);
    if (series.empty() || is_same_series(series.front(), pieces))
      series.push_back(std::move(pieces));
  }
  return series;
}

std::string joined(const Pieces& pieces) {
  std::string name;
  for (const std::string& piece : pieces)
    name += piece;
  return name;
}

std::optional<std::int64_t> number_of(std::string_view digits) {
  if (digits.size() > kDigitsMax) return std::nullopt;
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

bool is_equal_in_all(const Series& series, std::size_t piece) {
  return std::ranges::all_of(
      series, [&](const Pieces& pieces) { return pieces[piece] == series.front()[piece]; });
}

/// The step of values, newest first, if it is constant and not 0.
std::optional<std::int64_t> step_of(std::span<const std::int64_t> values) {
  const std::int64_t step = values[0] - values[1];
  for (std::size_t i = 1; i + 1 < values.size(); ++i) {
    if (values[i] - values[i + 1] != step) return std::nullopt;
  }
  if (step == 0) return std::nullopt;
  return step;
}

std::string padded(std::int64_t value, std::size_t width) {
  const std::string digits = std::to_string(value);
  return std::string(width - std::min(width, digits.size()), '0') + digits;
}

/// The number that follows those of one piece.
std::optional<std::string> next_number(const Series& series, std::size_t piece) {
  std::vector<std::int64_t> values;
  bool has_leading_zero = false;
  for (const Pieces& pieces : series) {
    const auto value = number_of(pieces[piece]);
    if (!value) return std::nullopt;
    values.push_back(*value);
    has_leading_zero |= pieces[piece].size() > 1 && pieces[piece].front() == '0';
  }
  const auto step = step_of(values);
  if (!step || values[0] + *step < 0) return std::nullopt;
  return padded(values[0] + *step, has_leading_zero ? series.front()[piece].size() : 1);
}

std::optional<std::string> next_by_numbers(const Series& series) {
  Pieces next = series.front();
  std::size_t changed = 0;
  for (std::size_t piece = 1; piece < next.size(); piece += 2) {
    if (is_equal_in_all(series, piece)) continue;
    const auto number = next_number(series, piece);
    if (!number || (++changed > 1 && series.size() < 3)) return std::nullopt;
    next[piece] = *number;
  }
  if (changed == 0) return std::nullopt;
  return joined(next);
}

/// Forms of a date, and their numbers of digits.
struct DateForm {
  const char* format;
  std::size_t digits;
};
constexpr std::array kDateForms{DateForm{"%Y%m%d", 8}, DateForm{"%Y%m%d%H", 10},
                                DateForm{"%Y%m%d%H%M", 12}, DateForm{"%Y%m%d%H%M%S", 14}};
constexpr std::int64_t kDaySeconds = 86400;

std::tm date_of(std::int64_t seconds) {
  std::tm date = {};
  gmtime_r(&seconds, &date);
  return date;
}

std::string text_of(std::int64_t seconds, const DateForm& form) {
  std::array<char, 16> text{};
  const std::tm date = date_of(seconds);
  return {text.data(), std::strftime(text.data(), text.size(), form.format, &date)};
}

/// Seconds since 1970. No value for a day or a time that the calendar does not have, or before 1900
/// or after 2199.
std::optional<std::int64_t> seconds_of(const std::string& digits, const DateForm& form) {
  constexpr int kYears = 300;  // tm_year counts from 1900
  std::tm date = {};
  if (digits.size() != form.digits || strptime(digits.c_str(), form.format, &date) == nullptr)
    return std::nullopt;
  const std::int64_t seconds = timegm(&date);
  if (date.tm_year < 0 || date.tm_year >= kYears || text_of(seconds, form) != digits)
    return std::nullopt;
  return seconds;
}

/// The time that follows `times`, newest first.
std::optional<std::int64_t> next_time(std::span<const std::int64_t> times) {
  std::tm date = date_of(times[0]);
  std::vector<std::int64_t> months;
  bool is_monthly = date.tm_mday <= 28;  // each month has 28 days
  for (const std::int64_t time : times) {
    const std::tm other = date_of(time);
    months.push_back(other.tm_year * 12 + other.tm_mon);
    is_monthly &= other.tm_mday == date.tm_mday && (time - times[0]) % kDaySeconds == 0;
  }
  const auto step = step_of(times);
  const auto step_months = is_monthly ? step_of(months) : std::nullopt;
  if (!step_months) return step ? std::optional(times[0] + *step) : std::nullopt;
  date.tm_mon += static_cast<int>(*step_months);
  return timegm(&date);
}

/// Pieces of a name that are a date.
struct DatePlace {
  std::size_t first = 0;
  std::size_t end = 0;
  DateForm form = {};
};

std::string digits_in(const Pieces& pieces, std::size_t first, std::size_t end) {
  std::string digits;
  for (std::size_t piece = first; piece < end; piece += 2)
    digits += pieces[piece];
  return digits;
}

/// The longest date that begins with the number `first`.
std::optional<DatePlace> find_date(const Pieces& pieces, std::size_t first) {
  constexpr std::string_view kSeparators = "-_:.T";
  std::optional<DatePlace> found;
  for (std::size_t piece = first; piece < pieces.size(); piece += 2) {
    const std::string& before = pieces[piece - 1];
    const bool is_joined = before.size() == 1 && kSeparators.find(before) != std::string_view::npos;
    if (piece > first && !is_joined) break;
    const std::string digits = digits_in(pieces, first, piece + 1);
    for (const DateForm& form : kDateForms)
      if (seconds_of(digits, form)) found = {first, piece + 1, form};
  }
  return found;
}

std::optional<std::string> next_by_date(const Series& series, const DatePlace& place) {
  std::vector<std::int64_t> times;
  for (const Pieces& pieces : series) {
    const auto time = seconds_of(digits_in(pieces, place.first, place.end), place.form);
    if (!time) return std::nullopt;
    times.push_back(*time);
  }
  const auto time = next_time(times);
  if (!time) return std::nullopt;
  const std::string digits = text_of(*time, place.form);
  Pieces next = series.front();
  std::size_t used = 0;
  for (std::size_t piece = 1; piece < next.size(); piece += 2) {
    if (piece >= place.first && piece < place.end) {
      next[piece] = digits.substr(used, next[piece].size());
      used += next[piece].size();
    } else if (!is_equal_in_all(series, piece)) {
      return std::nullopt;
    }
  }
  return joined(next);
}

}  // namespace

std::optional<std::string> next_in_series(std::span<const std::string> names) {
  const Series series = series_of(names);
  if (series.size() < 2) return std::nullopt;
  for (std::size_t piece = 1; piece < series.front().size(); piece += 2) {
    const auto place = find_date(series.front(), piece);
    auto next = place ? next_by_date(series, *place) : std::nullopt;
    if (next) return next;
  }
  return next_by_numbers(series);
}

}  // namespace forebay::push
