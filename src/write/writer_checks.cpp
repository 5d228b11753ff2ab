// SPDX-License-Identifier: Apache-2.0
// What a writer checks of letters against its own state, before it acts on them.
#include <utility>

#include "write/letter_bytes.hpp"
#include "write/writer.hpp"

namespace forebay::write {

/// Of a chunk, whether this rank stores it or passes it on.
Status Writer::check_offer(comm::Rank from, const OfferLetter& letter) const {
  const auto wrong = [](const char* field, std::uint64_t value, const char* must_be) -> Status {
    return failure(malformed(LetterKind::kOffer, field, value, must_be));
  };
  const Routes& routes = context_.routes();
  const std::uint32_t origin = letter.chunk.origin;
  const std::uint32_t me = context_.rank().number;
  if (origin >= routes.computing()) return wrong("origin", origin, "must be a rank that computes");
  const std::uint32_t writer = routes.is_writer(me) ? me : routes.writer_of(me);
  if (routes.writer_of(origin) != writer)
    return wrong("origin", origin, "must be a rank whose bytes pass through here");
  if (ticket_of_.contains({from.number, letter.number}))
    return wrong("number", letter.number, "must be new");
  return {};
}

/// The next rank of the chain may ask for what was passed on to it, once.
Status Writer::check_passed_on(LetterKind kind, const Incoming& incoming) const {
  const bool is_passed_on =
      incoming.state == State::kOnItsWay && !is_writer_of(incoming.offer.chunk.origin);
  if (is_passed_on && !incoming.is_being_sent) return {};
  return failure(malformed(kind, "chunk", incoming.offer.number, "must wait to be passed on"));
}

/// Against what other chunks, and the rank itself, have said of the region.
Status Writer::check_chunk(const Chunk& chunk) const {
  const auto wrong = [](const char* field, std::uint64_t value, const char* must_be) -> Status {
    return failure(malformed(LetterKind::kOffer, field, value, must_be));
  };
  const auto rank = ranks_.find({chunk.step, chunk.origin});
  if (rank == ranks_.end()) return {};
  const RankWork& work = rank->second;
  if (work.regions && chunk.region >= *work.regions)
    return wrong("region", chunk.region, "its rank has finished with fewer");
  const auto found = work.by_number.find(chunk.region);
  if (found == work.by_number.end()) return {};
  const Region& region = found->second;
  if (chunk.region_bytes != region.region_bytes)
    return wrong("region bytes", chunk.region_bytes, "another chunk has another number");
  const std::uint64_t end = chunk.offset + chunk.bytes;
  const bool fits = !region.bytes || (chunk.is_last ? end == *region.bytes : end <= *region.bytes);
  return fits ? Status() : wrong("bytes", chunk.bytes, "must end in the region");
}

/// A step that has failed here is still written together: the others wait for this rank in MPI.
Status Writer::check_go(const StepName& step, const std::vector<ByteRange>& rounds) {
  const auto wrong = [](const char* field, std::uint64_t value, const char* must_be) -> Status {
    return failure(malformed(LetterKind::kGo, field, value, must_be));
  };
  if (context_.round_caller() == nullptr)
    return wrong("step", step.step, "the schedule of this plan is not collective");
  for (const ByteRange& round : rounds)
    if (round.offset > kRegionBytesMax || round.size > kRegionBytesMax)
      return wrong("round offset", round.offset, "no file is that long");
  const auto found = ranks_.find({step, context_.rank().number});
  if (found == ranks_.end())
    return failed_.contains(step) ? Status() : wrong("step", step.step, "must be ready here");
  if (!found->second.is_ready || std::exchange(found->second.is_going, true))
    return wrong("step", step.step, "must be ready here, and not written yet");
  return {};
}

}  // namespace forebay::write
