// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor.hpp"

#include <cerrno>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/testing.hpp"

namespace forebay {
namespace {

Descriptor some_descriptor() { return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

TEST(Descriptor, closes_what_it_owns_once) {
  const std::size_t before = open_descriptors();
  {
    Descriptor first = some_descriptor();
    EXPECT_EQ(open_descriptors(), before + 1);
    Descriptor second = std::move(first);
    first = some_descriptor();
    second = std::move(first);
    EXPECT_EQ(open_descriptors(), before + 1);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Descriptor, released_number_stays_open) {
  Descriptor owner = some_descriptor();
  const int number = owner.release();
  EXPECT_FALSE(owner);
  owner = Descriptor();
  EXPECT_GE(::fcntl(number, F_GETFD), 0);
  ::close(number);
}

TEST(Descriptor, duplicate_is_another_number_that_is_closed_on_exec) {
  const Descriptor owner = some_descriptor();
  auto copy = owner.duplicate();
  ASSERT_TRUE(copy) << copy.error().message();
  EXPECT_NE(copy->get(), owner.get());
  EXPECT_EQ(::fcntl(copy->get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(Descriptor, empty_one_cannot_be_duplicated) {
  auto copy = Descriptor().duplicate();
  ASSERT_FALSE(copy);
  EXPECT_EQ(copy.error().error_number(), EBADF);
  EXPECT_EQ(Descriptor(-7).get(), -1);
}

}  // namespace
}  // namespace forebay
