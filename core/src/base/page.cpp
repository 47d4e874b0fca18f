// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/page.hpp"

#include <fmt/format.h>

#include "yolk/internal/core/markup.hpp"

namespace yolk {
namespace {

constexpr std::string_view kPictureStyle = R"(
:root{color-scheme:light dark;--bg:#fff;--ink:#1b1d1f;--soft:#5c6268;--grid:#e4e6e8;--edge:#9aa0a6;--bad:#a3262a;
--mark:#cfe6f5;--c0:#0072b2;--c1:#d55e00;--c2:#007f5c;--c3:#b8588f;--c4:#b87700;--c5:#3a8fbf;--c6:#6a2c70;--c7:#777}
@media (prefers-color-scheme:dark){:root{--bg:#15171a;--ink:#e7e9eb;--soft:#a4abb2;--grid:#2b3036;--edge:#6d757d;
--bad:#ff8080;--mark:#1d3d52;--c0:#5cb3f2;--c1:#ff8b3d;--c2:#3ccb9c;--c3:#e79cc8;--c4:#f0b440;--c5:#9bd3f5;--c6:#c08be0;
--c7:#a0a0a0}}
svg{font:12px system-ui,sans-serif;fill:var(--ink)}.name{font-weight:600}
.grid{stroke:var(--grid);fill:none}.axis{stroke:var(--edge);fill:none}
)";

constexpr std::string_view kPageStyle = R"(
body{margin:0 auto;max-width:1180px;padding:1.2rem;background:var(--bg);color:var(--ink);
font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem}h2{font-size:1.25rem;margin-top:2.4rem;border-top:1px solid var(--edge);padding-top:1rem}
h3{font-size:1.05rem;margin:1.6rem 0 .3rem}h4{margin:1.2rem 0 .3rem}h2,h3{overflow-wrap:anywhere}
p{margin:.4rem 0;max-width:75ch}.soft{color:var(--soft)}a{color:inherit}code{font-size:.9em}
table{border-collapse:collapse;margin:.6rem 0;display:block;overflow-x:auto}
th,td{padding:.2rem .7rem .2rem 0;text-align:left;vertical-align:top;overflow-wrap:anywhere}
th{font-weight:600;border-bottom:1px solid var(--edge);white-space:nowrap}td.n,th.n{text-align:right}
td.bad{color:var(--bad)}.plots{display:flex;flex-wrap:wrap;gap:.4rem 1rem}.plots svg{max-width:100%;height:auto}
svg.key{vertical-align:middle;margin-right:.3rem}.legend span{margin-right:1.2rem;white-space:nowrap}
)";

std::string picture_element(double width, double height, std::string_view label, std::string_view more) {
    return fmt::format(
        "<svg{3} viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\" "
        "aria-label=\"{2}\">\n",
        width, height, markup_text(label), more);
}

}  // namespace

std::string html_page(std::string_view title, std::string_view style, std::string_view body) {
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<title>Yolk: {0}</title>\n<style>{1}{2}{3}</style></head>\n<body>\n<h1>{0}</h1>\n{4}</body></html>\n",
        markup_text(title), kPictureStyle, kPageStyle, style, body);
}

std::string begin_picture(double width, double height, std::string_view label, std::string_view more) {
    return picture_element(width, height, label, more);
}

std::string begin_lone_picture(double width, double height, std::string_view label, std::string_view style) {
    return picture_element(width, height, label, " xmlns=\"http://www.w3.org/2000/svg\"") +
           fmt::format(
               "<style>{}{}.page{{fill:var(--bg)}}</style>\n<rect class=\"page\" width=\"{:.0f}\" "
               "height=\"{:.0f}\"/>\n",
               kPictureStyle, style, width, height);
}

}  // namespace yolk
