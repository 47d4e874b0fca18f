// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/page.hpp"

#include <gmock/gmock.h>

namespace yolk {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(page, is_one_file_that_loads_nothing) {
    const std::string page = html_page("a <b>", ".mine{fill:red}", "<p>text</p>");
    EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
    EXPECT_THAT(page, HasSubstr("<title>Yolk: a &lt;b&gt;</title>"));
    EXPECT_THAT(page, HasSubstr("<h1>a &lt;b&gt;</h1>\n<p>text</p></body></html>\n"));
    EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
    EXPECT_LT(page.find("--c0"), page.find(".mine{fill:red}")) << "a page's own style comes last";
    for (const char* outside : {"<script", "http:", "https:", "src=", "<link", "@import", "url("})
        EXPECT_THAT(page, Not(HasSubstr(outside)));
}

TEST(page, pictures_on_a_page_and_alone) {
    const std::string picture = begin_picture(20, 10, "a \"b\"", " class=\"c\"");
    EXPECT_THAT(picture, StartsWith("<svg class=\"c\" viewBox=\"0 0 20 10\" width=\"20\" height=\"10\" role=\"img\" "
                                    "aria-label=\"a &quot;b&quot;\">"));
    const std::string alone = begin_lone_picture(20, 10, "it", ".mine{fill:red}");
    EXPECT_THAT(alone, StartsWith("<svg xmlns="));
    EXPECT_THAT(alone, HasSubstr(".mine{fill:red}"));
    EXPECT_THAT(alone, EndsWith("<rect class=\"page\" width=\"20\" height=\"10\"/>\n"));
}

}  // namespace
}  // namespace yolk
