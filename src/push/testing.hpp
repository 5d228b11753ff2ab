// SPDX-License-Identifier: Apache-2.0
// Streams for the tests of predictors, and the number of accesses that a predictor misses.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "push/predictor.hpp"

namespace forebay::push {

using Stream = std::vector<trace::Access>;

inline Stream strided(std::uint64_t count, std::uint64_t stride, std::uint64_t size) {
  Stream stream;
  for (std::uint64_t i = 0; i < count; ++i)
    stream.push_back({i * stride, size});
  return stream;
}

/// Pairs, 2 KiB apart, 8 KiB from pair to pair.
inline Stream nested(std::uint64_t pairs) {
  Stream stream;
  for (std::uint64_t i = 0; i < pairs; ++i) {
    stream.push_back({i * 8192, 1024});
    stream.push_back({i * 8192 + 2048, 1024});
  }
  return stream;
}

/// Out-of-core LU factorization: in each step the next slab, then all slabs before it, each shorter
/// than the one before.
inline Stream lu(std::uint64_t steps) {
  constexpr std::uint64_t kSlab = 524544;
  Stream stream;
  for (std::uint64_t i = 0; i < steps; ++i) {
    stream.push_back({(i + 2) * kSlab, kSlab});
    for (std::uint64_t q = 0; q < i + 2; ++q)
      stream.push_back({q * kSlab, 522368 - 4096 * q});
  }
  return stream;
}

/// BTIO class B with 16 processes, rank 0: 2601 reads for each dump, in 4 cells.
inline Stream btio_rows(std::uint64_t dumps) {
  struct Cell {
    std::uint64_t start, size, rows, planes;
  };
  constexpr std::array<Cell, 4> kCells = {{{0, 1040, 26, 26},
                                           {11135360, 1040, 25, 26},
                                           {21854560, 1000, 25, 25},
                                           {32153480, 1000, 26, 25}}};
  Stream stream;
  for (std::uint64_t dump = 0; dump < dumps; ++dump) {
    for (const Cell& cell : kCells) {
      const std::uint64_t start = dump * 42448320 + cell.start;
      for (std::uint64_t i = 0; i < cell.planes * cell.rows; ++i)
        stream.push_back({start + i / cell.rows * 416160 + i % cell.rows * 4080, cell.size});
    }
  }
  return stream;
}

/// The rows of a packed triangular matrix.
inline Stream triangular(std::uint64_t rows) {
  Stream stream;
  std::uint64_t offset = 0;
  for (std::uint64_t i = 1; i <= rows; ++i) {
    stream.push_back({offset, 8 * i});
    offset += 8 * i + 64;
  }
  return stream;
}

/// The same random permutation of `blocks` blocks, several times.
inline Stream permuted(std::uint64_t blocks, std::uint64_t epochs) {
  std::vector<std::uint64_t> order(blocks);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, std::mt19937_64(7));
  Stream stream;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    for (const std::uint64_t block : order)
      stream.push_back({block * 4096, 4096});
  }
  return stream;
}

/// Each access begins at the end of the one before.
inline Stream consecutive(std::uint64_t count) {
  std::mt19937_64 random(3);
  Stream stream;
  std::uint64_t offset = 100;
  for (std::uint64_t i = 0; i < count; ++i) {
    stream.push_back({offset, 1 + random() % 5000});
    offset = stream.back().end();
  }
  return stream;
}

/// Random ones of `blocks` blocks.
inline Stream scattered(std::uint64_t count, std::uint64_t blocks) {
  std::mt19937_64 random(11);
  Stream stream;
  for (std::uint64_t i = 0; i < count; ++i)
    stream.push_back({random() % blocks * 4096, 4096});
  return stream;
}

struct Outcome {
  std::uint64_t predicted = 0;      ///< accesses before which something was predicted
  std::uint64_t misses = 0;         ///< accesses that were not predicted exactly
  std::uint64_t offset_misses = 0;  ///< accesses whose offset was not predicted
};

inline Outcome outcome_of(Predictor& predictor, const Stream& stream) {
  Outcome outcome;
  for (const trace::Access& access : stream) {
    Prediction next;
    const bool has_next = predictor.predict({&next, 1}) > 0;
    const bool is_offset = has_next && next.offset == access.offset;
    outcome.predicted += has_next ? 1 : 0;
    outcome.offset_misses += is_offset ? 0 : 1;
    outcome.misses += is_offset && next.size == access.size ? 0 : 1;
    predictor.observe(access);
  }
  return outcome;
}

template <typename AnyPredictor>
std::uint64_t misses_of(const Stream& stream) {
  AnyPredictor predictor;
  return outcome_of(predictor, stream).misses;
}

}  // namespace forebay::push
