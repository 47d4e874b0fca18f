// SPDX-License-Identifier: Apache-2.0
// The text of rearrange's dimensions: a list for each of what they say, beginning with the output's extents.
#include "rearrange_fields.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

namespace yolk {
namespace {

using Dimension = RearrangeDimension;

template <class T>
std::string joined(const RearrangeDesc& desc, T Dimension::*member, char separator) {
    std::string text;
    for (const Dimension& dimension : desc.dimensions) {
        if (!text.empty()) text += separator;
        text += std::to_string(dimension.*member);
    }
    return text;
}

/// One number for each dimension that there is; false where the text has others.
template <class T>
bool split_into(std::vector<Dimension>& dimensions, T Dimension::*member, char separator, std::string_view text) {
    for (std::size_t k = 0; k < dimensions.size(); ++k) {
        const std::string_view word = text.substr(0, text.find(separator, 1));
        const auto [stop, failed] = std::from_chars(word.data(), word.data() + word.size(), dimensions[k].*member);
        if (failed != std::errc() || stop != word.data() + word.size()) return false;
        const bool is_last = k + 1 == dimensions.size();
        if (is_last != (word.size() == text.size())) return false;
        text.remove_prefix(is_last ? word.size() : word.size() + 1);
    }
    return true;
}

std::string print_extents(const RearrangeDesc& desc) { return joined(desc, &Dimension::extent, '-'); }
/// Makes the dimensions, as those of a copy.
bool parse_extents(RearrangeDesc& desc, std::string_view text) {
    const auto count = static_cast<std::size_t>(std::ranges::count(text, '-')) + 1;
    if (count > kRearrangeDimensions) return false;
    std::vector<Dimension> dimensions(count);
    if (!split_into(dimensions, &Dimension::extent, '-', text)) return false;
    std::vector<std::uint32_t> extents;
    for (const Dimension& dimension : dimensions) extents.push_back(dimension.extent);
    desc.dimensions = row_major_dimensions(extents);
    return true;
}

/// What a copy of the output's extents has; strides those of the source's extents, which come first in text.
std::vector<Dimension> plain_dimensions(const RearrangeDesc& desc, std::uint32_t Dimension::*extent) {
    std::vector<std::uint32_t> extents;
    for (const Dimension& dimension : desc.dimensions) extents.push_back(dimension.*extent);
    return row_major_dimensions(extents);
}

template <auto kMember, auto kExtent>
std::string print_list(const RearrangeDesc& desc) {
    RearrangeDesc plain;
    plain.dimensions = plain_dimensions(desc, kExtent);
    std::string text = joined(desc, kMember, ',');
    return text == joined(plain, kMember, ',') ? "plain" : text;
}
template <auto kMember, auto kExtent>
bool parse_list(RearrangeDesc& desc, std::string_view text) {
    std::vector<Dimension> dimensions = desc.dimensions;
    if (text == "plain") {
        const std::vector<Dimension> plain = plain_dimensions(desc, kExtent);
        for (std::size_t k = 0; k < plain.size(); ++k) dimensions[k].*kMember = plain[k].*kMember;
    } else if (!split_into(dimensions, kMember, ',', text)) {
        return false;
    }
    desc.dimensions = std::move(dimensions);
    return true;
}

template <auto kMember, auto kExtent>
Field<RearrangeDesc> list_field(const char* name) {
    return {.info = {.name = name,
                     .role = FieldRole::Variant,
                     .allowed = "plain, or a number for each dimension joined by commas, such as 0,-1",
                     .fallback = "plain"},
            .print = &print_list<kMember, kExtent>,
            .parse = &parse_list<kMember, kExtent>};
}

}  // namespace

std::vector<Field<RearrangeDesc>> rearrange_fields() {
    constexpr auto kExtent = &Dimension::extent;
    constexpr auto kSource = &Dimension::source_extent;
    return {extent<&RearrangeDesc::members>("members"),
            {.info = {.name = "extents",
                      .role = FieldRole::Extent,
                      .allowed = "1 to 5 extents joined by -, outermost first",
                      .fallback = {},
                      .is_list = true},
             .print = &print_extents,
             .parse = &parse_extents},
            extent<&RearrangeDesc::source_elements>("source_elements"),
            list_field<kSource, kExtent>("source_extents"),
            list_field<&Dimension::start, kExtent>("starts"),
            list_field<&Dimension::step, kExtent>("steps"),
            list_field<&Dimension::stride, kSource>("strides"),
            variant<&RearrangeDesc::shared_source>("shared_source")};
}

}  // namespace yolk
