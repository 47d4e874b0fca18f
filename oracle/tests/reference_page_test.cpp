// SPDX-License-Identifier: Apache-2.0
// docs/kernels/README.md lists every kernel with the fields of its description. The table is what the declarations say;
// where it is not, the test prints the right one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "reference_table.hpp"
#include "yolk/internal/oracle/families.hpp"

namespace yolk::oracle {
namespace {

const std::filesystem::path kPages = YOLK_KERNEL_PAGES_FOLDER;
constexpr std::string_view kTableHead = "| kernel | fields | class |\n|---|---|---|\n";

std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// By name, so that a new kernel is one more line wherever its family stands.
std::string table_of_families() {
    std::set<std::string> rows;
    for (const Family* family : families()) {
        rows.insert(
            fmt::format("| [{0}]({0}.md) | {1} | {2} |\n", family->name, fields_cell(*family), family->exactness));
    }
    std::string table(kTableHead);
    for (const std::string& row : rows) table += row;
    return table;
}

TEST(reference_page, has_the_table_that_the_declarations_give) {
    const std::string page = text_of(kPages / "README.md");
    const std::size_t begin = page.find(kTableHead);
    ASSERT_NE(begin, std::string::npos) << "docs/kernels/README.md has no table that begins with\n" << kTableHead;
    const std::string table = table_of_families();
    const std::size_t end = std::min(page.find("\n\n", begin), page.size() - 1) + 1;
    EXPECT_TRUE(page.substr(begin, end - begin) == table)
        << "docs/kernels/README.md is not what the declarations say. Its table is to be\n\n"
        << table;
}

TEST(reference_page, every_kernel_has_a_page) {
    EXPECT_GE(families().size(), 28U);
    for (const Family* family : families()) {
        const std::string page = text_of(kPages / (std::string(family->name) + ".md"));
        EXPECT_TRUE(page.starts_with(fmt::format("# {}\n", family->name)))
            << "docs/kernels/" << family->name << ".md is missing, or does not begin with the kernel's name";
    }
}

}  // namespace
}  // namespace yolk::oracle
