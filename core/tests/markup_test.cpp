// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/markup.hpp"

#include <gtest/gtest.h>

namespace yolk {
namespace {

TEST(markup, nothing_of_a_text_is_read_as_markup) {
    EXPECT_EQ(markup_text("a <b> & \"c\" 'd'"), "a &lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
    EXPECT_EQ(markup_text("two\nlines\t\x7F"), "two lines  ");
    EXPECT_EQ(markup_text("\xC3\xA9"), "\xC3\xA9");
    EXPECT_EQ(markup_text("\xFF!"), "\xEF\xBF\xBD!");
    EXPECT_EQ(markup_text(""), "");
}

}  // namespace
}  // namespace yolk
