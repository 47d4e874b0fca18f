// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/printable.hpp"

#include <gtest/gtest.h>

namespace yolk {
namespace {

TEST(printable, names_are_one_line_that_steers_nothing) {
    EXPECT_EQ(shown("plain name, Größe, 日本, 😀"), "plain name, Größe, 日本, 😀");
    EXPECT_EQ(shown("a\nyolk: error: b"), "a\\nyolk: error: b");
    EXPECT_EQ(shown("\x1b[2J\t\r\x7f"), "\\x1b[2J\\t\\r\\x7f");
    EXPECT_EQ(shown(std::string("a\0b", 3)), "a\\x00b");
    EXPECT_EQ(shown("\xc2\x9b"
                    "31m"),
              "\\u009b31m")
        << "the C1 form of ESC [";
    EXPECT_EQ(shown("txt.\xe2\x80\xae"
                    "exe"),
              "txt.\\u202eexe");
    EXPECT_EQ(shown("\xff\xc3"), "\\xff\\xc3") << "not UTF-8, and cut off";
    EXPECT_EQ(shown("\x9b"
                    "31m"),
              "\\x9b31m")
        << "as a byte of Latin-1";
    EXPECT_EQ(shown(std::filesystem::path("a/b\nc")), "a/b\\nc");
    EXPECT_EQ(shown(""), "");
}

TEST(printable, text_keeps_its_lines) { EXPECT_EQ(printable("one\n\ttwo\x1b[m"), "one\n\ttwo\\x1b[m"); }

TEST(printable, no_further_line_of_a_message_passes_for_a_message) {
    EXPECT_EQ(printable_message("one\nyolk: error: two\x1b[m\n\tthree"), "one\n  yolk: error: two\\x1b[m\n  \tthree");
}

}  // namespace
}  // namespace yolk
