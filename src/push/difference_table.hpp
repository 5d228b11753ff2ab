// SPDX-License-Identifier: Apache-2.0
// DifferenceTable: predicts offsets and sizes that are polynomials of the access number, up to
// degree 3, such as the rows of a packed triangular matrix.
//
// Cost: 4 differences for each observed access, and 64 bytes for each of offset and size. Source:
// the multi-level difference table of Chen, Byna and Sun (Data Access History Cache and Associated
// Data Prefetching Mechanisms, SC'07).
#pragma once

#include <array>
#include <optional>

#include "push/predictor.hpp"
#include "push/recent_share.hpp"

namespace forebay::push {

class DifferenceTable final : public Predictor {
 public:
  std::string_view name() const noexcept override { return "differences"; }
  void observe(const trace::Access& access) override;
  std::size_t predict(std::span<Prediction> into) const override;
  std::size_t state_bytes() const noexcept override { return sizeof(*this); }

 private:
  static constexpr std::size_t kDegreeMax = 3;

  /// The newest differences of one number, modulo 2^64. The difference of level 0 is the number.
  class Column {
   public:
    void observe(std::uint64_t value) noexcept;
    /// The lowest level whose difference was equal twice in a row.
    std::optional<std::size_t> degree() const noexcept;
    /// Extrapolates by one access; `degree` stays constant.
    void extrapolate(std::size_t degree) noexcept;
    std::uint64_t value() const noexcept { return differences_[0]; }

   private:
    std::array<std::uint64_t, kDegreeMax + 1> differences_ = {};
    std::array<bool, kDegreeMax + 1> is_repeated_ = {};
    std::size_t levels_ = 0;  ///< that have a difference
  };

  Column offsets_;
  Column sizes_;
  RecentShare recent_{1};
};

}  // namespace forebay::push
