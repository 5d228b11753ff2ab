// SPDX-License-Identifier: Apache-2.0
// Messages that no rank sends: truncated, too long or changed bytes, invalid headers and senders,
// and orders that no role produces.
#include "write/message_codec.hpp"

#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "comm/message_testing.hpp"
#include "comm/message_transport_testing.hpp"
#include "write/aggregator.hpp"
#include "write/decision.hpp"
#include "write/file_owner.hpp"
#include "write/io_rank_notifier.hpp"
#include "write/role_testing.hpp"
#include "write/step_coverage.hpp"

namespace forebay::write {
namespace {

using testing::ContainsRegex;

OfferChunkMessage some_offer() {
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

FileDurableMessage some_file_durable() {
  return {.step = {7, 3},
          .file = 1,
          .index = {.offset = 8192, .bytes = 300, .checksum = 5},
          .raw_bytes = 10,
          .stored_bytes = 9};
}

RankMetadata some_metadata() {
  RankMetadata part = test_metadata(7, 10, 3);
  part.fields.push_back({.name = "pressure",
                         .type = ElementType::kFloat32,
                         .kind = format::FieldKind::kGlobal,
                         .dimensions = 2,
                         .shape = {16, 8}});
  EXPECT_TRUE(part.attributes.set({.name = "time"}, 0.5));
  EXPECT_TRUE(part.attributes.set({format::AttributeScope::kField, "pressure", "units"}, "Pa"));
  return part;
}

TEST(MessageCodec, messages_round_trip) {
  const auto offer = offer_chunk_from_bytes(to_bytes(some_offer()));
  ASSERT_TRUE(offer) << offer.error().message();
  EXPECT_EQ(to_bytes(*offer), to_bytes(some_offer()));
  EXPECT_EQ(offer->memory, some_offer().memory);
  EXPECT_TRUE(offer->chunk.is_last);
  const auto sealed = file_durable_from_bytes(to_bytes(some_file_durable()));
  ASSERT_TRUE(sealed) << sealed.error().message();
  EXPECT_EQ(to_bytes(*sealed), to_bytes(some_file_durable()));
  const auto part = rank_metadata_from_bytes(to_bytes(some_metadata()));
  ASSERT_TRUE(part) << part.error().message();
  EXPECT_EQ(to_bytes(*part), to_bytes(some_metadata()));
}

TEST(MessageCodec, malformed_offer_is_refused_by_field) {
  comm::expect_safe_decoding(to_bytes(some_offer()), offer_chunk_from_bytes);
}

TEST(MessageCodec, malformed_file_durable_is_refused_by_field) {
  comm::expect_safe_decoding(to_bytes(some_file_durable()), file_durable_from_bytes);
}

TEST(MessageCodec, malformed_rank_metadata_is_refused_by_field) {
  comm::expect_safe_decoding(to_bytes(some_metadata()), rank_metadata_from_bytes);
}

TEST(MessageCodec, malformed_coverage_is_refused_by_field) {
  const RankMetadata part = some_metadata();
  const std::uint32_t rank = 3;
  comm::expect_safe_decoding(to_bytes(coverage_of({&part, 1}, {&rank, 1})), coverage_from_bytes);
}

TEST(MessageCodec, malformed_summary_is_refused_by_field) {
  const auto summary = rank_summary_from_bytes(to_bytes(summary_of(some_metadata())));
  ASSERT_TRUE(summary) << summary.error().message();
  ASSERT_EQ(summary->attributes.size(), 2U);
  EXPECT_EQ(summary->attributes[1].key.field, "pressure");
  EXPECT_EQ(summary->attributes[1].hash, format::hash_of("Pa"));
  comm::expect_safe_decoding(to_bytes(summary_of(some_metadata())), rank_summary_from_bytes);
}

TEST(MessageCodec, dangling_references_are_refused_by_field) {
  const auto message_of = [](const auto& change) {
    RankMetadata part = some_metadata();
    change(part);
    const auto decoded = rank_metadata_from_bytes(to_bytes(part));
    return decoded ? std::string() : decoded.error().message();
  };
  EXPECT_THAT(message_of([](RankMetadata& part) { part.blocks[1].field = 2; }),
              ContainsRegex("'rank metadata': field 'block field' is 2"));
  EXPECT_THAT(message_of([](RankMetadata& part) { part.blocks[1].first_dim = 3; }),
              ContainsRegex("'rank metadata': field 'block first dim' is 3"));
  EXPECT_THAT(message_of([](RankMetadata& part) { part.blocks[1].first_piece = UINT64_MAX; }),
              ContainsRegex("'rank metadata': field 'block first piece' is 18446744073709551615"));
  EXPECT_THAT(message_of([](RankMetadata& part) { part.piece_ends.resize(1); }),
              ContainsRegex("'rank metadata': field 'piece ends' is 1"));
  OfferChunkMessage offer = some_offer();
  offer.chunk.offset = UINT64_MAX;
  EXPECT_THAT(offer_chunk_from_bytes(to_bytes(offer)).error().message(),
              ContainsRegex("'offer chunk': field 'offset' is 18446744073709551615"));
}

WritePlan some_plan() {
  const auto plan = plan_write({.rank_layout = single_node_layout(4)}, {.writers = 2, .files = 2});
  EXPECT_TRUE(plan) << plan.error().message();
  return *plan;
}

/// Of a message with plans, which are text: some changes give another valid message.
template <class Decode>
void expect_truncated_is_refused(const comm::Bytes& whole, const Decode& decode) {
  ASSERT_TRUE(decode(whole));
  for (std::size_t size = 1; size < whole.size(); ++size)
    EXPECT_FALSE(decode(std::span(whole).first(size)));
  std::mt19937 random(comm::kMutationSeed);
  for (int round = 0; round < comm::kMutations; ++round) {
    comm::Bytes changed = whole;
    changed[random() % changed.size()] = static_cast<std::byte>(random());
    std::ignore = decode(changed);
  }
}

TEST(MessageCodec, malformed_decision_is_refused) {
  const Decision decision{.path = "run.fb", .plan = some_plan(), .state = {}};
  expect_truncated_is_refused(to_bytes(decision), decision_from_bytes);
  EXPECT_FALSE(decision_from_bytes({}));
}

TEST(MessageCodec, malformed_outcome_is_refused) {
  const StepOutcomeMessage message{.changes = {{7, some_plan()}}};
  expect_truncated_is_refused(to_bytes(message), step_outcome_from_bytes);
}

TEST(MessageCodec, outcome_with_error_and_plans_round_trips) {
  EXPECT_TRUE(to_bytes(StepOutcomeMessage()).empty());
  StepOutcomeMessage message{.failure = io_error("no space")};
  for (const std::uint64_t group : {7U, 9U}) {
    message.changes.push_back({group, some_plan()});
    message.changes.back().plan.reason = "trial " + std::to_string(group) + "\nof many";
  }
  const auto decoded = step_outcome_from_bytes(to_bytes(message));
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(decoded->failure->message(), message.failure->message());
  ASSERT_EQ(decoded->changes.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(decoded->changes[i].first_group, message.changes[i].first_group);
    EXPECT_EQ(decoded->changes[i].plan, message.changes[i].plan);
  }
}

/// Plans with the most different aggregation: a chain, and I/O ranks.
std::vector<AggregationMap> some_aggregations() {
  std::vector<AggregationMap> all;
  const RankLayout alone = single_node_layout(4);
  RankLayout given = single_node_layout(3);
  given.node_of_io_rank = {0, 0};
  for (const auto& [rank_layout, strategy] :
       {std::pair(alone, Strategy::kBrigade), std::pair(alone, Strategy::kFilePerProcess),
        std::pair(alone, Strategy::kBaton), std::pair(given, Strategy::kReducedBlocking)}) {
    WritePlan requested{.strategy = strategy};
    if (rank_layout.io_rank_count() > 0) requested.writers = 1;
    const auto plan = plan_write({.rank_layout = rank_layout}, requested);
    EXPECT_TRUE(plan) << plan.error().message();
    if (plan) all.emplace_back(rank_layout, *plan);
  }
  return all;
}

TEST(CheckMessage, invalid_headers_and_senders_are_refused_by_field) {
  std::mt19937 random(comm::kMutationSeed);
  const auto all = some_aggregations();
  for (int round = 0; round < 20 * comm::kMutations; ++round) {
    const AggregationMap& aggregation = all[random() % all.size()];
    const std::uint32_t ranks =
        aggregation.compute_rank_count() + (&aggregation == &all.back() ? 2 : 0);
    comm::LinkHeader header{.payload_bytes = static_cast<std::uint32_t>(random() % 100),
                            .kind = static_cast<std::uint32_t>(random() % 28)};
    header.words.at(random() % 4) = random();
    const Status checked = check_message(header, static_cast<RankNumber>(random() % ranks),
                                         static_cast<RankNumber>(random() % ranks), aggregation);
    if (checked) continue;
    ASSERT_THAT(checked.error().message(), ContainsRegex("message '.+': field '.+' is [0-9]+"));
  }
}

TEST(CheckMessage, outcome_of_non_coordinator_is_refused) {
  const auto all = some_aggregations();
  const comm::LinkHeader published{
      .kind = static_cast<std::uint32_t>(MessageKind::kStepOutcome),
      .words = {7, 3, static_cast<std::uint64_t>(StepOutcome::kPublished)}};
  EXPECT_TRUE(check_message(published, AggregationMap::coordinator(), 1, all.front()));
  const Status refused = check_message(published, 2, 1, all.front());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), ContainsRegex("'step outcome': field 'sender' is 2"));
}

/// Rank 0 sends an invalid decision; rank 1, an I/O rank, closes the link.
TEST(IoRankNotifier, malformed_notification_closes_only_the_link) {
  std::mt19937 random(comm::kMutationSeed);
  for (int round = 0; round < 20; ++round) {
    const comm::LinkHeader forged{.kind = static_cast<std::uint32_t>(round == 0 ? 0 : random() % 4),
                                  .words = {random() % 3, random() % 2}};
    comm::run_on_ranks(2, [&](const comm::CommunicatorPtr& ranks) {
      if (ranks->rank() == comm::Rank{1}) {
        comm::LinkOptions options;
        options.connect_timeout_ms = std::chrono::seconds(30);
        std::ignore = IoRankNotifier::open(*ranks, 1, options).map([](auto io_rank_notifier) {
          io_rank_notifier->wait_for_notification();
        });
        return;
      }
      const auto transport = comm::value_or_throw(comm::MessageTransport::open(*ranks, {}), "open");
      comm::RecordingHandler handler;
      EXPECT_TRUE(transport->send(comm::Rank{1}, forged, comm::pattern(0, 50)));
      EXPECT_TRUE(comm::run_until_lost(*transport, handler, comm::Rank{1}));
      EXPECT_FALSE(ranks->agree(failure({.operation = "forge"})));
    });
  }
}

/// Numbers that occur in messages of a small job, and a few that do not.
class RandomValues {
 public:
  std::uint64_t small(std::uint64_t count) { return random_() % count; }
  std::uint64_t any() {
    constexpr std::array<std::uint64_t, 5> kEdges{0, 4096, kRegionBytesMax, UINT64_MAX, kRelayFlag};
    return small(2) == 0 ? small(3) : kEdges.at(small(kEdges.size()));
  }
  Chunk chunk() {
    return {.step = step_id(1 + small(2)),
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

TEST(RoleFuzz, aggregator_survives_messages_in_any_order) {
  RandomValues numbers;
  for (int round = 0; round < 300; ++round) {
    WritePlan plan{.strategy = Strategy::kReducedBlocking, .writers = 1, .files = 1};
    plan.tuning.exchange = Exchange::kMessage;
    plan.tuning.steps_per_group = 1;
    TestContext context(single_node_layout(4), plan, 0);
    const auto receive_staging =
        StagingPool::create({.memory_bytes = 4 * 4096, .segment_bytes = 4096, .prefault_bytes = 0});
    ASSERT_TRUE(receive_staging);
    Aggregator writer(context, *receive_staging);
    for (int message = 0; message < 40; ++message) {
      const comm::Rank from{static_cast<std::uint32_t>(numbers.small(4))};
      const StepId name = step_id(1 + numbers.small(2));
      switch (numbers.small(9)) {
        case 0:
        case 1:
          std::ignore = writer.handle_offer_chunk(from, {numbers.chunk(), numbers.small(4), {}, 0});
          break;
        case 2:
          if (!writer.receive_buffer(from, numbers.small(4), 4096).empty())
            writer.handle_chunk_data(from, numbers.small(4));
          break;
        case 3:
          std::ignore = writer.handle_region_count(name, from.number,
                                                   static_cast<std::uint32_t>(numbers.small(3)));
          break;
        case 4:
          std::ignore = writer.handle_allocate_reply(numbers.small(6), numbers.any());
          break;
        case 5:
          std::ignore = writer.handle_collective_start(name, CollectiveMethod::kIndependent,
                                                       {{numbers.any(), numbers.any()}});
          break;
        case 6:
          std::ignore = writer.handle_fetch_chunk(from, numbers.small(6) | kRelayFlag);
          break;
        case 7:
          std::ignore = writer.handle_release_chunk(numbers.small(6) | kRelayFlag);
          break;
        default:
          context.complete_all(FileOperation::kOpen);
          context.complete_all(FileOperation::kWrite);
      }
    }
    writer.handle_step_outcome(step_id(1), failed_status("over"));
    writer.handle_step_outcome(step_id(2), failed_status("over"));
    context.complete_all(FileOperation::kWrite);
    context.run_pending();
  }
}

void fuzz_file_owner(Strategy strategy) {
  RandomValues numbers;
  for (int round = 0; round < 300; ++round) {
    WritePlan plan{.strategy = strategy, .writers = 3, .files = 1};
    plan.steps_in_flight = 2;
    plan.tuning.steps_per_group = 1;
    TestContext context(single_node_layout(3), plan, 0);
    FileOwner owner(context, FileOwner::Setup{{}, 1, 0});
    owner.start();
    for (int message = 0; message < 40; ++message) {
      const comm::Rank from{static_cast<std::uint32_t>(numbers.small(3))};
      const StepId name = step_id(1 + numbers.small(2));
      const comm::Bytes part = to_bytes(test_metadata(name.step, from.number * 10, 1));
      switch (numbers.small(9)) {
        case 0:
          std::ignore = owner.handle_allocate_request(from, name, numbers.any(), numbers.any());
          break;
        case 1:
          std::ignore =
              owner.handle_trim(name.group, {numbers.any(), numbers.any()}, numbers.any());
          break;
        case 2:
          std::ignore = owner.handle_collective_ready(from, name, {{numbers.any(), numbers.any()}});
          break;
        case 3:
          std::ignore =
              owner.handle_rank_metadata(from, name, part, numbers.small(2) * part.size());
          break;
        case 4:
          owner.report_missing_ranks(name);
          break;
        case 5:
          owner.handle_step_outcome(name, StepOutcome::kPublished, {});
          break;
        case 6:
          owner.release_baton(from);
          break;
        case 7:
          owner.tick(std::chrono::steady_clock::now() + std::chrono::hours(1));
          break;
        default:
          context.complete_all(FileOperation::kCreate);
          context.complete_all(FileOperation::kWrite);
      }
      context.run_pending();
    }
    owner.shut_down();
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      owner.release_baton({rank});
  }
}

TEST(RoleFuzz, owner_survives_messages_in_any_order) {
  fuzz_file_owner(Strategy::kReducedBlocking);
}

TEST(RoleFuzz, baton_owner_survives_messages_in_any_order) { fuzz_file_owner(Strategy::kBaton); }

TEST(ReassemblyBuffer, bytes_beyond_announced_total_are_refused) {
  ReassemblyBuffer coverage;
  const comm::Bytes piece(100);
  EXPECT_TRUE(coverage.add(MessageKind::kCoverage, piece, 250));
  EXPECT_TRUE(coverage.add(MessageKind::kCoverage, piece, 250));
  EXPECT_FALSE(coverage.is_complete());
  const Status more = coverage.add(MessageKind::kCoverage, piece, 250);
  ASSERT_FALSE(more);
  EXPECT_THAT(more.error().message(),
              ContainsRegex("'coverage': field 'total size of all fragments' is 250"));
  const Status another = coverage.add(MessageKind::kCoverage, piece, UINT64_MAX);
  ASSERT_FALSE(another);
  EXPECT_THAT(another.error().message(), ContainsRegex("must be 250 as in the first fragment"));
  EXPECT_EQ(coverage.bytes.size(), 200U);
}

}  // namespace
}  // namespace forebay::write
