// SPDX-License-Identifier: Apache-2.0
#include "write/letter_bytes.hpp"

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "comm/error_bytes.hpp"
#include "format/records.hpp"

namespace forebay::write {

namespace {

using comm::MessageReader;
using comm::MessageRule;
using comm::MessageWriter;

constexpr std::uint32_t kOfferBytes = 89;
constexpr std::uint32_t kSealedBytes = 64;
constexpr std::uint32_t kAnyBytes = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kErrorBytes = comm::kErrorBytesMax;
constexpr std::uint32_t kMissingBytes = (kRanksNamed + 1) * sizeof(std::uint32_t);

/// By LetterKind: words, then bytes of payload. LinkLimits bound what may have any length.
constexpr std::array<MessageRule, 26> kRules{{
    {.name = "hello"},
    {"offer", 0, kOfferBytes, kOfferBytes},
    {.name = "send", .words = 1},
    {"bytes", 1, 0, kAnyBytes},
    {.name = "taken", .words = 1},
    {.name = "finish", .words = 4},
    {"written", 2, 0, kAnyBytes},
    {.name = "ask place", .words = 4},
    {.name = "place", .words = 2},
    {.name = "trim", .words = 4},
    {.name = "turn over"},
    {.name = "still writing"},
    {"ready", 2, 0, kAnyBytes},
    {"go", 3, 0, kAnyBytes},
    {"part", 3, 1, kPieceBytesMax},
    {"announce", 2, 1, kAnyBytes},
    {"failed", 2, 1, kErrorBytes},
    {"claims", 4, 1, kPieceBytesMax},
    {"sealed", 2, kSealedBytes, kSealedBytes},
    {.name = "ask missing", .words = 2},
    {"missing", 3, 0, kMissingBytes},
    {.name = "pruned", .words = 2},
    {"resolved", 3, 0, kErrorBytes},
    {"gone", 1, 1, kErrorBytes},
    {.name = "leave"},
    {.name = "all left"},
}};

void put(MessageWriter& out, const StepName& step) {
  out.number(step.step);
  out.number(step.group);
}

StepName get_step(MessageReader& in) {
  StepName step;
  step.step = in.number<std::uint64_t>("step");
  step.group = in.number<std::uint64_t>("group");
  return step;
}

void put(MessageWriter& out, const Chunk& chunk) {
  put(out, chunk.step);
  out.number(chunk.origin);
  out.number(chunk.region);
  out.number(chunk.region_bytes);
  out.number(chunk.offset);
  out.number(chunk.bytes);
  out.flag(chunk.is_last);
}

Chunk get_chunk(MessageReader& in) {
  Chunk chunk;
  chunk.step = get_step(in);
  chunk.origin = in.number<std::uint32_t>("origin");
  chunk.region = in.number<std::uint32_t>("region");
  if (chunk.region >= UINT32_MAX) in.reject("region", chunk.region, "must be below 4294967295");
  chunk.region_bytes = in.number<std::uint64_t>("region bytes");
  if (chunk.region_bytes > kRegionBytesMax)
    in.reject("region bytes", chunk.region_bytes, "no region is that long");
  chunk.offset = in.number<std::uint64_t>("offset");
  if (chunk.offset > chunk.region_bytes)
    in.reject("offset", chunk.offset, "must lie in the region");
  chunk.bytes = in.number<std::uint64_t>("bytes");
  if (chunk.bytes > chunk.region_bytes - chunk.offset)
    in.reject("bytes", chunk.bytes, "must end in the region");
  chunk.is_last = in.flag("is last");
  return chunk;
}

/// The rank that owns the file of a rank that computes or writes.
std::optional<Rank> owner_of(Rank rank, const Routes& routes) {
  if (rank >= routes.computing() && !routes.is_writer(rank)) return std::nullopt;
  return routes.owner_of(routes.file_of(rank));
}

bool hands_over(Rank from, Rank to, const Routes& routes) {
  if (from >= routes.computing()) return false;
  return routes.next_of(from).value_or(from) == to;
}

/// Whether `from` has the role that sends such letters to `me`.
bool may_send(LetterKind kind, Rank from, Rank me, const Routes& routes) {
  const bool is_coordinator = me == Routes::coordinator();
  const bool is_from_coordinator = from == Routes::coordinator();
  const bool computes = from < routes.computing();
  switch (kind) {
    case LetterKind::kHello:
    case LetterKind::kFailed:
      return is_coordinator;
    case LetterKind::kAnnounce:
    case LetterKind::kLeave:
      return is_coordinator && computes;
    case LetterKind::kClaims:
    case LetterKind::kSealed:
    case LetterKind::kMissing:
      return is_coordinator && owner_of(from, routes) == from;
    case LetterKind::kOffer:
    case LetterKind::kBytes:
      return hands_over(from, me, routes);
    case LetterKind::kSend:
    case LetterKind::kTaken:
      return hands_over(me, from, routes);
    case LetterKind::kFinish:
      return computes && routes.writer_of(from) == me;
    case LetterKind::kWritten:
      return me < routes.computing() && routes.writer_of(me) == from;
    case LetterKind::kAskPlace:
    case LetterKind::kTrim:
    case LetterKind::kTurnOver:
    case LetterKind::kStillWriting:
    case LetterKind::kReady:
      return routes.is_writer(from) && owner_of(from, routes) == me;
    case LetterKind::kPart:
      return computes && owner_of(from, routes) == me;
    case LetterKind::kPlace:
    case LetterKind::kGo:
      return routes.is_writer(me) && owner_of(me, routes) == from;
    case LetterKind::kAskMissing:
    case LetterKind::kPruned:
      return is_from_coordinator && owner_of(me, routes) == me;
    case LetterKind::kResolved:
    case LetterKind::kAllLeft:
      return is_from_coordinator;
    case LetterKind::kGone:
      return is_from_coordinator || (me < routes.computing() && routes.depends_on(me, from));
  }
  return false;
}

}  // namespace

Error malformed(LetterKind kind,
                std::string_view field,
                std::uint64_t value,
                std::string_view must_be) {
  return comm::malformed(kRules.at(static_cast<std::size_t>(kind)).name, field, value, must_be);
}

Status Pieces::add(LetterKind kind,
                   std::span<const std::byte> piece,
                   std::uint64_t announced_bytes) {
  if (!all_bytes) all_bytes = announced_bytes;
  if (*all_bytes != announced_bytes)
    return failure(malformed(kind, "bytes of all pieces", announced_bytes,
                             "must be " + std::to_string(*all_bytes) + " as in the first piece"));
  if (piece.size() > *all_bytes - bytes.size())
    return failure(malformed(kind, "bytes of all pieces", announced_bytes,
                             "must not be fewer than there are"));
  bytes.insert(bytes.end(), piece.begin(), piece.end());
  return {};
}

comm::Bytes to_bytes(const OfferLetter& letter) {
  MessageWriter out;
  put(out, letter.chunk);
  out.number(letter.number);
  out.number(letter.memory.process);
  out.number(letter.memory.descriptor);
  out.number(letter.memory.inode);
  out.number(letter.memory.bytes);
  out.number(letter.memory_offset);
  return std::move(out).take();
}

Result<OfferLetter> offer_from(std::span<const std::byte> bytes) {
  MessageReader in("offer", bytes);
  OfferLetter letter;
  letter.chunk = get_chunk(in);
  letter.number = in.number<std::uint64_t>("number");
  letter.memory.process = in.number<std::uint32_t>("memory.process");
  letter.memory.descriptor = in.number<std::int32_t>("memory.descriptor");
  letter.memory.inode = in.number<std::uint64_t>("memory.inode");
  letter.memory.bytes = in.number<std::uint64_t>("memory.bytes");
  letter.memory_offset = in.number<std::uint64_t>("memory offset");
  if (Status whole = in.end(); !whole) return failure(whole.error());
  return letter;
}

comm::Bytes to_bytes(const SealedLetter& letter) {
  MessageWriter out;
  put(out, letter.step);
  out.number(letter.file);
  out.number(letter.parts);
  out.number(letter.index.offset);
  out.number(letter.index.bytes);
  out.number(letter.index.checksum);
  out.number(letter.raw_bytes);
  out.number(letter.stored_bytes);
  return std::move(out).take();
}

Result<SealedLetter> sealed_from(std::span<const std::byte> bytes) {
  MessageReader in("sealed", bytes);
  SealedLetter letter;
  letter.step = get_step(in);
  letter.file = in.number<std::uint32_t>("file");
  letter.parts = in.number<std::uint32_t>("parts");
  letter.index.offset = in.number<std::uint64_t>("index.offset");
  if (letter.index.offset < format::kPageBytes || letter.index.offset > kRegionBytesMax)
    in.reject("index.offset", letter.index.offset, "no index lies there");
  letter.index.bytes = in.number<std::uint64_t>("index.bytes");
  if (letter.index.bytes == 0 || letter.index.bytes > format::kIndexBytesMax)
    in.reject("index.bytes", letter.index.bytes, "no index is that long");
  letter.index.checksum = in.number<std::uint64_t>("index.checksum");
  letter.raw_bytes = in.number<std::uint64_t>("raw bytes");
  letter.stored_bytes = in.number<std::uint64_t>("stored bytes");
  if (Status whole = in.end(); !whole) return failure(whole.error());
  return letter;
}

Result<std::uint32_t> small_word(const comm::LinkHeader& header, std::size_t word) {
  const std::uint64_t value = header.words.at(word);
  if (value <= UINT32_MAX) return static_cast<std::uint32_t>(value);
  return failure(malformed(static_cast<LetterKind>(header.kind), "word " + std::to_string(word),
                           value, "must be below 4294967296"));
}

Status check_letter(const comm::LinkHeader& header, Rank from, Rank me, const Routes& routes) {
  if (Status good = comm::check_header(header, kRules); !good) return good;
  const auto kind = static_cast<LetterKind>(header.kind);
  if (may_send(kind, from, me, routes)) return {};
  return failure(
      malformed(kind, "sender", from, "has no role that sends this to rank " + std::to_string(me)));
}

}  // namespace forebay::write
