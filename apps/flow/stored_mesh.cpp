// SPDX-License-Identifier: Apache-2.0
#include "flow/stored_mesh.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace forebay::flow {

namespace {

constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kFactNumbers = 5;

/// The numbers inside an array of arrays.
template <class Number, class Items>
std::span<const Number> flat(const Items& items) {
  const std::size_t width = sizeof(items[0]) / sizeof(Number);
  return {reinterpret_cast<const Number*>(items.data()), items.size() * width};
}

template <class Item, class Number>
std::vector<Item> unflat(const std::vector<Number>& numbers) {
  std::vector<Item> items(numbers.size() * sizeof(Number) / sizeof(Item));
  std::ranges::copy(std::as_bytes(std::span(numbers)).first(items.size() * sizeof(Item)),
                    std::as_writable_bytes(std::span(items)).begin());
  return items;
}

tl::unexpected<Error> damage(std::uint32_t part, const char* array, const char* what) {
  return failure({.kind = ErrorClass::kDamage,
                  .operation = "read mesh",
                  .cause = fmt::format("array {} of part {}: {}", array, part, what)});
}

/// Reads arrays of one part; the first failure stays.
class PartReader {
 public:
  PartReader(StepReader& step, std::uint32_t part) : step_(step), part_(part) {}

  template <class Value>
  std::vector<Value> get(const char* name, std::uint32_t width = 1) {
    if (!status_) return {};
    Result<std::vector<Value>> values = step_.get_values<Value>({name, part_}, width);
    if (values) return std::move(*values);
    status_ = failure(values.error());
    return {};
  }
  const Status& status() const { return status_; }

 private:
  StepReader& step_;
  std::uint32_t part_;
  Status status_;
};

/// Fills in neighbours: pairs of part and count, and all shared nodes behind each other.
Status unpack_neighbours(Part& part,
                         std::span<const std::uint32_t> pairs,
                         std::span<const std::uint32_t> shared) {
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const std::uint32_t count = pairs[i + 1];
    if (count == 0 || count > shared.size()) {
      return damage(part.number, "neighbours", "counts do not match the shared nodes");
    }
    part.neighbours.push_back({pairs[i], {shared.begin(), shared.begin() + count}});
    shared = shared.subspan(count);
  }
  if (shared.empty()) return {};
  return damage(part.number, "neighbours", "counts do not match the shared nodes");
}

bool rises_strictly(const auto& values) {
  return std::ranges::adjacent_find(values, std::ranges::greater_equal()) == values.end();
}

Status check_neighbours_of(const Part& part, const MeshFacts& facts) {
  std::vector<std::uint32_t> numbers;
  for (const Neighbour& neighbour : part.neighbours) {
    numbers.push_back(neighbour.part);
    const bool is_another = neighbour.part != part.number && neighbour.part < facts.parts;
    if (!is_another) return damage(part.number, "neighbours", "a part that cannot be there");
    std::vector<std::uint64_t> nodes;
    for (const std::uint32_t node : neighbour.nodes) {
      if (node >= part.node_count()) return damage(part.number, "shared", "no such node");
      nodes.push_back(part.nodes[node]);
    }
    if (!rises_strictly(nodes)) return damage(part.number, "shared", "nodes are out of order");
  }
  if (rises_strictly(numbers)) return {};
  return damage(part.number, "neighbours", "parts are out of order");
}

/// Counts the groups of nodes and makes sure that they lie one behind the other.
Status find_groups(Part& part) {
  constexpr std::uint32_t kNobody = UINT32_MAX;
  std::vector<std::uint32_t> lowest(part.node_count(), kNobody);  // of the neighbours with a node
  for (const Neighbour& neighbour : part.neighbours) {
    for (const std::uint32_t node : neighbour.nodes)
      lowest[node] = std::min(lowest[node], neighbour.part);
  }
  const auto group_of = [&](std::uint32_t neighbour) {
    if (neighbour == kNobody) return 2;
    return neighbour > part.number ? 0 : 1;
  };
  if (!std::ranges::is_sorted(lowest, {}, group_of)) {
    return damage(part.number, "nodes", "owned, shared and inner nodes are mixed");
  }
  const auto end_of = [&](int group) {
    return static_cast<std::size_t>(std::ranges::upper_bound(lowest, group, {}, group_of) -
                                    lowest.begin());
  };
  part.owned_shared_count = end_of(0);
  part.shared_count = end_of(1);
  return {};
}

Status check_sizes(const Part& part, const MeshFacts& facts) {
  const std::size_t count = part.node_count();
  if (count == 0 || part.coordinates.size() != count || part.marks.size() != count) {
    return damage(part.number, "nodes", "nodes, coordinates and marks are not as many");
  }
  const auto is_node = [&](std::uint64_t node) { return node < facts.nodes; };
  if (!std::ranges::all_of(part.nodes, is_node))
    return damage(part.number, "nodes", "no such node");
  const auto is_finite = [](const Point& place) {
    return std::ranges::all_of(place, [](double x) { return std::isfinite(x); });
  };
  if (!std::ranges::all_of(part.coordinates, is_finite)) {
    return damage(part.number, "coordinates", "a number that is not finite");
  }
  const auto is_mark = [](Mark mark) { return mark <= Mark::kOutlet; };
  if (!std::ranges::all_of(part.marks, is_mark))
    return damage(part.number, "marks", "unknown mark");
  std::vector<bool> is_used(count);
  for (const Tetrahedron& element : part.elements) {
    for (const std::uint32_t node : element) {
      if (node >= count) return damage(part.number, "elements", "no such node");
      is_used[node] = true;
    }
  }
  if (std::ranges::count(is_used, false) == 0) return {};
  return damage(part.number, "elements", "a node belongs to none of them");
}

}  // namespace

Status put_facts(StepWriter& step, const MeshFacts& facts) {
  const std::array<std::uint64_t, kFactNumbers> numbers{kVersion, facts.parts, facts.nodes,
                                                        facts.elements, facts.seed};
  return step.put_values<std::uint64_t>({"facts", 0}, numbers);
}

Result<MeshFacts> get_facts(StepReader& step) {
  const auto numbers = step.get_values<std::uint64_t>({"facts", 0});
  if (!numbers) return failure(numbers.error());
  if (numbers->size() != kFactNumbers) return damage(0, "facts", "it has another length");
  const std::uint64_t version = numbers->front();
  const MeshFacts facts{(*numbers)[1], (*numbers)[2], (*numbers)[3], (*numbers)[4]};
  if (version != kVersion) return damage(0, "facts", "this program knows version 1 only");
  if (facts.parts >= 1 && facts.parts <= UINT32_MAX) return facts;
  return damage(0, "facts", "impossible number of parts");
}

Status put_part(StepWriter& step, const Part& part) {
  std::vector<std::uint32_t> marks;
  for (const Mark mark : part.marks)
    marks.push_back(static_cast<std::uint32_t>(mark));
  std::vector<std::uint32_t> pairs;
  std::vector<std::uint32_t> shared;
  for (const Neighbour& neighbour : part.neighbours) {
    pairs.push_back(neighbour.part);
    pairs.push_back(static_cast<std::uint32_t>(neighbour.nodes.size()));
    shared.insert(shared.end(), neighbour.nodes.begin(), neighbour.nodes.end());
  }
  const auto name = [&](const char* array) { return ArrayName{array, part.number}; };
  Status put = step.put_values<std::uint64_t>(name("nodes"), part.nodes);
  if (put) put = step.put_values(name("coordinates"), flat<double>(part.coordinates), 3);
  if (put) put = step.put_values<std::uint32_t>(name("marks"), marks);
  if (put) put = step.put_values(name("elements"), flat<std::uint32_t>(part.elements), 4);
  if (put) put = step.put_values<std::uint32_t>(name("neighbours"), pairs, 2);
  if (put) put = step.put_values<std::uint32_t>(name("shared"), shared);
  return put;
}

Result<Part> get_part(StepReader& step, std::uint32_t number, const MeshFacts& facts) {
  PartReader reader(step, number);
  Part part{.number = number};
  part.nodes = reader.get<std::uint64_t>("nodes");
  part.coordinates = unflat<Point>(reader.get<double>("coordinates", 3));
  part.elements = unflat<Tetrahedron>(reader.get<std::uint32_t>("elements", 4));
  for (const std::uint32_t mark : reader.get<std::uint32_t>("marks"))
    part.marks.push_back(static_cast<Mark>(mark));
  const std::vector<std::uint32_t> pairs = reader.get<std::uint32_t>("neighbours", 2);
  const std::vector<std::uint32_t> shared = reader.get<std::uint32_t>("shared");
  Status status = reader.status();
  if (status) status = check_sizes(part, facts);
  if (status) status = unpack_neighbours(part, pairs, shared);
  if (status) status = check_neighbours_of(part, facts);
  if (status) status = find_groups(part);
  if (!status) return failure(status.error());
  return part;
}

}  // namespace forebay::flow
