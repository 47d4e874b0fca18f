// SPDX-License-Identifier: Apache-2.0
// A small program with knobs, and its tests: whether two spellings name the same. It knows nothing of optimizing: a
// configuration on standard input, the tests' results on standard output (as in the Test Anything Protocol), last the
// number of those that passed.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "yolk/json.hpp"

namespace {

struct Configuration {
    double gap = 0, punctuation = 0, letter_case = 0, swap = 0, threshold = 0;
};

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// Of a character that only one of the two has.
double left_out(char c, const Configuration& with) {
    return std::ispunct(static_cast<unsigned char>(c)) != 0 ? with.punctuation : with.gap;
}

double difference(char a, char b, const Configuration& with) {
    if (a == b) return 0.0;
    return lower(a) == lower(b) ? with.letter_case : 1.0;
}

/// Edit distance with costs, where two neighbours may change places.
double distance(const std::string& a, const std::string& b, const Configuration& with) {
    std::vector<std::vector<double>> cost(a.size() + 1, std::vector<double>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            double least = i == 0 && j == 0 ? 0.0 : HUGE_VAL;
            if (i > 0) least = std::min(least, cost[i - 1][j] + left_out(a[i - 1], with));
            if (j > 0) least = std::min(least, cost[i][j - 1] + left_out(b[j - 1], with));
            if (i > 0 && j > 0) least = std::min(least, cost[i - 1][j - 1] + difference(a[i - 1], b[j - 1], with));
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
                const double cases = difference(a[i - 1], b[j - 2], with) + difference(a[i - 2], b[j - 1], with);
                least = std::min(least, cost[i - 2][j - 2] + with.swap + cases);
            }
            cost[i][j] = least;
        }
    }
    return cost[a.size()][b.size()];
}

bool same_name(const std::string& a, const std::string& b, const Configuration& with) {
    const auto length = static_cast<double>(std::max<std::size_t>({a.size(), b.size(), 1}));
    return distance(a, b, with) <= with.threshold * length;
}

struct Test {
    const char* a;
    const char* b;
    bool same;
};
constexpr Test kTests[] = {
    {"Jane Doe", "jane doe", true},
    {"Jane Doe", "Jane  Doe", true},
    {"O'Brien", "OBrien", true},
    {"Smith, John", "Smith John", true},
    {"Jon Smith", "John Smith", true},
    {"Katherine", "Catherine", true},
    {"McDonald", "MacDonald", true},
    {"Anne-Marie", "Annemarie", true},
    {"Brian May", "Brain May", true},
    {"ACME Ltd.", "Acme Ltd", true},
    {"van der Berg", "Van Der Berg", true},
    {"A.B. Cole", "AB Cole", true},
    {"J.R.R. Tolkien", "JRR Tolkien", true},
    {"Jane Doe", "John Doe", false},
    {"Ann", "Dan", false},
    {"Lee", "Leo", false},
    {"Kim", "Tim", false},
    {"Mark Hall", "Mary Ball", false},
    {"Amy", "May", false},
    {"US", "us", false},
    {"Hans", "Hanna", false},
    {"Maria", "Marie", false},
    {"Carl", "Carla", false},
    {"Alan", "Alana", false},
};

/// {"predictions": ["{\"gap\": ...}"], ...}: what a program that is a metric gets.
yolk::Result<Configuration> read_configuration() {
    const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    YOLK_TRY(const yolk::Json request, yolk::parse_json(text, "standard input"));
    YOLK_TRY(const yolk::Json of,
             yolk::parse_json(request.value("predictions", std::vector<std::string>{""}).at(0), "the configuration"));
    return Configuration{.gap = of.value("gap", 1.0),
                         .punctuation = of.value("punctuation", 1.0),
                         .letter_case = of.value("letter_case", 1.0),
                         .swap = of.value("swap", 1.0),
                         .threshold = of.value("threshold", 1.0)};
}

}  // namespace

int main() {
    const yolk::Result<Configuration> with = read_configuration();
    if (!with) {
        std::fprintf(stderr, "07_external_tests_suite: %s\n", with.error().message.c_str());
        return 2;
    }
    int number = 0;
    int passed = 0;
    for (const Test& test : kTests) {
        const bool ok = same_name(test.a, test.b, *with) == test.same;
        passed += ok ? 1 : 0;
        std::printf("%s %d - '%s' %s '%s'\n", ok ? "ok" : "not ok", ++number, test.a, test.same ? "is" : "is not",
                    test.b);
    }
    std::printf("%d\n", passed);
    return passed == number ? 0 : 1;
}
