// SPDX-License-Identifier: Apache-2.0
// What every implementation of Communicator does: collective calls, agreement, split, topology.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>

#include "comm/testing.hpp"

namespace forebay::comm {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CommunicatorSuite);

namespace {

Bytes own_bytes(const Communicator& ranks) {
  return pattern(ranks.rank().number, 100 * ranks.rank().number);  // rank 0 contributes nothing
}

TEST_P(CommunicatorSuite, every_rank_has_its_own_number) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const Bytes mine = bytes_of(std::to_string(ranks->rank().number));
    const auto all = value_or_throw(ranks->all_gather(mine), "all_gather");
    ASSERT_EQ(all.size(), ranks->size());
    for (std::size_t i = 0; i < all.size(); ++i)
      EXPECT_EQ(text_of(all[i]), std::to_string(i));
  });
}

TEST_P(CommunicatorSuite, barrier_returns_after_all_ranks_called) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const SharedDirectory directory(ranks);
    std::ofstream(directory / std::to_string(ranks->rank().number)) << "here";
    ASSERT_TRUE(ranks->barrier());
    for (std::uint32_t i = 0; i < ranks->size(); ++i)
      EXPECT_TRUE(std::filesystem::exists(directory / std::to_string(i))) << i;
  });
}

TEST_P(CommunicatorSuite, broadcast_copies_root_bytes_to_all_ranks) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    for (std::uint32_t root = 0; root < ranks->size(); ++root) {
      Bytes bytes(10'001 * root);
      if (ranks->rank() == Rank{root}) bytes = pattern(root, bytes.size());
      ASSERT_TRUE(ranks->broadcast(bytes, Rank{root}));
      EXPECT_EQ(bytes, pattern(root, bytes.size())) << root;
    }
  });
}

TEST_P(CommunicatorSuite, gather_collects_different_lengths_at_root) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    for (std::uint32_t root = 0; root < ranks->size(); ++root) {
      const auto all = value_or_throw(ranks->gather(own_bytes(*ranks), Rank{root}), "gather");
      ASSERT_EQ(all.size(), ranks->rank() == Rank{root} ? ranks->size() : 0);
      for (std::size_t i = 0; i < all.size(); ++i)
        EXPECT_EQ(all[i], pattern(i, 100 * i)) << i;
    }
  });
}

TEST_P(CommunicatorSuite, all_gather_collects_different_lengths_on_all_ranks) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const auto all = value_or_throw(ranks->all_gather(own_bytes(*ranks)), "all_gather");
    ASSERT_EQ(all.size(), ranks->size());
    for (std::size_t i = 0; i < all.size(); ++i)
      EXPECT_EQ(all[i], pattern(i, 100 * i)) << i;
  });
}

TEST_P(CommunicatorSuite, all_reduce_counts_in_64_bits) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const std::uint64_t high = std::uint64_t{1} << 40U;
    const std::uint64_t mine = high + ranks->rank().number;
    const std::uint64_t n = ranks->size();
    EXPECT_EQ(value_or_throw(ranks->all_reduce(Reduction::kMin, mine), "min"), high);
    EXPECT_EQ(value_or_throw(ranks->all_reduce(Reduction::kMax, mine), "max"), high + n - 1);
    EXPECT_EQ(value_or_throw(ranks->all_reduce(Reduction::kSum, mine), "sum"),
              n * high + n * (n - 1) / 2);
    EXPECT_EQ(value_or_throw(ranks->all_reduce(Reduction::kMax, UINT64_MAX), "max"), UINT64_MAX);
  });
}

TEST_P(CommunicatorSuite, invalid_root_is_refused) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    Bytes bytes(1);
    const Rank missing_rank{ranks->size()};
    const Status broadcast_status = ranks->broadcast(bytes, missing_rank);
    ASSERT_FALSE(broadcast_status);
    EXPECT_EQ(broadcast_status.error().kind(), ErrorClass::kInvalidArgument);
    EXPECT_EQ(error_class(ranks->gather(bytes, missing_rank)), ErrorClass::kInvalidArgument);
  });
}

TEST_P(CommunicatorSuite, agree_is_success_if_all_succeed) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) { EXPECT_TRUE(ranks->agree({})); });
}

Error own_error(const Communicator& ranks) {
  return system_error({.operation = "open",
                       .path = "data." + std::to_string(ranks.rank().number),
                       .offset_bytes = 4096 + ranks.rank().number,
                       .cause = "look here"},
                      ENOSPC);
}

TEST_P(CommunicatorSuite, agree_returns_error_of_first_failed_rank_on_all) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    for (std::uint32_t first = 0; first < ranks->size(); ++first) {
      Status outcome;
      if (ranks->rank().number >= first) outcome = failure(own_error(*ranks));
      const Status agreed = ranks->agree(outcome);
      ASSERT_FALSE(agreed);
      EXPECT_EQ(agreed.error().rank(), first);
      EXPECT_EQ(agreed.error().kind(), ErrorClass::kNoSpace);
      EXPECT_EQ(agreed.error().error_number(), ENOSPC);
      EXPECT_EQ(agreed.error().path(), "data." + std::to_string(first));
      EXPECT_EQ(agreed.error().offset_bytes(), 4096 + first);
      EXPECT_EQ(agreed.error().message(), "rank " + std::to_string(first) + ": open data." +
                                              std::to_string(first) + " at offset " +
                                              std::to_string(4096 + first) +
                                              ": No space left on device (ENOSPC): look here");
    }
  });
}

TEST_P(CommunicatorSuite, agreed_error_keeps_its_rank) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const std::uint32_t last = ranks->size() - 1;
    Status outcome;
    if (ranks->rank().number == last) outcome = failure(own_error(*ranks));
    const Status again = ranks->agree(ranks->agree(outcome));
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().rank(), last);
  });
}

TEST_P(CommunicatorSuite, duplicate_has_separate_message_space) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const CommunicatorPtr other = value_or_throw(ranks->duplicate(), "duplicate");
    EXPECT_EQ(other->rank(), ranks->rank());
    EXPECT_EQ(other->size(), ranks->size());
    const Rank me = ranks->rank();
    Bytes here(1);
    Bytes there(1);
    MessageRequest sent_here = ranks->send(std::as_bytes(std::span("h", 1)), me, {});
    MessageRequest sent_there = other->send(std::as_bytes(std::span("t", 1)), me, {});
    ASSERT_TRUE(other->receive(there, me, {}).wait());
    ASSERT_TRUE(ranks->receive(here, me, {}).wait());
    EXPECT_EQ(text_of(there), "t");
    EXPECT_EQ(text_of(here), "h");
    EXPECT_TRUE(sent_here.wait());
    EXPECT_TRUE(sent_there.wait());
  });
}

TEST_P(CommunicatorSuite, a_duplicate_outlives_its_original) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    CommunicatorPtr first = value_or_throw(ranks->duplicate(), "duplicate");
    const CommunicatorPtr second = value_or_throw(first->duplicate(), "duplicate");
    first.reset();
    EXPECT_EQ(value_or_throw(second->all_reduce(Reduction::kSum, 1), "sum"), ranks->size());
  });
}

TEST_P(CommunicatorSuite, split_groups_by_color_ordered_by_key) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const std::uint32_t old = ranks->rank().number;

    const std::uint32_t color = old % 2;
    const auto part =
        value_or_throw(ranks->split({.color = color, .key = ranks->size() - old}), "split");
    const std::uint32_t of_color = (ranks->size() + 1 - color) / 2;
    EXPECT_EQ(part->size(), of_color);
    EXPECT_EQ(part->rank().number, of_color - 1 - old / 2);  // keys reverse the order
    const auto all = value_or_throw(part->all_gather(bytes_of(std::to_string(old))), "all_gather");
    EXPECT_EQ(text_of(all[part->rank().number]), std::to_string(old));
    EXPECT_EQ(value_or_throw(part->all_reduce(Reduction::kSum, color), "sum"), color * of_color);
  });
}

TEST_P(CommunicatorSuite, split_orders_equal_keys_by_old_rank_and_can_be_split_again) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const auto same = value_or_throw(ranks->split({.color = 7, .key = 3}), "split");
    EXPECT_EQ(same->rank(), ranks->rank());
    const auto alone = value_or_throw(same->split({.color = same->rank().number}), "split");
    EXPECT_EQ(alone->size(), 1U);
    EXPECT_EQ(alone->rank(), Rank{0});
    EXPECT_TRUE(alone->barrier());
    EXPECT_EQ(alone->nodes().count(), 1U);
  });
}

TEST_P(CommunicatorSuite, every_rank_is_on_one_node) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const Nodes& nodes = ranks->nodes();
    std::set<Rank> seen;
    for (std::uint32_t i = 0; i < nodes.count(); ++i) {
      const std::vector<Rank>& here = nodes.ranks_of(Node{i});
      ASSERT_FALSE(here.empty());
      EXPECT_EQ(nodes.leader_of(Node{i}), *std::min_element(here.begin(), here.end()));
      for (std::uint32_t place = 0; place < here.size(); ++place) {
        EXPECT_TRUE(seen.insert(here[place]).second);
        EXPECT_EQ(nodes.node_of(here[place]), Node{i});
        EXPECT_EQ(nodes.local_rank(here[place]), place);
      }
    }
    EXPECT_EQ(seen.size(), ranks->size());
    const auto halves = value_or_throw(ranks->split({.color = ranks->rank().number % 2}), "split");
    EXPECT_LE(halves->nodes().count(), nodes.count());
  });
}

TEST_P(CommunicatorSuite, name_identifies_the_implementation) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const std::string& name = ranks->name();
    const bool is_known = name == "solo" || name == "threads" || name.starts_with("mpi: ");
    EXPECT_TRUE(is_known) << name;
    EXPECT_EQ(name.find('\n'), std::string::npos);
    EXPECT_EQ(value_or_throw(ranks->duplicate(), "duplicate")->name(), name);
  });
}

}  // namespace
}  // namespace forebay::comm
