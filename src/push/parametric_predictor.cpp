// SPDX-License-Identifier: Apache-2.0
#include "push/parametric_predictor.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace forebay::push {

namespace {

using trace::Access;
using trace::LoopIndexes;
using Form = LinearSystem::Form;
using Kind = ParametricNode::Kind;

/// Steps from loop to loop without an access, after which a signature has ended.
constexpr std::size_t kStepsMax = std::size_t{1} << 16U;

/// Adds scale * the terms of the number with the variable of this depth.
bool add_terms(Form& form, const ParametricNumber& number, std::size_t depth, std::int64_t scale) {
  for (const ParametricTerm& term : number) {
    if (term.depth != depth) continue;
    LinearSystem::Wide& sum = form[term.product];
    if (__builtin_add_overflow(sum, LinearSystem::Wide{term.factor} * scale, &sum)) return false;
  }
  return true;
}

/// The number where the loops have these indexes.
bool add_number(Form& form, const ParametricNumber& number, const LoopIndexes& indexes) {
  if (!add_terms(form, number, ParametricTerm::kNoVariable, 1)) return false;
  for (std::size_t depth = 0; depth < indexes.size(); ++depth)
    if (!add_terms(form, number, depth, indexes[depth])) return false;
  return true;
}

std::int64_t signed_of(std::uint64_t number) { return static_cast<std::int64_t>(number); }

}  // namespace

ParametricPredictor::ParametricPredictor(std::shared_ptr<const ParametricSignature> signature)
    : signature_(std::move(signature)), bound_(signature_->nodes.size()) {
  bind();
}

std::size_t ParametricPredictor::state_bytes() const noexcept {
  return sizeof(*this) + bound_.size() * sizeof(BoundNode) + kProductsMax * sizeof(Form);
}

std::optional<std::int64_t> ParametricPredictor::BoundNumber::at(
    const LoopIndexes& indexes) const noexcept {
  if (!constant) return std::nullopt;
  std::int64_t sum = *constant;
  for (std::size_t depth = 0; depth < indexes.size(); ++depth) {
    if (indexes[depth] == 0) continue;
    std::int64_t term = 0;
    if (!factors[depth] || __builtin_mul_overflow(*factors[depth], indexes[depth], &term) ||
        __builtin_add_overflow(sum, term, &sum))
      return std::nullopt;
  }
  return sum;
}

ParametricPredictor::BoundNumber ParametricPredictor::bound(const ParametricNumber& number) const {
  const auto value = [&](std::size_t depth) -> std::optional<std::int64_t> {
    Form form = {};
    if (!add_terms(form, number, depth, 1)) return std::nullopt;
    return system_.value_of(form);
  };
  BoundNumber known{.constant = value(ParametricTerm::kNoVariable), .factors = {}};
  for (std::size_t depth = 0; depth < known.factors.size(); ++depth)
    known.factors[depth] = value(depth);
  return known;
}

void ParametricPredictor::bind() {
  for (std::size_t i = 0; i < bound_.size(); ++i) {
    const ParametricNode& node = signature_->nodes[i];
    bound_[i] = {bound(node.offset), bound(node.size), bound(node.count)};
  }
}

/// From walk.cursor, which may be at an access. False at the end of the signature.
bool ParametricPredictor::find_access(Walk& walk) const {
  Cursor& cursor = walk.cursor;
  const auto& nodes = signature_->nodes;
  for (std::size_t step = 0; step < kStepsMax && cursor.node < nodes.size(); ++step) {
    const ParametricNode& node = nodes[cursor.node];
    if (node.kind == Kind::kAccess) return true;
    if (node.kind == Kind::kEnd) {
      end_repetition(walk);
    } else if (bound_[cursor.node].count.at(cursor.indexes).value_or(1) <= 0) {
      cursor.node = node.partner + 1;
    } else {
      ++cursor.depth;
      ++cursor.node;
    }
  }
  return false;
}

/// A loop whose count is unknown continues, unless it is one of those to close.
void ParametricPredictor::end_repetition(Walk& walk) const {
  Cursor& cursor = walk.cursor;
  const std::size_t loop = signature_->nodes[cursor.node].partner;
  const std::int64_t repetitions = cursor.indexes[cursor.depth - 1] + 1;
  cursor.indexes[cursor.depth - 1] = 0;
  const auto count = bound_[loop].count.at(cursor.indexes);
  bool continues = !count || repetitions < *count;
  if (!count && walk.closes > 0) {
    --walk.closes;
    walk.counts.push_back({&signature_->nodes[loop].count, cursor.indexes, repetitions});
    continues = false;
  }
  if (continues) {
    cursor.indexes[cursor.depth - 1] = repetitions;
    cursor.node = loop + 1;
  } else {
    --cursor.depth;
    ++cursor.node;
  }
}

void ParametricPredictor::observe(const Access& access) {
  if (!is_predictable(access.offset, access.size) || is_dropped()) return;
  if (!has_begun_ || !follow(access)) begin(access);
}

/// Moves to the access, if it fits: without the end of a loop of unknown count, or with the end of
/// as few of them as possible.
bool ParametricPredictor::follow(const Access& access) {
  for (std::size_t closes = 0; closes <= trace::kLoopDepthMax; ++closes) {
    Walk walk{.cursor = cursor_, .closes = closes};
    ++walk.cursor.node;
    if (!find_access(walk) || walk.closes > 0) return false;
    if (fits(walk, access)) {
      cursor_ = walk.cursor;
      return true;
    }
    if (closes == 0) recent_.record_miss();
  }
  return false;
}

/// If the access fits, this binds what it determines.
bool ParametricPredictor::fits(const Walk& walk, const Access& access) {
  const Cursor& cursor = walk.cursor;
  const auto offset = bound_[cursor.node].offset.at(cursor.indexes);
  const auto size = bound_[cursor.node].size.at(cursor.indexes);
  if (offset && *offset != signed_of(access.offset)) return false;
  if (size && *size != signed_of(access.size)) return false;
  if (offset && size && walk.counts.empty()) {
    recent_.record_hit();
    predicted_ = std::min(predicted_ + 1, kPredictedMin);
    return true;
  }
  LinearSystem system = system_;
  const ParametricNode& node = signature_->nodes[cursor.node];
  const bool is_consistent =
      std::ranges::all_of(walk.counts, [&](const auto& count) { return add(system, count); }) &&
      add(system, {&node.offset, cursor.indexes, signed_of(access.offset)}) &&
      add(system, {&node.size, cursor.indexes, signed_of(access.size)});
  if (!is_consistent) return false;
  const bool is_new = system.rank() > system_.rank();
  system_ = std::move(system);
  if (is_new) bind();
  return true;
}

bool ParametricPredictor::add(LinearSystem& system, const Equation& equation) const {
  Form form = {};
  form[0] = -LinearSystem::Wide{equation.value};
  return add_number(form, *equation.number, equation.indexes) && system.add(form);
}

bool ParametricPredictor::can_begin_with(const Access& access) const {
  ParametricPredictor copy(signature_);
  copy.observe(access);
  return copy.has_begun_;
}

/// Forgets all values, and takes the access for the first one.
void ParametricPredictor::begin(const Access& access) {
  failures_ = predicted_ == kPredictedMin ? 0 : failures_ + (has_begun_ ? 1 : 0);
  predicted_ = 0;
  if (system_.rank() > 0) {
    system_.clear();
    bind();
  }
  Walk walk;
  has_begun_ = find_access(walk) && fits(walk, access);
  cursor_ = walk.cursor;
  if (!has_begun_) ++failures_;
  if (failures_ > kFailuresMax) failures_ = kFailuresMax;
}

std::size_t ParametricPredictor::predict(std::span<Prediction> into) const {
  std::size_t count = 0;
  Walk walk{.cursor = cursor_};
  if (!has_begun_ || is_dropped()) return 0;
  while (count < into.size()) {
    ++walk.cursor.node;
    if (!find_access(walk)) break;
    const BoundNode& node = bound_[walk.cursor.node];
    const std::int64_t offset = node.offset.at(walk.cursor.indexes).value_or(-1);
    const std::int64_t size = node.size.at(walk.cursor.indexes).value_or(0);
    if (offset < 0 || size <= 0 ||
        !is_predictable(static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(size)))
      break;
    into[count++] = {static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(size),
                     recent_.value()};
  }
  return count;
}

}  // namespace forebay::push
