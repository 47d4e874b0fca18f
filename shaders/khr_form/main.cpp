// SPDX-License-Identifier: Apache-2.0
// yolk_khr_form [--bf16] FROM.spv TO.spv: a step of the build, see khr_form.hpp.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "khr_form.hpp"

int main(int argc, char** argv) {
    const bool bf16 = argc > 1 && std::strcmp(argv[1], "--bf16") == 0;
    if (bf16) ++argv, --argc;
    if (argc != 3) {
        std::fprintf(stderr, "usage: yolk_khr_form [--bf16] FROM.spv TO.spv\n");
        return 2;
    }
    std::ifstream from(argv[1], std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(from), {}};
    std::vector<std::uint32_t> words(bytes.size() / sizeof(std::uint32_t));
    if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(words[0]));
    const yolk::KhrForm made = yolk::to_khr_form(words, bf16 ? yolk::HalfForm::BF16 : yolk::HalfForm::F16);
    if (!made.problem.empty()) {
        std::fprintf(stderr, "yolk_khr_form: %s has no KHR form: %s\n", argv[1], made.problem.c_str());
        return 1;
    }
    std::ofstream to(argv[2], std::ios::binary);
    to.write(reinterpret_cast<const char*>(made.spirv.data()),
             static_cast<std::streamsize>(made.spirv.size() * sizeof(made.spirv[0])));
    if (to.flush()) return 0;
    std::fprintf(stderr, "yolk_khr_form: %s cannot be written\n", argv[2]);
    return 1;
}
