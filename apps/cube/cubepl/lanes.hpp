// SPDX-License-Identifier: Apache-2.0
// The values of one thing at several locations: a single number where all have the same, else a
// row of numbers. What is the same everywhere is computed once and costs nothing for each location.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace forebay::cubepl {

/// Locations computed at a time: a few rows of them stay in the nearest caches.
inline constexpr std::size_t kLanesMax = 2048;

/// Rows of kLanesMax numbers that come back when they are no longer used. For one thread; must
/// outlive what it gives.
class Scratch {
 public:
  /// A row of the pool, given back at its end.
  class Row {
   public:
    Row() = default;
    Row(Row&& other) noexcept
        : home_(std::exchange(other.home_, nullptr)), numbers_(std::move(other.numbers_)) {}
    Row& operator=(Row&& other) noexcept {
      std::swap(home_, other.home_);
      std::swap(numbers_, other.numbers_);
      return *this;
    }
    ~Row() {
      if (home_ != nullptr) home_->free_.push_back(std::move(numbers_));
    }
    double* data() const noexcept { return numbers_.get(); }

   private:
    friend class Scratch;
    Row(Scratch& home, std::unique_ptr<double[]> numbers)
        : home_(&home), numbers_(std::move(numbers)) {}
    Scratch* home_ = nullptr;
    std::unique_ptr<double[]> numbers_;
  };

  /// Its numbers are anything.
  Row take() {
    if (free_.empty()) free_.push_back(std::make_unique_for_overwrite<double[]>(kLanesMax));
    std::unique_ptr<double[]> numbers = std::move(free_.back());
    free_.pop_back();
    return {*this, std::move(numbers)};
  }

 private:
  std::vector<std::unique_ptr<double[]>> free_;
};

/// A number, or one for each location. How many there are is known to who uses it.
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
  /// The same number everywhere; only if is_uniform().
  double number() const noexcept { return number_; }
  /// Null if is_uniform().
  const double* numbers() const noexcept { return numbers_; }
  double operator[](std::size_t lane) const noexcept {
    return is_uniform() ? number_ : numbers_[lane];
  }

  /// The same values, for as long as this one is not changed.
  Lanes view() const noexcept { return is_uniform() ? Lanes(number_) : view(numbers_); }
  bool owns_row() const noexcept { return own_.data() != nullptr; }
  /// Its own row, to be written over; only if owns_row().
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
