// SPDX-License-Identifier: Apache-2.0
// Letters that no rank sends: bytes that are cut, too long or changed, headers and senders that
// cannot be, and letters in an order that no role produces.
#include "write/letter_bytes.hpp"

#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "comm/message_testing.hpp"
#include "comm/post_office_testing.hpp"
#include "write/contested_blocks.hpp"
#include "write/decision.hpp"
#include "write/file_owner.hpp"
#include "write/role_testing.hpp"
#include "write/summons.hpp"
#include "write/writer.hpp"

namespace forebay::write {
namespace {

using testing::ContainsRegex;

OfferLetter some_offer() {
  return {.chunk = {.step = {7, 3},
                    .origin = 2,
                    .region = 1,
                    .region_bytes = 3 * 4096,
                    .offset = 4096,
                    .bytes = 8192,
                    .is_last = true},
          .number = 5,
          .memory = {.process = 77, .descriptor = 8, .inode = 99, .bytes = 1 << 20U},
          .memory_offset = 4096};
}

SealedLetter some_sealed() {
  return {.step = {7, 3},
          .file = 1,
          .parts = 2,
          .index = {.offset = 8192, .bytes = 300, .checksum = 5},
          .raw_bytes = 10,
          .stored_bytes = 9};
}

RankStep some_part() {
  RankStep part = rank_step_of(7, 10, 3);
  part.fields.push_back({.name = "pressure",
                         .type = ElementType::kFloat32,
                         .kind = format::FieldKind::kGlobal,
                         .dimensions = 2,
                         .shape = {16, 8}});
  return part;
}

TEST(LetterBytes, letters_arrive_as_they_were_sent) {
  const auto offer = offer_from(to_bytes(some_offer()));
  ASSERT_TRUE(offer) << offer.error().message();
  EXPECT_EQ(to_bytes(*offer), to_bytes(some_offer()));
  EXPECT_EQ(offer->memory, some_offer().memory);
  EXPECT_TRUE(offer->chunk.is_last);
  const auto sealed = sealed_from(to_bytes(some_sealed()));
  ASSERT_TRUE(sealed) << sealed.error().message();
  EXPECT_EQ(to_bytes(*sealed), to_bytes(some_sealed()));
  const auto part = rank_step_from(to_bytes(some_part()));
  ASSERT_TRUE(part) << part.error().message();
  EXPECT_EQ(to_bytes(*part), to_bytes(some_part()));
}

TEST(LetterBytes, malformed_offer_is_refused_by_field) {
  comm::expect_safe_decoding(to_bytes(some_offer()), offer_from);
}

TEST(LetterBytes, malformed_sealed_letter_is_refused_by_field) {
  comm::expect_safe_decoding(to_bytes(some_sealed()), sealed_from);
}

TEST(LetterBytes, malformed_part_is_refused_by_field) {
  comm::expect_safe_decoding(to_bytes(some_part()), rank_step_from);
}

TEST(LetterBytes, malformed_claims_are_refused_by_field) {
  const RankStep part = some_part();
  const std::uint32_t rank = 3;
  comm::expect_safe_decoding(to_bytes(claims_of({&part, 1}, {&rank, 1})), claims_from);
}

TEST(LetterBytes, malformed_fields_are_refused_by_field) {
  comm::expect_safe_decoding(fields_to_bytes(some_part().fields), fields_from);
}

TEST(LetterBytes, values_that_refer_to_nothing_are_refused_by_field) {
  const auto message_of = [](const auto& change) {
    RankStep part = some_part();
    change(part);
    const auto decoded = rank_step_from(to_bytes(part));
    return decoded ? std::string() : decoded.error().message();
  };
  EXPECT_THAT(message_of([](RankStep& part) { part.blocks[1].field = 2; }),
              ContainsRegex("'part': field 'block field' is 2"));
  EXPECT_THAT(message_of([](RankStep& part) { part.blocks[1].first_extent = 3; }),
              ContainsRegex("'part': field 'block first extent' is 3"));
  EXPECT_THAT(message_of([](RankStep& part) { part.blocks[1].first_piece = UINT64_MAX; }),
              ContainsRegex("'part': field 'block first piece' is 18446744073709551615"));
  EXPECT_THAT(message_of([](RankStep& part) { part.piece_ends.resize(1); }),
              ContainsRegex("'part': field 'piece ends' is 1"));
  OfferLetter offer = some_offer();
  offer.chunk.offset = UINT64_MAX;
  EXPECT_THAT(offer_from(to_bytes(offer)).error().message(),
              ContainsRegex("'offer': field 'offset' is 18446744073709551615"));
}

TEST(LetterBytes, malformed_decision_is_refused) {
  const auto plan = plan_write({.crew = crew_of(2)}, {});
  ASSERT_TRUE(plan);
  const comm::Bytes whole = bytes_of(Decision{.path = "run.fb", .plan = *plan, .found = {}});
  ASSERT_TRUE(decision_from(whole));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(decision_from(std::span(whole).first(size)));
  std::mt19937 random(comm::kMutationSeed);
  for (int round = 0; round < comm::kMutations; ++round) {
    comm::Bytes changed = whole;
    changed[random() % changed.size()] = static_cast<std::byte>(random());
    std::ignore = decision_from(changed);
  }
}

/// The plans whose routes differ most: a chain, and ranks given to I/O.
std::vector<Routes> some_routes() {
  std::vector<Routes> all;
  const Crew alone = crew_of(4);
  Crew given = crew_of(3);
  given.node_of_dedicated = {0, 0};
  for (const auto& [crew, strategy] :
       {std::pair(alone, Strategy::kBrigade), std::pair(alone, Strategy::kFilePerProcess),
        std::pair(alone, Strategy::kBaton), std::pair(given, Strategy::kReducedBlocking)}) {
    WritePlan wanted{.strategy = strategy};
    if (crew.dedicated() > 0) wanted.writers = 1;
    const auto plan = plan_write({.crew = crew}, wanted);
    EXPECT_TRUE(plan) << plan.error().message();
    if (plan) all.emplace_back(crew, *plan);
  }
  return all;
}

TEST(CheckLetter, headers_and_senders_that_cannot_be_are_refused_by_field) {
  std::mt19937 random(comm::kMutationSeed);
  const auto all = some_routes();
  for (int round = 0; round < 20 * comm::kMutations; ++round) {
    const Routes& routes = all[random() % all.size()];
    const std::uint32_t ranks = routes.computing() + (&routes == &all.back() ? 2 : 0);
    comm::LinkHeader header{.payload_bytes = static_cast<std::uint32_t>(random() % 100),
                            .kind = static_cast<std::uint32_t>(random() % 28)};
    header.words.at(random() % 4) = random();
    const Status checked = check_letter(header, static_cast<Rank>(random() % ranks),
                                        static_cast<Rank>(random() % ranks), routes);
    if (checked) continue;
    ASSERT_THAT(checked.error().message(), ContainsRegex("message '.+': field '.+' is [0-9]+"));
  }
}

TEST(CheckLetter, receipt_of_a_rank_that_does_not_coordinate_is_refused) {
  const auto all = some_routes();
  const comm::LinkHeader published{
      .kind = static_cast<std::uint32_t>(LetterKind::kResolved),
      .words = {7, 3, static_cast<std::uint64_t>(StepFate::kPublished)}};
  EXPECT_TRUE(check_letter(published, Routes::coordinator(), 1, all.front()));
  const Status refused = check_letter(published, 2, 1, all.front());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), ContainsRegex("'resolved': field 'sender' is 2"));
}

/// Rank 0 calls with a decision that is none; rank 1, given to I/O, closes the link.
TEST(Summons, malformed_call_closes_the_link_and_nothing_else) {
  std::mt19937 random(comm::kMutationSeed);
  for (int round = 0; round < 20; ++round) {
    const comm::LinkHeader forged{.kind = static_cast<std::uint32_t>(round == 0 ? 0 : random() % 4),
                                  .words = {random() % 3, random() % 2}};
    comm::on_ranks(2, [&](const comm::Ranks& ranks) {
      if (ranks->rank() == comm::Rank{1}) {
        comm::LinkOptions options;
        options.connect_ms_max = std::chrono::seconds(30);
        std::ignore = Summons::open(*ranks, 1, options).map([](auto summons) { summons->next(); });
        return;
      }
      const auto office = comm::must(comm::PostOffice::open(*ranks, {}), "open");
      comm::PostBox box;
      EXPECT_TRUE(office->send(comm::Rank{1}, forged, comm::pattern(0, 50)));
      EXPECT_TRUE(comm::drive_until_lost(*office, box, comm::Rank{1}));
      EXPECT_FALSE(ranks->agree(failure({.operation = "forge"})));
    });
  }
}

/// Numbers that letters of a small job have, and a few that none has.
class Numbers {
 public:
  std::uint64_t small(std::uint64_t count) { return random_() % count; }
  std::uint64_t any() {
    constexpr std::array<std::uint64_t, 5> kEdges{0, 4096, kRegionBytesMax, UINT64_MAX, kRelayed};
    return small(2) == 0 ? small(3) : kEdges.at(small(kEdges.size()));
  }
  Chunk chunk() {
    return {.step = step(1 + small(2)),
            .origin = static_cast<std::uint32_t>(small(6)),
            .region = static_cast<std::uint32_t>(small(3)),
            .region_bytes = 4096 * (1 + small(3)),
            .offset = 4096 * small(2),
            .bytes = 4096 * small(2),
            .is_last = small(2) == 0};
  }

 private:
  std::mt19937 random_{comm::kMutationSeed};
};

TEST(RolesUnderAttack, writer_survives_letters_in_any_order) {
  Numbers numbers;
  for (int round = 0; round < 300; ++round) {
    WritePlan plan{.strategy = Strategy::kReducedBlocking, .writers = 1, .files = 1};
    plan.hand_off = HandOff::kMessage;
    plan.steps_per_group = 1;
    TestContext context(crew_of(4), plan, 0);
    const auto receiving =
        Staging::make({.memory_bytes = 4 * 4096, .segment_bytes = 4096, .ready_bytes = 0});
    ASSERT_TRUE(receiving);
    Writer writer(context, *receiving);
    for (int letter = 0; letter < 40; ++letter) {
      const comm::Rank from{static_cast<std::uint32_t>(numbers.small(4))};
      const StepName name = step(1 + numbers.small(2));
      switch (numbers.small(9)) {
        case 0:
        case 1:
          std::ignore = writer.offered(from, {numbers.chunk(), numbers.small(4), {}, 0});
          break;
        case 2:
          if (!writer.room_for(from, numbers.small(4), 4096).empty())
            writer.bytes_came(from, numbers.small(4));
          break;
        case 3:
          std::ignore =
              writer.finish(name, from.number, static_cast<std::uint32_t>(numbers.small(3)));
          break;
        case 4:
          std::ignore = writer.placed(numbers.small(6), numbers.any());
          break;
        case 5:
          std::ignore = writer.go(name, RoundMeans::kQueues, {{numbers.any(), numbers.any()}});
          break;
        case 6:
          std::ignore = writer.send_bytes(from, numbers.small(6) | kRelayed);
          break;
        case 7:
          std::ignore = writer.taken(numbers.small(6) | kRelayed);
          break;
        default:
          context.answer_all(LaneCall::kOpen);
          context.answer_all(LaneCall::kWrite);
      }
    }
    writer.resolved(step(1), failed("over"));
    writer.resolved(step(2), failed("over"));
    context.answer_all(LaneCall::kWrite);
    context.settle();
  }
}

void attack_owner(Strategy strategy) {
  Numbers numbers;
  for (int round = 0; round < 300; ++round) {
    WritePlan plan{.strategy = strategy, .writers = 3, .files = 1};
    plan.steps_in_flight = 2;
    plan.steps_per_group = 1;
    TestContext context(crew_of(3), plan, 0);
    FileOwner owner(context, FileOwner::Setup{{}, 1, 0});
    owner.start();
    for (int letter = 0; letter < 40; ++letter) {
      const comm::Rank from{static_cast<std::uint32_t>(numbers.small(3))};
      const StepName name = step(1 + numbers.small(2));
      const comm::Bytes part = to_bytes(rank_step_of(name.step, from.number * 10, 1));
      switch (numbers.small(9)) {
        case 0:
          std::ignore = owner.asked(from, name, numbers.any(), numbers.any());
          break;
        case 1:
          std::ignore = owner.trim(name.group, {numbers.any(), numbers.any()}, numbers.any());
          break;
        case 2:
          std::ignore = owner.ready(from, name, {{numbers.any(), numbers.any()}});
          break;
        case 3:
          std::ignore = owner.part_came(from, name, part, numbers.small(2) * part.size());
          break;
        case 4:
          owner.tell_missing(name);
          break;
        case 5:
          owner.resolved(name, StepFate::kPublished, {});
          break;
        case 6:
          owner.turn_over(from);
          break;
        case 7:
          owner.tick(std::chrono::steady_clock::now() + std::chrono::hours(1));
          break;
        default:
          context.answer_all(LaneCall::kCreate);
          context.answer_all(LaneCall::kWrite);
      }
      context.settle();
    }
    owner.end();
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      owner.turn_over({rank});
  }
}

TEST(RolesUnderAttack, owner_survives_letters_in_any_order) {
  attack_owner(Strategy::kReducedBlocking);
}

TEST(RolesUnderAttack, owner_of_a_baton_survives_letters_in_any_order) {
  attack_owner(Strategy::kBaton);
}

TEST(Pieces, more_bytes_than_announced_are_refused) {
  Pieces claims;
  const comm::Bytes piece(100);
  EXPECT_TRUE(claims.add(LetterKind::kClaims, piece, 250));
  EXPECT_TRUE(claims.add(LetterKind::kClaims, piece, 250));
  EXPECT_FALSE(claims.is_whole());
  const Status more = claims.add(LetterKind::kClaims, piece, 250);
  ASSERT_FALSE(more);
  EXPECT_THAT(more.error().message(),
              ContainsRegex("'claims': field 'bytes of all pieces' is 250"));
  const Status another = claims.add(LetterKind::kClaims, piece, UINT64_MAX);
  ASSERT_FALSE(another);
  EXPECT_THAT(another.error().message(), ContainsRegex("must be 250 as in the first piece"));
  EXPECT_EQ(claims.bytes.size(), 200U);
}

}  // namespace
}  // namespace forebay::write
