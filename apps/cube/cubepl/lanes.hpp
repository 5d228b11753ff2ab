// SPDX-License-Identifier: Apache-2.0
// The values of one expression at several locations (lanes): a single number if all are equal, else
// a row of numbers. A uniform value is computed once and costs nothing per location.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace forebay::cubepl {

/// Locations computed at a time: a few such rows fit in the first-level cache.
inline constexpr std::size_t kLanesMax = 2048;

/// A pool of rows of kLanesMax numbers. For one thread. Must outlive its rows.
class Scratch {
 public:
  /// A row of the pool; the destructor returns it.
  class Row {
   public:
    Row() = default;
    Row(Row&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), numbers_(std::move(other.numbers_)) {}
    Row& operator=(Row&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(numbers_, other.numbers_);
      return *this;
    }
    ~Row() {
      if (pool_ != nullptr) pool_->free_.push_back(std::move(numbers_));
    }
    double* data() const noexcept { return numbers_.get(); }

   private:
    friend class Scratch;
    Row(Scratch& home, std::unique_ptr<double[]> numbers)
        : pool_(&home), numbers_(std::move(numbers)) {}
    Scratch* pool_ = nullptr;
    std::unique_ptr<double[]> numbers_;
  };

  /// Returns a row with unspecified numbers.
  Row acquire() {
    if (free_.empty()) free_.push_back(std::make_unique_for_overwrite<double[]>(kLanesMax));
    std::unique_ptr<double[]> numbers = std::move(free_.back());
    free_.pop_back();
    return {*this, std::move(numbers)};
  }

 private:
  std::vector<std::unique_ptr<double[]>> free_;
};

/// A number, or one for each location. The caller keeps the number of locations.
class Lanes {
 public:
  Lanes() noexcept = default;
  explicit Lanes(double number) noexcept : number_(number) {}
  explicit Lanes(Scratch::Row row) noexcept : own_(std::move(row)), numbers_(own_.data()) {}
  /// The numbers must outlive the result.
  static Lanes view(const double* numbers) noexcept {
    Lanes lanes;
    lanes.numbers_ = numbers;
    return lanes;
  }

  bool is_uniform() const noexcept { return numbers_ == nullptr; }
  /// The number of all lanes; valid if is_uniform().
  double number() const noexcept { return number_; }
  /// Null if is_uniform().
  const double* numbers() const noexcept { return numbers_; }
  double operator[](std::size_t lane) const noexcept {
    return is_uniform() ? number_ : numbers_[lane];
  }

  /// The same values; valid while this object is unchanged.
  Lanes view() const noexcept { return is_uniform() ? Lanes(number_) : view(numbers_); }
  bool owns_row() const noexcept { return own_.data() != nullptr; }
  /// Releases the own row for reuse; valid if owns_row().
  Scratch::Row take_row() noexcept {
    numbers_ = nullptr;
    return std::move(own_);
  }

 private:
  double number_ = 0;
  Scratch::Row own_;
  const double* numbers_ = nullptr;
};

}  // namespace forebay::cubepl
