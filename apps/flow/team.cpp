// SPDX-License-Identifier: Apache-2.0
#include "flow/team.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace forebay::flow {

namespace {

/// An Error as ranks tell it to each other: these numbers, then the texts one behind the other.
struct ErrorNumbers {
  std::uint64_t kind = 0;
  std::uint64_t error_number = 0;
  std::uint64_t has_offset = 0;
  std::uint64_t offset_bytes = 0;
  std::uint64_t operation_bytes = 0;
  std::uint64_t path_bytes = 0;
  std::uint64_t has_rank = 0;
  std::uint64_t rank = 0;
};

std::vector<std::byte> packed(const Error& error) {
  const ErrorNumbers numbers{.kind = static_cast<std::uint64_t>(error.kind()),
                             .error_number = static_cast<std::uint64_t>(error.error_number()),
                             .has_offset = error.offset_bytes() ? 1U : 0U,
                             .offset_bytes = error.offset_bytes().value_or(0),
                             .operation_bytes = error.operation().size(),
                             .path_bytes = error.path().size(),
                             .has_rank = error.rank() ? 1U : 0U,
                             .rank = error.rank().value_or(0)};
  std::string bytes(sizeof(numbers), '\0');
  std::memcpy(bytes.data(), &numbers, sizeof(numbers));
  bytes += error.operation() + error.path() + error.cause();
  const auto view = std::as_bytes(std::span(bytes));
  return {view.begin(), view.end()};
}

/// As `teller` has it: who tells of a failure may have heard of it from another rank.
Error unpacked(std::span<const std::byte> bytes, std::uint32_t teller) {
  ErrorNumbers numbers;
  std::memcpy(&numbers, bytes.data(), sizeof(numbers));
  const std::string text(reinterpret_cast<const char*>(bytes.data()) + sizeof(numbers),
                         bytes.size() - sizeof(numbers));
  ErrorDetails details{.kind = static_cast<ErrorClass>(numbers.kind),
                       .operation = text.substr(0, numbers.operation_bytes),
                       .path = text.substr(numbers.operation_bytes, numbers.path_bytes),
                       .error_number = static_cast<int>(numbers.error_number),
                       .cause = text.substr(numbers.operation_bytes + numbers.path_bytes),
                       .rank = teller};
  if (numbers.has_rank != 0) details.rank = static_cast<std::uint32_t>(numbers.rank);
  if (numbers.has_offset != 0) details.offset_bytes = numbers.offset_bytes;
  return Error(std::move(details));
}

}  // namespace

Status Team::agree(const Status& mine) {
  if (size() == 1) return mine;
  const std::vector<std::byte> bytes = mine ? std::vector<std::byte>() : packed(mine.error());
  std::vector<std::size_t> sizes = gather(bytes.size());
  const auto first = std::ranges::find_if(sizes, [](std::size_t size) { return size > 0; });
  if (first == sizes.end()) return {};
  // Only the first that failed tells why.
  std::fill(first + 1, sizes.end(), 0);
  const auto failed = static_cast<std::uint32_t>(first - sizes.begin());
  std::vector<std::byte> told(*first);
  const auto mine_told = failed == rank() ? std::span(bytes) : std::span<const std::byte>();
  gather_bytes(mine_told, sizes, told);
  return failure(unpacked(told, failed));
}

}  // namespace forebay::flow
