// SPDX-License-Identifier: Apache-2.0
// FOREBAY_EXPORT marks what the shared libraries export. They are compiled with hidden visibility.
#pragma once

#define FOREBAY_EXPORT [[gnu::visibility("default")]]
