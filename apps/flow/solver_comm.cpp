// SPDX-License-Identifier: Apache-2.0
#include "flow/solver_comm.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace forebay::flow {

namespace {

/// Header of an encoded Error: these numbers, then the texts, concatenated.
struct ErrorHeader {
  std::uint64_t kind = 0;
  std::uint64_t error_number = 0;
  std::uint64_t has_offset = 0;
  std::uint64_t offset_bytes = 0;
  std::uint64_t operation_bytes = 0;
  std::uint64_t path_bytes = 0;
  std::uint64_t has_rank = 0;
  std::uint64_t rank = 0;
};

std::vector<std::byte> encode_error(const Error& error) {
  const ErrorHeader numbers{.kind = static_cast<std::uint64_t>(error.kind()),
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

/// Decodes an Error of `sender`. It keeps the rank of the Error, if `sender` has received it from
/// another rank.
Error decode_error(std::span<const std::byte> bytes, std::uint32_t sender) {
  ErrorHeader numbers;
  std::memcpy(&numbers, bytes.data(), sizeof(numbers));
  const std::string text(reinterpret_cast<const char*>(bytes.data()) + sizeof(numbers),
                         bytes.size() - sizeof(numbers));
  ErrorDetails details{.kind = static_cast<ErrorClass>(numbers.kind),
                       .operation = text.substr(0, numbers.operation_bytes),
                       .path = text.substr(numbers.operation_bytes, numbers.path_bytes),
                       .error_number = static_cast<int>(numbers.error_number),
                       .cause = text.substr(numbers.operation_bytes + numbers.path_bytes),
                       .rank = sender};
  if (numbers.has_rank != 0) details.rank = static_cast<std::uint32_t>(numbers.rank);
  if (numbers.has_offset != 0) details.offset_bytes = numbers.offset_bytes;
  return Error(std::move(details));
}

}  // namespace

Status SolverComm::agree(const Status& local) {
  if (size() == 1) return local;
  const std::vector<std::byte> bytes =
      local ? std::vector<std::byte>() : encode_error(local.error());
  std::vector<std::size_t> sizes = allgather(bytes.size());
  const auto first = std::ranges::find_if(sizes, [](std::size_t size) { return size > 0; });
  if (first == sizes.end()) return {};
  // Only the first rank that failed sends its Error.
  std::fill(first + 1, sizes.end(), 0);
  const auto failed = static_cast<std::uint32_t>(first - sizes.begin());
  std::vector<std::byte> received(*first);
  const auto local_bytes = failed == rank() ? std::span(bytes) : std::span<const std::byte>();
  allgatherv(local_bytes, sizes, received);
  return failure(decode_error(received, failed));
}

}  // namespace forebay::flow
