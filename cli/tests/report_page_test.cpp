// SPDX-License-Identifier: Apache-2.0
// The page of `yolk report` in a browser: what the browser makes of it, and what it complains about.
#include <gmock/gmock.h>

#include <filesystem>
#include <regex>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// From the package of SwiftShader.
constexpr const char* kChromium = "/usr/bin/chromium";

struct Opened {
    std::string dom{};
    std::vector<std::string> console{};  ///< lines
};

class report_page : public InFolder {
   protected:
    [[nodiscard]] Opened opened(const std::filesystem::path& page) const {
        const std::string command = std::string(kChromium) +
                                    " --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run "
                                    "--disable-background-networking --enable-logging=stderr --user-data-dir='" +
                                    (folder_ / "profile").string() + "' --dump-dom 'file://" + page.string() + "'";
        const Ran ran = run_shell(command, {});
        EXPECT_EQ(ran.code, 0) << ran.err;
        Opened opened{.dom = ran.out};
        static const std::regex kConsole("[^\n]*CONSOLE[^\n]*");
        for (auto at = std::sregex_iterator(ran.err.begin(), ran.err.end(), kConsole); at != std::sregex_iterator();
             ++at)
            opened.console.push_back(at->str());
        return opened;
    }
};

/// The points of each run's curve in a figure, as the browser has read it.
std::vector<std::size_t> points_in(const std::string& dom, const std::string& figure) {
    const std::size_t begin = dom.find("data-figure=\"" + figure + "\"");
    const std::string picture = dom.substr(begin, dom.find("</svg>", begin) - begin);
    static const std::regex kPath("<path class=\"seed[a-z ]*\" d=\"([^\"]*)\"");
    static const std::regex kPoint("[ML]-?[0-9.]+ -?[0-9.]+");
    std::vector<std::size_t> counts;
    for (auto path = std::sregex_iterator(picture.begin(), picture.end(), kPath); path != std::sregex_iterator();
         ++path) {
        const std::string text = (*path)[1];
        counts.push_back(static_cast<std::size_t>(
            std::distance(std::sregex_iterator(text.begin(), text.end(), kPoint), std::sregex_iterator())));
    }
    return counts;
}

TEST_F(report_page, opens_without_a_complaint_and_has_the_runs_in_its_plots) {
    std::vector<std::string> arguments{"report", "--out", (folder_ / "page.html").string()};
    for (const char* generations : {"3", "5"}) {
        const std::string out = (folder_ / (std::string("run") + generations)).string();
        const Ran ran = run_command({"train", "cartpole", "--population", "16", "--keep-going", "--seed", generations,
                                     "--generations", generations, "--quiet", "--out", out},
                                    only(kLavapipe));
        ASSERT_EQ(ran.code, 0) << ran.err;
        arguments.push_back(out);
    }
    write_text(folder_ / "rows.jsonl", "{\"side\":\"yolk\",\"median\":2}\n{\"side\":\"other\",\"median\":1}\n");
    write_text(folder_ / "surface.csv", "tile,time\n1,2.5\n2,1.5\n4,3.5\n");
    arguments.push_back((folder_ / "rows.jsonl").string());
    arguments.push_back((folder_ / "surface.csv").string());
    const Ran ran = run_command(arguments);
    ASSERT_EQ(ran.code, 0) << ran.err;
    const Opened page = opened(folder_ / "page.html");
    EXPECT_THAT(page.console, IsEmpty());
    for (const char* figure : {"generations", "evaluations", "seconds", "throughput"})
        EXPECT_THAT(points_in(page.dom, figure), ElementsAre(3, 5)) << figure;
    EXPECT_THAT(page.dom, HasSubstr("data-side=\"other\""));
    EXPECT_THAT(page.dom, HasSubstr("cost by tile"));
    EXPECT_THAT(page.dom, ContainsRegex("</section>[[:space:]]*</body></html>")) << "the browser closed nothing early";
}

// What the test above relies on.
TEST_F(report_page, a_complaint_is_seen) {
    write_text(folder_ / "bad.html", "<!DOCTYPE html><title>bad</title><script>console.error('one')</script>");
    EXPECT_THAT(opened(folder_ / "bad.html").console, ElementsAre(HasSubstr("one")));
}

}  // namespace
}  // namespace yolk::cli
