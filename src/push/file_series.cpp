// SPDX-License-Identifier: Apache-2.0
#include "push/file_series.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
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
  for (std::size_t i = 0; i < a.size(); i += 2) {
    if (a[i] != b[i]) return false;
  }
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

/// Widths of year, month, day, hour, minute and second.
constexpr std::array<std::size_t, 6> kWidths = {4, 2, 2, 2, 2, 2};
constexpr std::size_t kDateFields = 3;
constexpr std::int64_t kDaySeconds = 86400;

using Fields = std::array<std::int64_t, kWidths.size()>;

std::size_t digits_of(std::size_t fields) { return 2 + 2 * fields; }

/// Reads the first `count` fields. The others are 0.
std::optional<Fields> parse_fields(std::string_view digits, std::size_t count) {
  Fields fields = {};
  for (std::size_t i = 0; i < count; ++i) {
    fields[i] = *number_of(digits.substr(0, kWidths[i]));
    digits.remove_prefix(kWidths[i]);
  }
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(fields[0])),
                                         std::chrono::month(static_cast<unsigned>(fields[1])),
                                         std::chrono::day(static_cast<unsigned>(fields[2]))};
  const bool is_valid = date.ok() && fields[0] >= 1900 && fields[0] < 2200 && fields[3] < 24 &&
                        fields[4] < 60 && fields[5] < 60;
  if (!is_valid) return std::nullopt;
  return fields;
}

std::int64_t months_of(const Fields& fields) { return fields[0] * 12 + fields[1] - 1; }

std::int64_t seconds_of(const Fields& fields) {
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(fields[0])),
                                         std::chrono::month(static_cast<unsigned>(fields[1])),
                                         std::chrono::day(static_cast<unsigned>(fields[2]))};
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * kDaySeconds + fields[3] * 3600 + fields[4] * 60 + fields[5];
}

Fields at_month(Fields fields, std::int64_t months) {
  fields[0] = months / 12;
  fields[1] = months % 12 + 1;
  return fields;
}

Fields at_second(std::int64_t seconds) {
  const std::int64_t second = (seconds % kDaySeconds + kDaySeconds) % kDaySeconds;
  const std::chrono::sys_days days{
      std::chrono::days(static_cast<int>((seconds - second) / kDaySeconds))};
  const std::chrono::year_month_day date(days);
  return {static_cast<int>(date.year()),
          static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()),
          second / 3600,
          second / 60 % 60,
          second % 60};
}

/// The date that follows `dates`, newest first.
std::optional<Fields> next_date(std::span<const Fields> dates) {
  std::vector<std::int64_t> seconds;
  std::vector<std::int64_t> months;
  // Each month has 28 days.
  bool is_monthly = dates[0][2] <= 28;
  for (const Fields& date : dates) {
    seconds.push_back(seconds_of(date));
    months.push_back(months_of(date));
    is_monthly = is_monthly &&
                 std::ranges::equal(std::span(date).subspan(2), std::span(dates[0]).subspan(2));
  }
  if (is_monthly) {
    const auto step = step_of(months);
    if (step) return at_month(dates[0], months[0] + *step);
  }
  const auto step = step_of(seconds);
  if (!step) return std::nullopt;
  return at_second(seconds[0] + *step);
}

/// Pieces of a name that are a date.
struct DatePlace {
  std::size_t first = 0;
  std::size_t end = 0;
  std::size_t fields = 0;
};

std::string digits_in(const Pieces& pieces, const DatePlace& place) {
  std::string digits;
  for (std::size_t piece = place.first; piece < place.end; piece += 2)
    digits += pieces[piece];
  return digits;
}

/// The longest date that begins with the number `first`.
std::optional<DatePlace> find_date(const Pieces& pieces, std::size_t first) {
  constexpr std::string_view kSeparators = "-_:.T";
  std::optional<DatePlace> found;
  std::string digits;
  for (std::size_t piece = first; piece < pieces.size(); piece += 2) {
    const std::string& before = pieces[piece - 1];
    if (piece > first &&
        (before.size() != 1 || kSeparators.find(before[0]) == std::string_view::npos))
      break;
    digits += pieces[piece];
    if (digits.size() > digits_of(kWidths.size())) break;
    for (std::size_t fields = kDateFields; fields <= kWidths.size(); ++fields) {
      if (digits.size() == digits_of(fields) && parse_fields(digits, fields))
        found = {first, piece + 1, fields};
    }
  }
  return found;
}

bool is_equal_elsewhere(const Series& series, const DatePlace& place) {
  for (std::size_t piece = 1; piece < series.front().size(); piece += 2) {
    const bool is_inside = piece >= place.first && piece < place.end;
    if (!is_inside && !is_equal_in_all(series, piece)) return false;
  }
  return true;
}

std::optional<std::string> next_by_date(const Series& series, const DatePlace& place) {
  std::vector<Fields> dates;
  for (const Pieces& pieces : series) {
    const std::string digits = digits_in(pieces, place);
    if (digits.size() != digits_of(place.fields)) return std::nullopt;
    const auto fields = parse_fields(digits, place.fields);
    if (!fields) return std::nullopt;
    dates.push_back(*fields);
  }
  const auto date = next_date(dates);
  if (!date) return std::nullopt;
  std::string digits;
  for (std::size_t i = 0; i < place.fields; ++i)
    digits += padded((*date)[i], kWidths[i]);
  Pieces next = series.front();
  std::size_t used = 0;
  for (std::size_t piece = place.first; piece < place.end; piece += 2) {
    next[piece] = digits.substr(used, next[piece].size());
    used += next[piece].size();
  }
  return joined(next);
}

}  // namespace

std::optional<std::string> next_in_series(std::span<const std::string> names) {
  const Series series = series_of(names);
  if (series.size() < 2) return std::nullopt;
  for (std::size_t piece = 1; piece < series.front().size(); piece += 2) {
    const auto place = find_date(series.front(), piece);
    if (!place || !is_equal_elsewhere(series, *place)) continue;
    auto next = next_by_date(series, *place);
    if (next) return next;
  }
  return next_by_numbers(series);
}

}  // namespace forebay::push
