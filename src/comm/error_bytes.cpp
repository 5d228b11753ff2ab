// SPDX-License-Identifier: Apache-2.0
#include "comm/error_bytes.hpp"

#include "comm/message_bytes.hpp"

namespace forebay::comm {

std::vector<std::byte> to_bytes(const Error& error) {
  MessageWriter out;
  out.enumerator(error.kind());
  out.number(std::int32_t{error.error_number()});
  out.flag(error.offset_bytes().has_value());
  out.number(error.offset_bytes().value_or(0));
  out.flag(error.rank().has_value());
  out.number(error.rank().value_or(0));
  out.text(error.operation());
  out.text(error.path());
  out.text(error.cause());
  return std::move(out).take();
}

Result<Error> error_from_bytes(std::span<const std::byte> bytes) {
  MessageReader in("error", bytes);
  ErrorDetails details;
  details.kind = in.enumerator("kind", ErrorClass::kException);
  details.error_number = in.number<std::int32_t>("error number");
  const bool has_offset = in.flag("has offset");
  const auto offset_bytes = in.number<std::uint64_t>("offset");
  if (has_offset) details.offset_bytes = offset_bytes;
  const bool has_rank = in.flag("has rank");
  const auto rank = in.number<std::uint32_t>("rank");
  if (has_rank) details.rank = rank;
  details.operation = in.text("operation");
  details.path = in.text("path");
  details.cause = in.text("cause");
  if (Status parsed = in.finish(); !parsed) return failure(parsed.error());
  return Error(std::move(details));
}

}  // namespace forebay::comm
